//! Tests a day of timers, in simulated time: each fires in its second, none is overdue at a sweep, and a
//! timer costs one message or two.
#![cfg(test)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use conformance::Tables;
use conformance::model::Model;
use events::records::events::Events;
use parking_lot::Mutex;
use platform::bus::Bus;
use platform::objects::Objects;
use platform::queue::{Delivery, MAX_DELAY, Queue};
use platform::records::Table;
use platform::{Clock, Result, Tenant, UtcTime};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use sweeper_function::Sweeper;
use workflow::engine::{Engine, Hint, StartRun};
use workflow::records::Runs;
use workflow::status::RunStatus;
use workflow::wiring::Wiring;
use workflow::{Context, Failure, Payload, Registry};

const DAY_MS: u64 = 24 * 3_600_000;
const MINUTE_MS: u64 = 60_000;
const RUNS: u64 = 40;
/// Overdue runs of a sweep, where one message in twenty is lost; the template raises an alarm from 1,000 on.
const MOST_OVERDUE: usize = 20;

/// A queue in simulated time, which counts whole seconds as SQS does.
struct Later {
    clock: Clock,
    messages: Mutex<BTreeMap<(UtcTime, usize), String>>,
    count: Mutex<usize>,
}

impl Later {
    fn next_at(&self) -> Option<UtcTime> {
        self.messages.lock().first_key_value().map(|((at, _), _)| *at)
    }

    fn take(&self) -> Option<String> {
        self.messages.lock().pop_first().map(|(_, body)| body)
    }
}

#[async_trait]
impl Queue for Later {
    async fn send_as(&self, body: &str, delivery: Delivery<'_>) -> Result<()> {
        assert!(delivery.delay <= MAX_DELAY);
        let mut count = self.count.lock();
        *count += 1;
        let delay_ms = delivery.delay.as_millis().div_ceil(1_000) as u64 * 1_000;
        let at = self.clock.now().plus_ms(delay_ms);
        self.messages.lock().insert((at, *count), body.to_owned());
        Ok(())
    }
}

/// Takes the events of runs, which no test here matches.
struct AnyBus;

#[async_trait]
impl Bus for AnyBus {
    async fn publish(&self, _: &str) -> Result<()> {
        Ok(())
    }
}

struct World {
    clock: Clock,
    queue: Arc<Later>,
    engine: Engine,
    sweeper: Sweeper,
    tenant: Tenant,
}

impl World {
    fn new() -> Self {
        let tables = Tables::named();
        let clock = Clock::manual("2026-01-02T00:00:00Z".parse().unwrap());
        let listed = Table::new(Arc::new(Model::new(&tables)), &tables.listed);
        let queue = Arc::new(Later {
            clock: clock.clone(),
            messages: Mutex::default(),
            count: Mutex::default(),
        });
        let wiring = Wiring {
            runs: Runs::new(listed.clone(), listed.clone()),
            objects: Objects::new(Arc::new(conformance::nowhere::Nowhere), "data"),
            queue: queue.clone(),
            bus: Arc::new(AnyBus),
            clock: clock.clone(),
            listener: None,
            api: None,
        };
        let registry = Registry::new().workflow("Timers", |context: Context, seconds: Vec<u64>| async move {
            for seconds in seconds {
                context.timer(Duration::from_secs(seconds)).await?;
            }
            Ok::<_, Failure>(())
        });
        let engine = wiring.engine(registry).unwrap();
        Self {
            sweeper: Sweeper::new(
                engine.clone(),
                Events::new(listed),
                Arc::new(AnyBus),
                clock.clone(),
            ),
            clock,
            queue,
            engine,
            tenant: Tenant::new("acme", "demo").unwrap(),
        }
    }

    async fn pass(&self, until: UtcTime) {
        let passed = until.millis_since(self.clock.now());
        self.clock.advance_ms(i64::try_from(passed).unwrap());
    }
}

/// Draws the timers of a run: seconds, minutes and hours, which fill most of a day.
fn timers(draw: &mut StdRng) -> Vec<u64> {
    let mut left = DAY_MS / 1_000 - 3_600;
    let mut timers = Vec::new();
    while left > 0 {
        let longest = [30, 900, 4 * 3_600, 12 * 3_600][draw.random_range(0..4)];
        let timer = draw.random_range(1..=longest.min(left));
        timers.push(timer);
        left -= timer;
    }
    timers
}

#[tokio::test]
async fn a_day_of_timers_is_on_time() {
    day(0).await;
}

#[tokio::test]
async fn a_day_of_timers_ends_though_messages_are_lost() {
    day(5).await;
}

async fn day(lost_percent: u64) {
    let mut draw = StdRng::seed_from_u64(lost_percent);
    let world = World::new();
    let began = world.clock.now();
    let mut runs = Vec::new();
    let mut count = 0;
    for number in 0..RUNS {
        let timers = timers(&mut draw);
        count += timers.len();
        let start = StartRun::new(
            "Timers",
            &format!("t{number}"),
            Payload::from_value(&timers).unwrap(),
        );
        runs.push((
            world.engine.start(&world.tenant, &start).await.unwrap().run_id,
            timers,
        ));
    }
    let (mut lost, mut next_sweep) = (0, began);
    let ends = began.plus_ms(DAY_MS);
    while world.clock.now() < ends {
        let next = world.queue.next_at().filter(|at| *at <= next_sweep);
        if let Some(at) = next {
            world.pass(at.max(world.clock.now())).await;
            let hint: Hint = serde_json::from_str(&world.queue.take().unwrap()).unwrap();
            match draw.random_range(0..100) < lost_percent {
                true => lost += 1,
                false => world.engine.drive(&hint.tenant, &hint.run_id).await.unwrap(),
            }
            continue;
        }
        world.pass(next_sweep).await;
        let backlog = world.sweeper.sweep(MINUTE_MS).await.unwrap();
        let most = if lost_percent == 0 { 0 } else { MOST_OVERDUE };
        assert!(backlog.runs <= most, "{}", backlog.runs);
        next_sweep = next_sweep.plus_ms(MINUTE_MS);
    }
    for (run_id, timers) in &runs {
        let state = world.engine.get(&world.tenant, run_id).await.unwrap();
        assert_eq!(state.status, RunStatus::Completed);
        let planned = state.started_at.plus_ms(timers.iter().sum::<u64>() * 1_000);
        let late_ms = state.closed_at.unwrap().millis_since(planned);
        // A hint is at most a second late; a lost one is sent again by a sweep of the next minutes.
        if lost_percent == 0 {
            assert!(
                late_ms <= 1_000 * timers.len() as u64,
                "{late_ms} of {}",
                timers.len()
            );
        }
    }
    let messages = *world.queue.count.lock();
    // The sweeper repeats the hint at a short timer that is due before its next sweep.
    let most = count + count / 2 + runs.len() + 2 * lost;
    assert!(
        (count..most).contains(&messages),
        "{messages} messages of {count} timers"
    );
}
