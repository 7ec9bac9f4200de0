//! Tests runs that listen for events: the events that they are signalled, and the removal of ended runs'
//! listeners.

use events::records::listeners::{Listener, Listening as _};
use serde_json::{Value, json};
use workflow::Payload;
use workflow::engine::{IdReuse, StartRun};

use crate::world::World;

async fn start(world: &World, workflow_type: &str, input: Value) -> String {
    let start = StartRun::new(workflow_type, workflow_type, Payload::from_value(&input).unwrap());
    let started = world.engine.start(&world.tenant, &start).await.unwrap();
    world.follow_hints().await;
    started.run_id
}

async fn listen(world: &World, run_id: &str, listener_id: &str, filter: Value) {
    let listener = Listener {
        run_id: run_id.to_owned(),
        listener_id: listener_id.to_owned(),
        filter: filter.to_string(),
        created_at: world.clock.now(),
    };
    let listeners = &world.matcher.listeners;
    listeners.begin(&world.tenant, &listener).await.unwrap();
}

/// Reads the count as the matcher does.
async fn count(world: &World) -> u64 {
    let state = world.matcher.subscriptions.state(&world.tenant).await;
    state.unwrap().listeners
}

async fn result(world: &World, workflow_type: &str) -> Value {
    let current = StartRun {
        id_reuse: IdReuse::Never,
        ..StartRun::new(workflow_type, workflow_type, Payload::null())
    };
    let run_id = world.engine.start(&world.tenant, &current).await.unwrap().run_id;
    let state = world.engine.get(&world.tenant, &run_id).await.unwrap();
    let detail = world.engine.describe(&world.tenant, &state, None).await.unwrap();
    serde_json::to_value(&detail).unwrap()["result"].clone()
}

#[tokio::test]
async fn a_run_is_told_of_the_events_that_may_fit() {
    let world = World::start().await;
    let run = start(&world, "Listening", json!(2)).await;
    assert_eq!(count(&world).await, 0);
    listen(&world, &run, "a", json!([{ "type": "external.received" }])).await;
    // A repeated registration is one listener, and two listeners of a run cause one signal.
    listen(&world, &run, "a", json!([])).await;
    listen(&world, &run, "b", json!([{ "source": "external:.*" }])).await;
    let other = start(&world, "Waiting", json!(null)).await;
    listen(&world, &other, "a", json!([{ "type": "content.create" }])).await;
    assert_eq!(count(&world).await, 3);

    let mut events = Vec::new();
    for _ in 0..2 {
        events.push(json!(world.event(None).await));
        assert_eq!(world.match_messages().await, 0);
    }
    world.follow_hints().await;
    let state = world.engine.get(&world.tenant, &run).await.unwrap();
    assert_eq!(state.signals, 2);
    let detail = world.engine.describe(&world.tenant, &state, None).await.unwrap();
    assert_eq!(serde_json::to_value(&detail).unwrap()["result"], json!(events));
    let other = world.engine.get(&world.tenant, &other).await.unwrap();
    assert_eq!(other.signals, 0);
}

#[tokio::test]
async fn the_listeners_of_a_run_that_has_ended_are_removed() {
    let world = World::start().await;
    let run = start(&world, "Listening", json!(1)).await;
    listen(&world, &run, "a", json!([])).await;
    listen(&world, &run, "b", json!([])).await;
    listen(&world, "no-run", "a", json!([])).await;
    world.event(None).await;
    assert_eq!(world.match_messages().await, 0);
    world.settle().await;
    // The first event ended the run, so the second one finds it ended.
    world.event(None).await;
    world.settle().await;
    assert_eq!(count(&world).await, 0);
    assert_eq!(world.matcher.listeners.list(&world.tenant).await.unwrap(), []);

    listen(&world, &run, "a", json!([])).await;
    for _ in 0..2 {
        let ended = world.matcher.listeners.end(&world.tenant, &run, "a");
        ended.await.unwrap();
        assert_eq!(count(&world).await, 0);
    }
}

#[tokio::test]
async fn a_run_that_continues_as_another_is_told_still() {
    let world = World::start().await;
    let start_run = StartRun::new("Renewed", "Renewed", Payload::from_value(&true).unwrap());
    let run = world.engine.start(&world.tenant, &start_run).await.unwrap();
    listen(&world, &run.run_id, "a", json!([])).await;
    for _ in 0..3 {
        world.follow_hints().await;
    }
    let event = world.event(None).await;
    assert_eq!(world.match_messages().await, 0);
    world.follow_hints().await;
    assert_eq!(count(&world).await, 1);
    assert_eq!(result(&world, "Renewed").await, json!(event));
}

#[tokio::test]
async fn subscriptions_are_counted_beside_listeners() {
    let world = World::start().await;
    listen(&world, "r", "a", json!([])).await;
    // The first creation counts the subscriptions of a project that so far has only a count of listeners.
    world
        .subscribe(&["external"], json!({ "type": "workflow", "endpoint": "Quick" }))
        .await;
    world
        .subscribe(&["external"], json!({ "type": "workflow", "endpoint": "Quick" }))
        .await;
    assert_eq!(count(&world).await, 1);
    world.event(None).await;
    world.settle().await;
    assert_eq!(world.all().await.len(), 2);
    assert_eq!(count(&world).await, 0);
}
