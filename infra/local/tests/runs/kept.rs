//! Tests where state, history and payloads are stored.

use serde_json::json;
use workflow::Payload;
use workflow::engine::{HistoryForm, StartRun};
use workflow::status::RunStatus;

use crate::world::World;

#[tokio::test]
async fn a_long_history_leaves_the_state_and_is_read_back_whole() {
    let world = World::start().await;
    let run = world.begin("Count", "w", json!(100)).await;
    let state = world.drive(&run).await;
    assert_eq!(state.status, RunStatus::Completed);
    assert!(state.tail_begins() > 200, "{}", state.tail_begins());
    let history = world.engine.history(&world.tenant, &state).await.unwrap();
    assert_eq!(history.len(), 302);
    assert!(history.iter().zip(1..).all(|(event, id)| event.id == id));
    let detail = world
        .engine
        .describe(&world.tenant, &state, Some(HistoryForm::Events { after: 300 }))
        .await
        .unwrap();
    let detail = serde_json::to_value(&detail).unwrap();
    assert_eq!(
        (&detail["input"], &detail["result"]),
        (&json!(100), &json!(4_950))
    );
    assert_eq!(detail["history"]["events"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_large_payload_is_kept_beside_the_records_and_given_back_whole() {
    let world = World::start().await;
    let run = world.begin("Large", "w", json!(1_500_000)).await;
    let state = world.drive(&run).await;
    assert_eq!(state.status, RunStatus::Completed);
    let detail = world.engine.describe(&world.tenant, &state, None).await.unwrap();
    assert_eq!(detail.result.unwrap().to_string(), "1500000");
    // Three events hold the payload; it is stored once.
    let objects = world.objects.list("payloads/").await.unwrap();
    assert_eq!(objects.len(), 1);
    assert!(objects[0].key.starts_with(&format!("payloads/acme/demo/{run}/")));
    let history = world.engine.history(&world.tenant, &state).await.unwrap();
    assert!(serde_json::to_string(&history).unwrap().len() < 5_000);

    let run = world.begin("Large", "too-large", json!(3_000_000)).await;
    let state = world.drive(&run).await;
    assert_eq!(state.status, RunStatus::Failed);
    let detail = world.engine.describe(&world.tenant, &state, None).await.unwrap();
    assert_eq!(detail.error.unwrap().kind, "PayloadTooLarge");
}

#[tokio::test]
async fn a_state_that_is_large_is_kept_beside_the_records_and_its_older_ones_are_not() {
    let world = World::start().await;
    let mut start = StartRun::new("Listen", "w", Payload::null());
    start
        .about
        .memo
        .insert("note".to_owned(), "x".repeat(350_000).into());
    let started = world.engine.start(&world.tenant, &start).await.unwrap();
    let input = Payload::null();
    for _ in 0..3 {
        let (tenant, run_id) = (&world.tenant, &started.run_id);
        let signal = world.engine.signal(tenant, run_id, "Other", &input, "t");
        signal.await.unwrap();
    }
    let state = world.drive(&started.run_id).await;
    assert_eq!((state.signals, state.about.memo), (3, start.about.memo));
    let objects = world.objects.list("states/").await.unwrap();
    assert_eq!(objects.len(), 1, "{objects:?}");
}
