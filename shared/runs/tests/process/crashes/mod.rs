//! Tests a process whose service crashes after some writes and is restarted: the result is the same.

mod memory;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use platform::{Clock, Tenant};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};
use workflow::engine::{Engine, Ids, Services, Sleep, StartRun};
use workflow::event::EventKind;
use workflow::testing::check_history;
use workflow::turn_runner::Inline;
use workflow::{Failure, Payload, Registry};

use self::memory::Memory;
use crate::world::{document, program_of, registry, tasks};

const TEXT: &str = "a: { call: http, with: { method: get, endpoint: 'https://service.example/' } } ;; \
    f: { for: { in: '[1, 2, 3]' }, do: [ { b: { set: { n: '${ .n + $item }' } } } ] } ;; \
    k: { fork: { branches: [ { c: { wait: PT5S } }, { d: { do: [ { e: { wait: PT1S } }, { g: { set: { n: '${ .n * 2 }' } } } ] } } ] }, output: { as: '.[1]' } } ;; \
    t: { try: [ { h: { call: http, with: { method: post, endpoint: 'https://busy.example/' } } } ], \
         catch: { errors: { with: { status: 503 } }, retry: { delay: PT1S, jitter: { from: PT0S, to: PT2S }, limit: { attempt: { count: 2 } } }, do: [] } } ;; \
    m: { emit: { event: { with: { source: 'https://a.example', type: done, data: '${ .n }' } } }, output: { as: '{ n: .data }' } } ;; \
    l: { listen: { to: { one: { with: { type: paid } } } }, output: { as: '{ n: (.[0].cents) }' } } ;; \
    r: { run: { workflow: { namespace: tests, name: child } } }";
const CHILD: &str = "do: [ { w: { wait: PT1S } }, { s: { set: { n: '${ .n + 1 }' } } } ]";

/// Work done outside: the activity inputs by activity, and the number of executions of each.
type Done = Arc<Mutex<BTreeMap<(String, String), u32>>>;

fn outside(done: &Done) -> Registry {
    outside_of(done, tasks(TEXT))
}

fn outside_of(done: &Done, parent: String) -> Registry {
    let child = document(CHILD);
    let digest = program_of(&child).digest;
    let texts = BTreeMap::from([(program_of(&parent).digest, parent), (digest.clone(), child)]);
    let note = |done: &Done, name: &str, input: &Value| {
        let key = (name.to_owned(), input.to_string());
        *done.lock().unwrap().entry(key).or_default() += 1;
    };
    let (calls, events) = (Arc::clone(done), Arc::clone(done));
    registry()
        .activity("process_load", move |_, digest: String| {
            let text = texts.get(&digest).cloned();
            async move { Ok(json!({ "text": text, "account": "acme" })) }
        })
        .activity("process_find", move |_, _: Value| {
            let digest = digest.clone();
            async move { Ok(digest) }
        })
        .activity("process_http_call", move |_, call: Value| {
            note(&calls, "call", &call["uri"]);
            let is_busy = call["uri"].to_string().contains("busy");
            async move {
                Ok(match is_busy {
                    true => json!({ "error": { "kind": "communication", "status": 503, "detail": "Busy." } }),
                    false => json!({ "output": { "n": 4 } }),
                })
            }
        })
        .activity("process_listen", |_, _: Value| async { Ok::<_, Failure>(()) })
        .activity("process_unlisten", |_, _: Value| async { Ok::<_, Failure>(()) })
        .activity("process_emit", move |_, event: Value| {
            note(&events, "emit", &event["id"]);
            async { Ok::<_, Failure>(()) }
        })
}

struct Quick;

impl Sleep for Quick {
    fn sleep(&self, _: u64) -> BoxFuture<'static, ()> {
        Box::pin(tokio::task::yield_now())
    }
}

fn engine(memory: &Memory, clock: &Clock, registry: &Registry, worker: usize) -> Engine {
    Engine::new(Services {
        store: Arc::new(memory.store()),
        registry: Arc::new(registry.clone()),
        queue: Arc::new(memory.clone()),
        bus: Arc::new(memory.clone()),
        clock: clock.clone(),
        ids: Ids::Random,
        sleep: Arc::new(Quick),
        turn_runner: Arc::new(Inline),
        listener: None,
        api: None,
        worker: format!("worker-{worker}"),
    })
}

/// Runs the process while its service crashes after this percentage of writes. Returns the result and the
/// number of crashes.
async fn survived(seed: u64, percent: u32) -> (Value, usize) {
    let tenant = Tenant::new("acme", "demo").unwrap();
    let done = Done::default();
    let registry = outside(&done);
    let clock = Clock::manual("2026-01-01T00:00:00Z".parse().unwrap());
    let memory = Memory::new(&tenant);
    let started = {
        let engine = engine(&memory, &clock, &registry, 0);
        let start = StartRun {
            program: Some(program_of(&tasks(TEXT)).to_string()),
            ..StartRun::new("Process", "p", Payload::from_value(&json!({})).unwrap())
        };
        let started = engine.start(&tenant, &start).await.unwrap();
        let event = json!({ "message": "", "type": "paid", "source": "s", "data": { "cents": 7 } });
        let body = Payload::from_value(&event).unwrap();
        engine
            .signal(&tenant, &started.run_id, "Event", &body, "user:test")
            .await
            .unwrap();
        started
    };
    let mut chance = StdRng::seed_from_u64(seed);
    let mut deaths = 0;
    while !memory.is_closed(&started.run_id).await {
        assert!(deaths < 1_000, "seed {seed}");
        let engine = engine(&memory, &clock, &registry, deaths + 1);
        memory.live(chance.random_range(1..=100), percent, chance.random());
        let died = tokio::select! {
            biased;
            () = memory.died() => true,
            () = on_to_the_end(&engine, &memory, &clock, &tenant, &started.run_id) => false,
        };
        deaths += usize::from(died);
    }
    memory.live(0, 0, 0);
    for run_id in memory.run_ids().await {
        check_history(&registry, &memory.history(&run_id).await).unwrap();
    }
    let history = memory.history(&started.run_id).await;
    let done = done.lock().unwrap();
    // One call that succeeds, one that the definition makes three times, and one event, in spite of all
    // repetitions.
    assert_eq!(done.len(), 3, "seed {seed}: {done:?}");
    assert!(done.values().all(|count| *count >= 1));
    match &history.last().unwrap().kind {
        EventKind::WorkflowExecutionCompleted { result } => (result.to_value(), deaths),
        other => panic!("seed {seed}: {other:?}"),
    }
}

async fn on_to_the_end(engine: &Engine, memory: &Memory, clock: &Clock, tenant: &Tenant, run_id: &str) {
    engine.take_over().await.unwrap();
    while !memory.is_closed(run_id).await {
        for due in engine.due(clock.now()).await.unwrap() {
            engine.drive(tenant, &due.run_id).await.unwrap();
        }
        // Advance to the next second, in which something may be due.
        clock.advance_ms(1_000);
    }
}

#[tokio::test]
async fn a_process_ends_the_same_however_often_its_service_dies() {
    let (expected, deaths) = survived(0, 0).await;
    assert_eq!((expected.clone(), deaths), (json!({ "n": 8 }), 0));
    let mut died = 0;
    for seed in 1..=25 {
        let (result, deaths) = survived(seed, 40).await;
        assert_eq!(result, expected, "seed {seed}");
        died += deaths;
    }
    assert!(died > 50, "{died}");
}

#[tokio::test]
async fn ten_tasks_and_a_call_are_three_commits() {
    let sets = (0..5).map(|number| {
        format!(
            "s{number}: {{ set: {{ n: '${{ .n + 1 }}' }} }} ;; \
             w{number}: {{ switch: [ {{ c: {{ when: '.n > 100', then: exit }} }} ] }} ;; "
        )
    });
    let text = format!(
        "{}a: {{ call: http, with: {{ method: get, endpoint: 'https://service.example/' }} }}",
        sets.collect::<String>()
    );
    let tenant = Tenant::new("acme", "demo").unwrap();
    let registry = outside_of(&Done::default(), tasks(&text));
    let clock = Clock::manual("2026-01-01T00:00:00Z".parse().unwrap());
    let memory = Memory::new(&tenant);
    let engine = engine(&memory, &clock, &registry, 0);
    let start = StartRun {
        program: Some(program_of(&tasks(&text)).to_string()),
        ..StartRun::new("Process", "p", Payload::from_value(&json!({ "n": 1 })).unwrap())
    };
    let started = engine.start(&tenant, &start).await.unwrap();
    engine.drive(&tenant, &started.run_id).await.unwrap();
    let state = memory.state(&started.run_id).await;
    assert!(state.is_closed());
    assert_eq!(state.version, 3);
}
