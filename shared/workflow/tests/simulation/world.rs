//! State shared by all processes of a simulation: random numbers, clock, queue, bus, and the story, a log of
//! all steps.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use async_trait::async_trait;
use futures::future::BoxFuture;
use platform::bus::Bus;
use platform::queue::{Delivery, Queue};
use platform::{Clock, Error, Result};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use workflow::engine::Sleep;

use crate::memory::Memory;
use crate::scenario::Mutant;

#[derive(Clone, Debug)]
pub struct Message {
    pub body: String,
    pub visible_at: i64,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    pub lost: u64,
    pub doubled: u64,
    pub refused: u64,
    pub ambiguous: u64,
    pub crashes: u64,
    pub jumps: u64,
    pub contended: u64,
}

pub struct World {
    pub random: StdRng,
    pub clock: Clock,
    pub memory: Memory,
    pub queue: Vec<Message>,
    sleepers: Vec<(i64, Waker)>,
    /// Number of times that the bus accepted each event, by event id.
    pub bus: BTreeMap<String, u64>,
    /// Number of executions of each activity, by run and activity.
    pub calls: BTreeMap<(String, String), u64>,
    pub story: Vec<String>,
    pub violations: Vec<String>,
    pub faults: Faults,
    /// Whether faults may still happen.
    pub troubled: bool,
    pub mutant: Mutant,
}

#[derive(Clone)]
pub struct Shared(Arc<Mutex<World>>);

impl Shared {
    pub fn new(seed: u64, mutant: Mutant) -> Self {
        Self(Arc::new(Mutex::new(World {
            random: StdRng::seed_from_u64(seed),
            clock: Clock::manual("2026-01-01T00:00:00Z".parse().unwrap()),
            memory: Memory::default(),
            queue: Vec::new(),
            sleepers: Vec::new(),
            bus: BTreeMap::new(),
            calls: BTreeMap::new(),
            story: Vec::new(),
            violations: Vec::new(),
            faults: Faults::default(),
            troubled: true,
            mutant,
        })))
    }

    pub fn lock(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap()
    }

    /// Yields to other processes.
    pub fn pause(&self) -> Pause {
        Pause { paused: false }
    }

    /// Yields to other processes, then may fail: simulates a network request.
    pub async fn travel(&self, what: &str) -> Result<()> {
        self.pause().await;
        let mut world = self.lock();
        if world.troubled && world.chance(3) {
            world.faults.refused += 1;
            world.tell(format!("{what} fails"));
            return Err(Error::unavailable("simulated"));
        }
        Ok(())
    }
}

impl World {
    /// Returns true with the given probability in percent.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.random.random_range(0..100) < percent
    }

    pub fn pick(&mut self, of: usize) -> usize {
        self.random.random_range(0..of)
    }

    pub fn now(&self) -> i64 {
        self.clock.now().as_millis()
    }

    pub fn tell(&mut self, what: impl Into<String>) {
        let line = format!("{:>7} {}", self.now() - 1_767_225_600_000, what.into());
        self.story.push(line);
    }

    pub fn violation(&mut self, what: impl Into<String>) {
        let what = what.into();
        self.tell(format!("VIOLATION {what}"));
        self.violations.push(what);
    }

    /// Moves the clock, and wakes the processes whose sleep ends.
    pub fn advance(&mut self, millis: i64) {
        self.clock.advance_ms(millis);
        let now = self.now();
        let (woken, still) = std::mem::take(&mut self.sleepers)
            .into_iter()
            .partition::<Vec<_>, _>(|(until, _)| *until <= now);
        self.sleepers = still;
        for (_, waker) in woken {
            waker.wake();
        }
    }

    /// Returns the next time at which a message becomes visible or a sleep ends, in milliseconds since 1970.
    pub fn next_time(&self) -> Option<i64> {
        let queued = self.queue.iter().map(|message| message.visible_at);
        let sleeping = self.sleepers.iter().map(|(until, _)| *until);
        queued.chain(sleeping).filter(|at| *at > self.now()).min()
    }
}

pub struct Pause {
    paused: bool,
}

impl Future for Pause {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.paused, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

struct Sleeping {
    world: Shared,
    until: i64,
}

impl Future for Sleeping {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut world = self.world.lock();
        if world.now() >= self.until {
            return Poll::Ready(());
        }
        world.sleepers.push((self.until, context.waker().clone()));
        Poll::Pending
    }
}

impl Sleep for Shared {
    fn sleep(&self, millis: u64) -> BoxFuture<'static, ()> {
        let world = self.clone();
        let until = self.lock().now() + i64::try_from(millis).unwrap_or(i64::MAX / 2);
        Box::pin(Sleeping { world, until })
    }
}

#[async_trait]
impl Queue for Shared {
    async fn send_as(&self, body: &str, delivery: Delivery<'_>) -> Result<()> {
        self.travel("a send").await?;
        let mut world = self.lock();
        let troubled = world.troubled;
        if troubled && world.chance(10) {
            world.faults.lost += 1;
            world.tell(format!("message lost: {body}"));
            return Ok(());
        }
        let copies = if troubled && world.chance(10) {
            world.faults.doubled += 1;
            2
        } else {
            1
        };
        for _ in 0..copies {
            let late = if troubled && world.chance(10) {
                world.pick(5_000)
            } else {
                0
            };
            let delay = i64::try_from(delivery.delay.as_millis()).unwrap() + late as i64;
            let visible_at = world.now() + delay;
            world.queue.push(Message {
                body: body.to_owned(),
                visible_at,
            });
        }
        Ok(())
    }
}

#[async_trait]
impl Bus for Shared {
    async fn publish(&self, detail: &str) -> Result<()> {
        self.travel("a publication").await?;
        let envelope: serde_json::Value = serde_json::from_str(detail).unwrap();
        let id = envelope["event_id"].as_str().unwrap().to_owned();
        let mut world = self.lock();
        world.tell(format!(
            "bus: {} of {}",
            envelope["action"], envelope["resource_id"]
        ));
        *world.bus.entry(id).or_default() += 1;
        Ok(())
    }
}
