//! Tests what an event does whose workflow id has an open run, and data and ids of the targets.

use events::envelope::{RawObject, raw};
use events::records::deliveries::{DeliveryRecord, DeliveryStatus};
use platform::auth::RunAsRole;
use serde_json::json;
use workflow::Payload;
use workflow::engine::StartRun;
use workflow::state::{About, Visibility};

use crate::world::World;

fn order(id: &str) -> RawObject {
    RawObject::from([("payload".to_owned(), raw(&json!({ "order_id": id })).unwrap())])
}

/// Publishes an event about an order and returns its delivery, once all is done.
async fn delivered(world: &World) -> DeliveryRecord {
    world.clock.advance_ms(1);
    let event = world.event_with(None, order("order-7")).await;
    world.settle().await;
    of_event(world, &event).await
}

async fn of_event(world: &World, event: &str) -> DeliveryRecord {
    let mut all = world.all().await.into_iter();
    all.find(|delivery| delivery.event_id == event).unwrap()
}

#[tokio::test]
async fn signal_reaches_the_open_run_or_starts_one() {
    let world = World::start().await;
    let target = json!({
        "type": "workflow", "endpoint": "Collecting", "workflow_id": "details.payload.order_id", "on_running": "signal",
        "signal_name": "Order", "data": { "order": "$event.details.payload.order_id" },
    });
    world.subscribe(&["external"], target).await;
    let first = delivered(&world).await;
    assert_eq!(first.status, DeliveryStatus::Running);
    let second = delivered(&world).await;
    let third = delivered(&world).await;
    for joined in [&second, &third] {
        assert_eq!(joined.status, DeliveryStatus::Succeeded);
        assert_eq!(joined.workflow_run_id, first.workflow_run_id);
    }
    let run = first.workflow_run_id.clone().unwrap();
    let state = world.engine.get(&world.tenant, &run).await.unwrap();
    assert!(state.is_closed());
    let result = serde_json::to_string(&state.tail).unwrap();
    for event in [&first, &second, &third] {
        assert!(
            result.contains(&format!("order-7 {}", event.event_id)),
            "{result}"
        );
    }
    let again = delivered(&world).await;
    assert_eq!(again.status, DeliveryStatus::Running);
    assert_ne!(again.workflow_run_id, first.workflow_run_id);
}

#[tokio::test]
async fn run_with_more_permissions_than_the_subscription_gets_no_signal() {
    for (role, visibility, is_signalled) in [
        (None, Visibility::Project, true),
        (Some(RunAsRole::Reader), Visibility::Project, true),
        (Some(RunAsRole::Automation), Visibility::Project, false),
        (None, Visibility::Private, false),
    ] {
        let world = World::start().await;
        let target = json!({
            "type": "workflow", "endpoint": "Collecting", "workflow_id": "details.payload.order_id", "on_running": "signal",
            "signal_name": "Order",
        });
        world.subscribe(&["external"], target).await;
        let input = Payload::from_value(&json!({ "delivery": { "id": "first" } })).unwrap();
        let start = StartRun {
            about: About {
                run_as_role: role,
                visibility,
                ..About::default()
            },
            ..StartRun::new("Collecting", "order-7", input)
        };
        let run = world.engine.start(&world.tenant, &start).await.unwrap().run_id;
        let delivery = delivered(&world).await;
        let state = world.engine.get(&world.tenant, &run).await.unwrap();
        assert_eq!(state.signals == 1, is_signalled, "{role:?} {visibility:?}");
        let expected = if is_signalled {
            DeliveryStatus::Succeeded
        } else {
            DeliveryStatus::Failed
        };
        assert_eq!(delivery.status, expected, "{:?}", delivery.last_error);
    }
}

#[tokio::test]
async fn queued_delivery_of_a_disabled_subscription_starts_no_run() {
    let world = World::start().await;
    let target = json!({
        "type": "workflow", "endpoint": "Waiting", "workflow_id": "details.payload.order_id", "on_running": "queue",
    });
    let id = world.subscribe(&["external"], target).await;
    let (first, second) = (delivered(&world).await, delivered(&world).await);
    world.pass(2);
    world.settle().await;
    world.enable(&id, false).await;
    world.pass(61);
    world.settle().await;
    world.pass(61);
    world.settle().await;
    assert_eq!(
        of_event(&world, &first.event_id).await.status,
        DeliveryStatus::Succeeded
    );
    let second = of_event(&world, &second.event_id).await;
    assert_eq!(second.status, DeliveryStatus::Cancelled);
    assert!(second.last_error.unwrap().contains("disabled"));
}

#[tokio::test]
async fn run_of_a_queue_names_its_subscription() {
    let world = World::start().await;
    let target = json!({
        "type": "workflow", "endpoint": "Waiting", "workflow_id": "details.payload.order_id", "on_running": "queue",
    });
    let id = world.subscribe(&["external"], target).await;
    delivered(&world).await;
    world.pass(2);
    world.settle().await;
    // A start with the id of an open run returns that run.
    let start = StartRun::new("Waiting", "order-7", Payload::null());
    let started = world.engine.start(&world.tenant, &start).await.unwrap();
    assert!(!started.is_new);
    let run = world.engine.get(&world.tenant, &started.run_id).await.unwrap();
    assert_eq!(run.about.rule_id, Some(id));
    assert_eq!(run.about.run_as_role, Some(RunAsRole::Reader));
}

#[tokio::test]
async fn types_of_the_service_are_no_children() {
    let world = World::start().await;
    for internal in [
        "WebhookDelivery",
        "QueuedStart",
        "DeliveryRedrive",
        "SubscriptionEvaluation",
    ] {
        let data = json!({ "documents": ["a"], "type": internal, "input": { "event_id": "e" } });
        let target = json!({ "type": "workflow", "endpoint": "BatchAgentWorkflow", "data": data });
        let id = world.subscribe(&["external"], target).await;
        let event = world.event(None).await;
        world.settle().await;
        let all = world.all().await;
        let delivery = all
            .iter()
            .find(|one| one.event_id == event && one.subscription_id == id);
        let run = delivery.unwrap().workflow_run_id.clone().unwrap();
        let state = world.engine.get(&world.tenant, &run).await.unwrap();
        let detail = world.engine.describe(&world.tenant, &state, None).await.unwrap();
        let result = serde_json::to_string(&detail).unwrap();
        assert!(result.contains("started by the service alone"), "{result}");
    }
}

#[tokio::test]
async fn queued_event_starts_its_run_after_the_one_before() {
    let world = World::start().await;
    let target = json!({
        "type": "workflow", "endpoint": "Waiting", "workflow_id": "details.payload.order_id", "on_running": "queue",
    });
    world.subscribe(&["external"], target).await;
    let (first, second) = (delivered(&world).await, delivered(&world).await);
    world.pass(2);
    world.settle().await;
    for (ended, open) in [
        (None, Some(&second)),
        (Some(&first), Some(&second)),
        (Some(&second), None),
    ] {
        if let Some(ended) = ended {
            assert_eq!(
                of_event(&world, &ended.event_id).await.status,
                DeliveryStatus::Succeeded
            );
        }
        if let Some(open) = open {
            assert_eq!(
                of_event(&world, &open.event_id).await.status,
                DeliveryStatus::Running
            );
        }
        world.pass(61);
        world.settle().await;
    }
}

#[tokio::test]
async fn agents_and_processes_share_runs_by_workflow_id() {
    for kind in ["agent", "process"] {
        let world = World::start().await;
        let mut target = json!({ "type": kind, "workflow_id": "details.payload.order_id" });
        if kind == "process" {
            target["definition"] = json!({
                "document": { "dsl": "1.0.0", "namespace": "shop", "name": "ship", "version": "1.0.0" },
                "do": [{ "note": { "set": { "a": 1 } } }],
            });
        }
        world.subscribe(&["external"], target).await;
        let (first, second): (DeliveryRecord, DeliveryRecord) =
            (delivered(&world).await, delivered(&world).await);
        assert_eq!(first.workflow_id.as_deref(), Some("order-7"));
        assert_eq!(second.workflow_run_id, first.workflow_run_id);
        assert_eq!(second.status, DeliveryStatus::Succeeded);
    }
}
