//! Tests the limits of a conversation.

use models::{Answer, StopReason};
use serde_json::{Value, json};
use workflow::status::RunStatus;

use crate::world::{Scripted, agent, calls, conversation, says};

fn input(max_iterations: u32) -> Value {
    json!({ "interaction_ref": "i", "max_iterations": max_iterations })
}

#[test]
fn a_model_that_never_ends_is_stopped() {
    let steps = (0..50).map(|number| Ok(calls(&[("list_runs", json!({ "limit": number % 50 + 1 }))])));
    let model = Scripted::new(steps);
    let outcome = conversation(&model, agent(), &input(7)).run().unwrap();
    assert_eq!(outcome.failure.unwrap().kind, "MaxIterations");
    assert_eq!(model.asked().len(), 7);
}

#[test]
fn the_same_call_again_and_again_is_refused_and_then_ends_the_run() {
    for tool in ["list_runs", "no_such_tool"] {
        let model = Scripted::new([Ok(calls(&[(tool, json!({}))]))]);
        let outcome = conversation(&model, agent(), &input(100)).run().unwrap();
        assert_eq!(outcome.failure.unwrap().kind, "ToolLoop", "{tool}");
        assert_eq!(model.asked().len(), 7);
    }
    let model = Scripted::new([Ok(calls(&[("list_runs", json!({}))]))]);
    conversation(&model, agent(), &input(100)).run().unwrap();
    assert!(
        model.results(4)[0].0.contains("this very call"),
        "{:?}",
        model.results(4)
    );
}

#[test]
fn empty_answers_end_the_run() {
    let model = Scripted::new([Ok(says(" \n"))]);
    let outcome = conversation(&model, agent(), &input(20)).run().unwrap();
    assert_eq!(outcome.failure.unwrap().kind, "EmptyAnswer");
    assert_eq!(model.asked().len(), 3);
    let nothing = Answer {
        content: Vec::new(),
        stop: StopReason::End,
        ..says("")
    };
    let model = Scripted::new([Ok(nothing), Ok(says("Done."))]);
    let outcome = conversation(&model, agent(), &input(20)).run().unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
}

#[test]
fn of_very_many_calls_in_one_turn_some_wait() {
    let many: Vec<_> = (0..40)
        .map(|number| ("post_update", json!({ "message": number.to_string() })))
        .collect();
    let model = Scripted::new([Ok(calls(&many)), Ok(says("Done."))]);
    let outcome = conversation(&model, agent(), &input(20)).run().unwrap();
    let posted = outcome
        .updates
        .iter()
        .filter(|update| update.kind == "AGENT_UPDATE");
    assert_eq!(posted.count(), 16);
    assert_eq!(model.results(1).iter().filter(|(_, failed)| *failed).count(), 24);
}

#[test]
fn a_message_that_is_far_too_large_fails_the_run() {
    let model = Scripted::new([Ok(says(&"x".repeat(400_000)))]);
    let outcome = conversation(&model, agent(), &input(20)).run().unwrap();
    assert_eq!(outcome.failure.unwrap().kind, "ModelAnswerTooLarge");
}

#[test]
fn a_long_conversation_continues_as_a_new_run_within_its_bound() {
    let steps = (0..30).map(|number| match number {
        29 => Ok(says("Done.")),
        number => Ok(calls(&[(
            "read_prompt",
            json!({ "prompt_id": number.to_string() }),
        )])),
    });
    let model = Scripted::new(steps);
    let run = conversation(&model, agent(), &input(100));
    // The largest result that the activity returns.
    let large = json!({ "text": "x".repeat(50_000), "is_error": false });
    let outcome = run.mock("agent_tool", move |_| Ok(large.clone())).run().unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
    assert!(outcome.runs.len() > 2, "{} runs", outcome.runs.len());
    assert_eq!(model.asked().len(), 30);
    // The twentieth turn reaches the limit of 1 MB.
    let sizes = model
        .asked()
        .iter()
        .map(|request| serde_json::to_string(&request.messages).unwrap().len())
        .max();
    assert!(sizes.unwrap() < 1_010_000, "{sizes:?}");
    let messages = outcome.query("Conversation").unwrap();
    assert_eq!(messages["messages"][0]["text"], "Work.");
    assert_eq!(outcome.query("__state").unwrap()["turns"], 30);
}
