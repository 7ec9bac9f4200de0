//! Tests the input of agent and process runs: templates filled from the event, and the definition of a
//! process.

use events::envelope::RawObject;
use events::records::deliveries::{DeliveryRecord, DeliveryStatus};
use process::records::processes::{Process, ProcessRef, digest};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use workflow::event::{EventKind, Started};

use crate::world::World;

const DEFINITION: &str = r#"{"document":{"dsl":"1.0.0","namespace":"shop","name":"ship","version":"1.0.0"},"do":[{"a":{"set":{"b":1}}}]}"#;
const BODY: &str =
    r#"{"id": 7, "big": 12345678901234567890123, "list": [1, "x"], "text": "a \"b\"", "none": null}"#;

async fn delivered(world: &World) -> DeliveryRecord {
    let body = RawValue::from_string(BODY.to_owned()).unwrap();
    let event = world
        .event_with(None, RawObject::from([("payload".to_owned(), body)]))
        .await;
    assert_eq!(world.match_messages().await, 0);
    let mut all = world.all().await.into_iter();
    all.find(|delivery| delivery.event_id == event).unwrap()
}

/// Returns the start event of a delivery's run, and the run's memo.
async fn run_of(world: &World, delivery: &DeliveryRecord) -> (Started, Value) {
    let run = delivery.workflow_run_id.as_ref().unwrap();
    let state = world.engine.get(&world.tenant, run).await.unwrap();
    let history = world.engine.history(&world.tenant, &state).await.unwrap();
    match &history[0].kind {
        EventKind::WorkflowExecutionStarted(started) => {
            ((**started).clone(), Value::Object(state.about.memo.clone()))
        }
        other => panic!("{other:?}"),
    }
}

async fn store(world: &World, version: &str, text: &str) {
    let processes = &world.matcher.processes;
    let digest = processes.insert_text(&world.tenant, None, text).await.unwrap();
    let process = Process {
        namespace: "shop".to_owned(),
        name: "ship".to_owned(),
        version: version.to_owned(),
        digest,
        bytes: text.len() as u64,
        title: None,
        created_at: world.clock.now(),
    };
    processes.insert(&world.tenant, &process).await.unwrap();
}

#[tokio::test]
async fn an_agent_is_given_the_filled_data_and_its_origin() {
    let world = World::start().await;
    let target = json!({
        "type": "agent", "interaction_ref": "app:Support", "max_iterations": 5,
        "data": {
            "id": "$event.details.payload.id", "big": "{{ event.details.payload.big }}",
            "list": ["{{event.details.payload.list}}"], "inline": "{{ event.details.payload.text }} {{ event.details.payload.list }}",
            "none": "$event.details.payload.none", "reference": "$event_ref", "delivery": "$delivery.id", "event": "$event",
            "plain": { "a": 1 },
        },
    });
    let subscription = world.subscribe(&["external"], target).await;
    let delivery = delivered(&world).await;
    assert_eq!(delivery.target_type, "agent");
    let (started, memo) = run_of(&world, &delivery).await;
    let text = started.input.json();
    let input: Value = serde_json::from_str(text).unwrap();
    let event_ref = json!({
        "event_id": delivery.event_id, "event_category": "external", "action": "received", "resource_type": "thing",
        "resource_id": delivery.event_id,
    });
    assert_eq!(input["interaction_ref"], "app:Support");
    assert_eq!(input["max_iterations"], 5);
    for source in [&input, &memo] {
        assert_eq!(source["source_type"], "event_subscription");
        assert_eq!(source["subscription_id"], json!(subscription));
        assert_eq!(source["event_ref"], event_ref);
        assert_eq!(source["delivery_id"], json!(delivery.id));
    }
    assert_eq!(memo["run_as_role"], "reader");
    let data = &input["data"];
    assert_eq!(data["id"], 7);
    assert!(text.contains(r#""big":12345678901234567890123"#), "{text}");
    assert_eq!(data["list"], json!([[1, "x"]]));
    assert_eq!(data["inline"], r#"a "b" [1,"x"]"#);
    assert_eq!(data["none"], Value::Null);
    assert_eq!(data["reference"], event_ref);
    assert_eq!(data["delivery"], json!(delivery.id));
    assert_eq!(data["event"]["details"]["payload"]["list"], json!([1, "x"]));
    assert_eq!(data["plain"], json!({ "a": 1 }));
    world.settle().await;
    assert_eq!(world.one().await.status, DeliveryStatus::Succeeded);
}

#[tokio::test]
async fn a_process_is_given_the_event_and_the_data_over_it() {
    let world = World::start().await;
    let definition: Value = serde_json::from_str(DEFINITION).unwrap();
    let target = json!({
        "type": "process", "definition": definition, "run_type": "supervised",
        "data": { "delivery": { "note": "$delivery.id" }, "order": { "big": "$event.details.payload.big" } },
    });
    world.subscribe(&["external"], target).await;
    let delivery = delivered(&world).await;
    let (started, memo) = run_of(&world, &delivery).await;
    let text = started.input.json();
    assert_eq!(memo["delivery_id"], json!(delivery.id));
    let input: Value = serde_json::from_str(text).unwrap();
    assert_eq!(input["event"]["event_id"], json!(delivery.event_id));
    assert_eq!(input["event"]["details"]["payload"]["id"], 7);
    assert_eq!(input["delivery"]["id"], json!(delivery.id));
    assert_eq!(input["delivery"]["attempt"], 1);
    assert_eq!(input["delivery"]["note"], json!(delivery.id));
    assert!(
        text.contains(r#""order":{"big":12345678901234567890123}"#),
        "{text}"
    );
    // The text is stored under its digest.
    let text = serde_json::to_string(&definition).unwrap();
    let program = format!("sha256:{};supervised", digest(&text));
    assert_eq!(started.program, Some(program));
    let processes = &world.matcher.processes;
    let digest = digest(&text);
    let stored_text = processes.text(&world.tenant, &world.matcher.objects, &digest);
    assert_eq!(stored_text.await.unwrap(), Some(text));
}

#[tokio::test]
async fn a_field_that_is_missing_fails_the_delivery_for_good_and_again() {
    let world = World::start().await;
    let data = json!({ "a": ["x {{ event.details.payload.nope }}"] });
    world
        .subscribe(&["external"], json!({ "type": "agent", "data": data }))
        .await;
    let delivery = delivered(&world).await;
    assert_eq!(delivery.status, DeliveryStatus::Failed);
    assert_eq!(delivery.workflow_run_id, None);
    let why = "The field 'target.data' cannot be filled: the template names 'event.details.payload.nope', which the event does \
               not have.";
    assert_eq!(delivery.last_error.as_deref(), Some(why));
    let retried = world.redelivery.retry(&world.tenant, &delivery.id).await;
    assert_eq!(retried.unwrap_err().message(), why);
    assert_eq!(world.one().await.status, DeliveryStatus::Failed);
}

#[tokio::test]
async fn a_stored_process_is_looked_up_when_the_event_matches() {
    let world = World::start().await;
    store(&world, "1.9.0", DEFINITION).await;
    store(&world, "1.10.0", "later").await;
    let reference = |text: &str| ProcessRef::parse("process_ref", text).unwrap();
    let processes = &world.matcher.processes;
    let latest = processes
        .find(&world.tenant, &reference("shop/ship"))
        .await
        .unwrap();
    assert_eq!(latest.unwrap().version, "1.10.0");
    world
        .subscribe(
            &["external"],
            json!({ "type": "process", "process_ref": "shop/ship" }),
        )
        .await;
    assert!(delivered(&world).await.workflow_run_id.is_some());

    processes
        .remove(&world.tenant, &reference("shop/ship@1.9.0"))
        .await
        .unwrap();
    assert!(delivered(&world).await.workflow_run_id.is_some());
    processes
        .remove(&world.tenant, &reference("shop/ship"))
        .await
        .unwrap();
    let failed = delivered(&world).await;
    assert_eq!(failed.status, DeliveryStatus::Failed);
    assert_eq!(
        failed.last_error.as_deref(),
        Some(
            "The field 'target.process_ref' names the process 'shop/ship', which does not exist; the project has none."
        )
    );
    // Once the process exists, the same delivery can be retried.
    store(&world, "2.0.0", DEFINITION).await;
    world.redelivery.retry(&world.tenant, &failed.id).await.unwrap();
    world.settle().await;
    let retried = world.deliveries.get(&world.tenant, &failed.id).await.unwrap();
    assert_eq!(retried.status, DeliveryStatus::Succeeded);
}
