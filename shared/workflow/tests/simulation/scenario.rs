//! Runs one simulation: workers, clients and a sweeper, with faults.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use platform::{ErrorKind, Tenant};
use workflow::engine::{Engine, Hint, Ids, Services, StartRun};
use workflow::payload::Payload;
use workflow::turn_runner::Inline;

use crate::executor::Executor;
use crate::invariants;
use crate::workloads;
use crate::world::{Faults, Shared};

/// Part of the protocol that the simulation leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    None,
    NoVersionCondition,
    NoOutbox,
    NoTerminalCheck,
    CompletionsNotDeduplicated,
    DueEntryForgotten,
}

#[derive(Debug, Default)]
pub struct Outcome {
    pub violations: Vec<String>,
    pub story: Vec<String>,
    faults: Faults,
    runs: u64,
    repeated_calls: u64,
}

impl Outcome {
    pub fn add(&mut self, other: &Self) {
        let (mine, theirs) = (&mut self.faults, &other.faults);
        mine.lost += theirs.lost;
        mine.doubled += theirs.doubled;
        mine.refused += theirs.refused;
        mine.ambiguous += theirs.ambiguous;
        mine.crashes += theirs.crashes;
        mine.jumps += theirs.jumps;
        mine.contended += theirs.contended;
        self.runs += other.runs;
        self.repeated_calls += other.repeated_calls;
    }

    pub fn each(&self) -> [(&'static str, u64); 9] {
        [
            ("runs", self.runs),
            ("lost messages", self.faults.lost),
            ("doubled messages", self.faults.doubled),
            ("failed requests", self.faults.refused),
            ("lost answers", self.faults.ambiguous),
            ("crashes", self.faults.crashes),
            ("jumps of the clock", self.faults.jumps),
            ("contended writes", self.faults.contended),
            ("repeated calls of activities", self.repeated_calls),
        ]
    }

    pub fn counts(&self) -> String {
        self.each()
            .map(|(what, count)| format!("{count} {what}"))
            .join(", ")
    }
}

/// Number of steps with faults.
const TROUBLED_STEPS: u32 = 1_500;
/// Number of steps without faults, within which all runs must end.
const CALM_STEPS: u32 = 60_000;
/// Time after which an unacknowledged message is delivered again.
const VISIBILITY_MS: i64 = 30_000;
/// Interval of the sweeper.
const SWEEP_MS: u64 = 5_000;

type Acknowledged = Arc<Mutex<BTreeMap<String, Vec<String>>>>;

fn engine(world: &Shared, worker: usize, ids: &Arc<AtomicU64>) -> Engine {
    let clock = world.lock().clock.clone();
    Engine::new(Services {
        store: Arc::new(world.clone()),
        registry: Arc::new(workloads::registry(world)),
        queue: Arc::new(world.clone()),
        bus: Arc::new(world.clone()),
        clock,
        ids: Ids::Counted(Arc::clone(ids)),
        sleep: Arc::new(world.clone()),
        turn_runner: Arc::new(Inline),
        listener: None,
        api: None,
        worker: format!("worker-{worker}"),
    })
}

fn tenant() -> Tenant {
    Tenant::new("acme", "demo").unwrap()
}

/// Reads the queue and drives runs; never returns.
async fn work(world: Shared, engine: Engine) {
    loop {
        let message = {
            let mut world = world.lock();
            let now = world.now();
            let visible: Vec<_> = (0..world.queue.len())
                .filter(|index| world.queue[*index].visible_at <= now)
                .collect();
            if visible.is_empty() {
                None
            } else {
                let index = visible[world.pick(visible.len())];
                // The message is delivered again unless it is removed.
                world.queue[index].visible_at = now + VISIBILITY_MS;
                Some(world.queue[index].clone())
            }
        };
        let Some(message) = message else {
            workflow::engine::Sleep::sleep(&world, 50).await;
            continue;
        };
        let hint: Hint = serde_json::from_str(&message.body).unwrap();
        if engine.drive(&tenant(), &hint.run_id).await.is_ok() {
            let mut world = world.lock();
            let place = world
                .queue
                .iter()
                .position(|waiting| waiting.body == message.body && waiting.visible_at == message.visible_at);
            if let Some(place) = place {
                world.queue.remove(place);
            }
        }
    }
}

async fn sweep(world: Shared, engine: Engine) {
    loop {
        workflow::engine::Sleep::sleep(&world, SWEEP_MS).await;
        let now = world.lock().clock.now();
        if let Ok(due) = engine.due(now).await {
            engine.hint_all(&due).await;
        }
    }
}

/// Starts a run, then signals, cancels or terminates it. Retries failed requests only where a repetition is
/// idempotent.
async fn client(world: Shared, engine: Engine, number: usize, acknowledged: Acknowledged) {
    let (name, input, needs_signals) = {
        let mut world = world.lock();
        workloads::TYPES[world.pick(workloads::TYPES.len())]
    };
    let workflow_id = format!("w{number}");
    let input = Payload::from_value(&serde_json::from_str::<serde_json::Value>(input).unwrap()).unwrap();
    let start = StartRun::new(name, &workflow_id, input);
    while engine.start(&tenant(), &start).await.is_err() {
        world.pause().await;
    }
    let signals = world.lock().pick(5);
    for signal in 0..signals {
        let text = format!("s{number}-{signal}");
        send(&world, &engine, &workflow_id, &text, &acknowledged).await;
        let pause = world.lock().pick(4_000) as u64;
        workflow::engine::Sleep::sleep(&world, pause).await;
    }
    let (cancels, terminates) = {
        let mut world = world.lock();
        (world.chance(25), world.chance(8))
    };
    if cancels || terminates {
        while let Some(run_id) = current(&world, &workflow_id) {
            let result = match terminates {
                true => {
                    engine
                        .terminate(&tenant(), &run_id, Some("simulated"), "client")
                        .await
                }
                false => {
                    engine
                        .cancel(&tenant(), &run_id, Some("simulated"), "client")
                        .await
                }
            };
            match result {
                Err(error) if error.kind() == ErrorKind::Unavailable => world.pause().await,
                _ => break,
            }
        }
    }
    if needs_signals {
        send_until_it_ends(&world, &engine, &workflow_id, number, &acknowledged).await;
    }
}

/// Sends signals until the run ends, for a workload that ends only with a signal.
async fn send_until_it_ends(
    world: &Shared,
    engine: &Engine,
    workflow_id: &str,
    number: usize,
    acknowledged: &Acknowledged,
) {
    for more in 1.. {
        let run_id = current(world, workflow_id);
        let state = run_id.and_then(|run_id| world.lock().memory.state(&run_id));
        if state.is_none_or(|state| state.is_closed()) {
            return;
        }
        let text = format!("m{number}-{more}-last");
        send(world, engine, workflow_id, &text, acknowledged).await;
        workflow::engine::Sleep::sleep(world, 20_000).await;
    }
}

fn current(world: &Shared, workflow_id: &str) -> Option<String> {
    world.lock().memory.current.get(workflow_id).cloned()
}

async fn send(world: &Shared, engine: &Engine, workflow_id: &str, text: &str, acknowledged: &Acknowledged) {
    let Some(run_id) = current(world, workflow_id) else {
        return;
    };
    let input = Payload::from_value(text).unwrap();
    if engine
        .signal(&tenant(), &run_id, "Add", &input, "client")
        .await
        .is_ok()
    {
        let mut acknowledged = acknowledged.lock().unwrap();
        acknowledged
            .entry(workflow_id.to_owned())
            .or_default()
            .push(text.to_owned());
    }
}

pub fn simulate(seed: u64, mutant: Mutant) -> Outcome {
    let world = Shared::new(seed, mutant);
    let ids = Arc::new(AtomicU64::new(1));
    let acknowledged = Acknowledged::default();
    let mut executor = Executor::default();
    let (workers, clients) = {
        let mut world = world.lock();
        (1 + world.pick(3), 1 + world.pick(4))
    };
    let mut next_worker = workers;
    for worker in 0..workers {
        executor.spawn(
            format!("worker-{worker}"),
            work(world.clone(), engine(&world, worker, &ids)),
        );
    }
    executor.spawn("sweeper", sweep(world.clone(), engine(&world, 98, &ids)));
    for number in 0..clients {
        let client = client(
            world.clone(),
            engine(&world, 99, &ids),
            number,
            Arc::clone(&acknowledged),
        );
        executor.spawn(format!("client-{number}"), client);
    }
    for step in 0..TROUBLED_STEPS + CALM_STEPS {
        if !world.lock().violations.is_empty() {
            break;
        }
        if step == TROUBLED_STEPS {
            let mut world = world.lock();
            world.troubled = false;
            world.tell("from here on nothing goes wrong");
        }
        if step > TROUBLED_STEPS && step % 500 == 0 && is_over(&world, clients) {
            break;
        }
        let mut locked = world.lock();
        if locked.troubled && locked.chance(1) {
            // The clock jumps forwards or backwards.
            let jump = locked.pick(60_000) as i64 - 20_000;
            locked.faults.jumps += 1;
            locked.tell(format!("the clock jumps by {jump}"));
            locked.advance(jump);
            continue;
        }
        let ready = executor.ready();
        if ready.is_empty() {
            let next = locked.next_time();
            let now = locked.now();
            match next {
                Some(at) => locked.advance(at - now),
                None => {
                    locked.violation("nothing will ever happen again");
                    break;
                }
            }
            continue;
        }
        let index = ready[locked.pick(ready.len())];
        let crashes = locked.troubled && executor.name(index).starts_with("worker") && locked.pick(200) == 0;
        if crashes {
            let name = executor.crash(index);
            locked.faults.crashes += 1;
            locked.tell(format!("{name} dies"));
            drop(locked);
            executor.spawn(
                format!("worker-{next_worker}"),
                work(world.clone(), engine(&world, next_worker, &ids)),
            );
            next_worker += 1;
            continue;
        }
        if locked.chance(20) {
            locked.advance(1);
        }
        drop(locked);
        executor.step(index);
    }
    let world = world.lock();
    let mut violations = world.violations.clone();
    if violations.is_empty() {
        violations = invariants::at_the_end(&world, &acknowledged.lock().unwrap());
    }
    Outcome {
        violations,
        story: world.story.clone(),
        faults: world.faults,
        runs: world.memory.runs.len() as u64,
        repeated_calls: world.calls.values().map(|calls| calls - 1).sum(),
    }
}

fn is_over(world: &Shared, clients: usize) -> bool {
    let world = world.lock();
    world.memory.current.len() >= clients
        && world
            .memory
            .runs
            .values()
            .all(|kept| kept.closed && kept.due_at.is_none())
}
