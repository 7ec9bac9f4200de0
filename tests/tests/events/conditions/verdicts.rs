//! Tests semantic conditions: a model decides whether an event is delivered.

use std::sync::Arc;

use serde_json::{Value, json};
use tests::judged::{Judged, condition, plain, subscribe};
use tests::model::{ModelServer, Reply};
use tests::{Events, faults};
use tokio::sync::Notify;

const EVALUATORS: [&str; 2] = ["interaction", "agent"];
const MODES: [&str; 2] = ["enforce", "shadow"];
const RULES: [&str; 2] = ["fail_closed", "fail_open"];

#[tokio::test]
async fn a_verdict_decides_where_it_is_enforced_and_is_recorded_in_any_case_locally() {
    let world = Judged::start_local().await;
    let long = "r".repeat(3_000);
    for evaluator in EVALUATORS {
        for mode in MODES {
            for matched in [true, false] {
                let rationale = long.clone();
                world.model.answers(move |_| Reply::verdict(matched, &rationale));
                let action = format!("{evaluator}-{mode}-{matched}");
                world
                    .subscribe(&action, condition(evaluator, mode, "fail_closed"))
                    .await;
                let is_sent = matched || mode == "shadow";
                let status = if is_sent { "succeeded" } else { "cancelled" };
                let delivery = world.delivered(&action, status).await;
                let evaluation = json!({
                    "status": if matched { "matched" } else { "not_matched" }, "mode": mode, "evaluator_type": evaluator,
                    "matched": matched, "rationale": "r".repeat(2_000),
                });
                assert_eq!(delivery["semantic_evaluation"], evaluation);
                let requests = world.events.receiver.received_at(&format!("/{action}"));
                assert_eq!(requests.len(), usize::from(is_sent), "{action}");
                let reason = if is_sent {
                    Value::Null
                } else {
                    json!("semantic_condition")
                };
                assert_eq!(delivery["last_error"], reason, "{action}");
            }
        }
    }
}

#[tokio::test]
async fn the_rule_decides_where_a_model_answers_nonsense_locally() {
    let world = Judged::start_local().await;
    for (name, reply, part) in [
        ("nonsense", Reply::Text("It may be.".to_owned()), "schema"),
        ("refused", Reply::Status(400), "status 400"),
    ] {
        world.model.answers(move |_| reply.clone());
        let mut events = Vec::new();
        for evaluator in EVALUATORS {
            for mode in MODES {
                for rule in RULES {
                    let action = format!("{name}-{evaluator}-{mode}-{rule}");
                    world.subscribe(&action, condition(evaluator, mode, rule)).await;
                    let event = world.send(&json!({ "action": action })).await;
                    events.push((action, event, mode, rule));
                }
            }
        }
        for (action, event, mode, rule) in events {
            let stops = mode == "enforce" && rule == "fail_closed";
            let status = if stops { "failed" } else { "succeeded" };
            let delivery = world.events.delivery_of(&event, &[status]).await;
            let evaluation = &delivery["semantic_evaluation"];
            assert_eq!(evaluation["status"], "error", "{action}");
            assert_eq!(evaluation["matched"], Value::Null, "{action}");
            let error = evaluation["error"].as_str().unwrap();
            assert!(error.contains(part), "{action}: {error}");
            if stops {
                assert_eq!(delivery["last_error"], error, "{action}");
            }
        }
    }
}

/// The decision must not be lost because of how a model writes it.
#[tokio::test]
async fn verdict_counts_without_a_rationale_with_more_fields_and_as_a_text_locally() {
    let world = Judged::start_local().await;
    for (action, output, matched) in [
        ("bare", json!({ "matched": true }), true),
        (
            "more",
            json!({ "matched": false, "rationale": "No.", "score": 0.1 }),
            false,
        ),
        ("text", json!({ "matched": "true", "rationale": null }), true),
    ] {
        let reply = output.clone();
        world.model.answers(move |_| Reply::output(&reply));
        let count = world.model.requests().len();
        world
            .subscribe(action, condition("interaction", "enforce", "fail_closed"))
            .await;
        let status = if matched { "succeeded" } else { "cancelled" };
        let delivery = world.delivered(action, status).await;
        assert_eq!(delivery["semantic_evaluation"]["matched"], matched, "{action}");
        assert_eq!(world.model.requests().len(), count + 1, "{action}");
    }
}

/// How long a model may be away is tested in memory, where an hour takes no time.
#[tokio::test]
async fn delivery_is_evaluating_while_its_model_is_away_locally() {
    let mut world = Judged::start_local().await;
    world.model.answers(|_| Reply::Throttled(600));
    world
        .subscribe("away", condition("interaction", "enforce", "fail_closed"))
        .await;
    let event = world.send(&json!({ "action": "away" })).await;
    world.model.wait_for_requests(2).await;
    world.events.delivery_of(&event, &["evaluating"]).await;
    world.model.answers(|_| Reply::verdict(true, "It is."));
    let later = faults::ahead_by(1);
    let later = later.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let variables: Vec<_> = world.model.variables().into_iter().chain(later).collect();
    world.events.service.restart_with(&variables);
    world.events.delivery_of(&event, &["succeeded"]).await;
}

#[tokio::test]
async fn without_a_model_the_rule_decides_and_a_retry_evaluates_again_locally() {
    let mut events = Events::start_local().await;
    let channel = events.plain_channel().await;
    for evaluator in EVALUATORS {
        for mode in MODES {
            for rule in RULES {
                let action = format!("{evaluator}-{mode}-{rule}");
                subscribe(&events, &action, condition(evaluator, mode, rule)).await;
                let event = events.event(&channel, &json!({ "action": action })).await;
                let stops = mode == "enforce" && rule == "fail_closed";
                let status = if stops { "failed" } else { "succeeded" };
                let delivery = events.delivery_of(&event, &[status]).await;
                let error = delivery["semantic_evaluation"]["error"].as_str().unwrap();
                assert!(error.contains("No language model is configured."), "{error}");
                let requests = events.receiver.received_at(&format!("/{action}"));
                assert_eq!(requests.len(), usize::from(!stops), "{action}");
            }
        }
    }
    let event = events
        .event(&channel, &json!({ "action": "interaction-enforce-fail_closed" }))
        .await;
    let failed = events.delivery_of(&event, &["failed"]).await;
    let id = failed["id"].as_str().unwrap();
    let model = ModelServer::start().await;
    model.answers(|_| Reply::verdict(true, "It is."));
    events.service.restart_with(&model.variables());
    events.scope.ops(&["delivery", "retry", id]).expect_success();
    let delivery = events.delivery_of(&event, &["succeeded"]).await;
    assert_eq!(delivery["id"], failed["id"]);
    assert_eq!(delivery["semantic_evaluation"]["status"], "matched");
    assert_eq!(delivery["semantic_evaluation"]["error"], Value::Null);
}

#[tokio::test]
async fn a_verdict_is_not_asked_for_again_locally() {
    let world = Judged::start_local().await;
    world.model.answers(|_| Reply::verdict(false, "It is not."));
    world.subscribe("kept", plain()).await;
    let delivery = world.delivered("kept", "cancelled").await;
    // A redrive is only for deliveries that a disabled subscription cancelled.
    let redrive = ["delivery", "redrive", "--status", "cancelled"];
    let refused = world.events.scope.ops(&redrive);
    assert!(
        refused.stdout.contains("does not meet the semantic condition"),
        "{refused:?}"
    );
    assert!(world.events.receiver.received().is_empty());
    world.retry(&delivery).expect_success();
    let event = delivery["event_id"].as_str().unwrap();
    let delivery = world.events.delivery_of(event, &["succeeded"]).await;
    assert_eq!(delivery["semantic_evaluation"]["status"], "not_matched");
    assert_eq!(world.model.requests().len(), 1);
}

#[tokio::test]
async fn a_model_that_fails_for_a_moment_is_asked_again_locally() {
    let world = Judged::start_local().await;
    world.model.answers(|request| match request.number {
        1 => Reply::Status(500),
        2 => Reply::Throttled(0),
        // Longer than a call waits, so the next attempt comes on its own.
        3 => Reply::Throttled(600),
        _ => Reply::verdict(true, "It is."),
    });
    world.subscribe("again", plain()).await;
    let delivery = world.delivered("again", "succeeded").await;
    assert_eq!(delivery["semantic_evaluation"]["matched"], true);
    assert_eq!(delivery["attempt_count"], 1);
    assert_eq!(world.model.requests().len(), 4);
}

#[tokio::test]
async fn a_delivery_is_evaluating_while_the_model_thinks_and_holds_up_no_other_locally() {
    let world = Judged::start_local().await;
    let gate = Arc::new(Notify::new());
    let model_gate = Arc::clone(&gate);
    world.model.answers(move |request| match request.user() {
        text if text.contains("hangs") => Reply::Hangs,
        text if text.contains("slow") => {
            Reply::Held(Arc::clone(&model_gate), Box::new(Reply::verdict(true, "It is.")))
        }
        _ => Reply::verdict(true, "It is."),
    });
    world.subscribe("held", plain()).await;
    let body = |text: &str| json!({ "action": "held", "text": text });
    let slow = world.send(&body("slow")).await;
    let hanging = world.send(&body("hangs")).await;
    world.model.wait_for_requests(2).await;
    for event in [&slow, &hanging] {
        let delivery = world.events.delivery_of(event, &["evaluating"]).await;
        assert_eq!(delivery["semantic_evaluation"], Value::Null);
        assert_eq!(delivery["attempt_count"], 0);
        let refused = world.retry(&delivery).expect_refusal();
        assert!(refused.stderr.contains("is being evaluated"), "{refused:?}");
        let deliveries = world
            .events
            .deliveries(&json!({ "event_id": event, "status": ["evaluating"] }))
            .await;
        assert_eq!(deliveries.len(), 1);
    }
    let quick = world.send(&body("quick")).await;
    world.events.delivery_of(&quick, &["succeeded"]).await;
    gate.notify_one();
    world.events.delivery_of(&slow, &["succeeded"]).await;
    let hung = world.events.delivery_of(&hanging, &["evaluating"]).await;
    let cancel = ["delivery", "cancel", hung["id"].as_str().unwrap()];
    world.events.scope.ops(&cancel).expect_success();
    world.events.delivery_of(&hanging, &["cancelled"]).await;
    assert_eq!(world.events.receiver.received_at("/held").len(), 2);
}

#[tokio::test]
async fn an_evaluation_survives_the_end_of_the_process_locally() {
    let mut world = Judged::start_local().await;
    world.model.answers(|request| match request.number {
        1 => Reply::Hangs,
        _ => Reply::verdict(true, "It is."),
    });
    world.subscribe("killed", plain()).await;
    let event = world.send(&json!({ "action": "killed" })).await;
    world.model.wait_for_requests(1).await;
    world.events.delivery_of(&event, &["evaluating"]).await;
    world.events.service.restart();
    let delivery = world.events.delivery_of(&event, &["succeeded"]).await;
    assert_eq!(delivery["semantic_evaluation"]["matched"], true);
    assert_eq!(world.events.receiver.received_at("/killed").len(), 1);
    world.events.scope.ops(&["check"]).expect_success();
}
