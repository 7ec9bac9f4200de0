//! Tests user messages in a conversation.

use std::time::Duration;

use models::Message;
use serde_json::{Value, json};
use workflow::status::RunStatus;

use crate::world::{Scripted, agent, calls, conversation, says};

const MINUTE: Duration = Duration::from_secs(60);

fn input(interactive: bool) -> Value {
    json!({ "interaction_ref": "i", "interactive": interactive, "max_iterations": 2 })
}

#[test]
fn a_question_waits_for_its_answer() {
    let model = Scripted::new([
        Ok(calls(&[("ask_user", json!({ "question": "Which one?" }))])),
        Ok(says("Done.")),
    ]);
    let outcome = conversation(&model, agent(), &input(false))
        .query_at(MINUTE, "__state")
        .signal_at(
            MINUTE * 2,
            "UserInput",
            &json!({ "message": "The first.", "choice": 1 }),
        )
        .run()
        .unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
    let question = outcome
        .updates
        .iter()
        .find(|update| update.kind == "QUESTION")
        .unwrap();
    assert_eq!(question.message, "Which one?");
    let state = outcome.answers[0].as_ref().unwrap();
    assert_eq!(
        (&state["waits_for"], &state["last_tool"]),
        (&json!("UserInput"), &json!("ask_user"))
    );
    let (told, failed) = &model.results(1)[0];
    assert!(
        !failed && told.contains("The first.") && told.contains("choice"),
        "{told}"
    );
}

#[test]
fn an_interactive_run_waits_for_the_user_after_each_answer() {
    let model = Scripted::new([Ok(says("One.")), Ok(says("Two.")), Ok(says("Three."))]);
    let run = conversation(&model, agent(), &input(true));
    let run = run.signal_at(MINUTE, "UserInput", &json!({ "message": "More." }));
    // An empty message changes nothing.
    let run = run.signal_at(MINUTE * 2, "UserInput", &json!({ "message": "  " }));
    let run = run
        .signal_at(MINUTE * 3, "UserInput", "And more.")
        .query_at(MINUTE * 4, "Conversation");
    let outcome = run.run().unwrap();
    assert_eq!(outcome.status, RunStatus::Running);
    let messages = outcome.answers[0].as_ref().unwrap()["messages"].clone();
    let texts: Vec<_> = messages
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["text"].clone())
        .collect();
    assert_eq!(texts, ["Work.", "One.", "More.", "Two.", "And more.", "Three."]);
    // Three turns in spite of a maximum of two: each user message allows further ones.
    assert_eq!(model.asked().len(), 3);
}

#[test]
fn a_word_that_comes_during_a_turn_is_heard_before_the_run_ends() {
    let model = Scripted::new([Ok(says("One.")), Ok(says("Two."))]);
    let outcome = conversation(&model, agent(), &input(false))
        .taking("agent_model_turn", MINUTE / 3)
        .signal_at(MINUTE / 6, "UserInput", &json!({ "message": "Wait, more." }))
        .run()
        .unwrap();
    assert_eq!(outcome.result, Some(json!({ "message": "Two." })));
    assert_eq!(
        model.asked()[1].messages.last(),
        Some(&Message::user("Wait, more."))
    );
}

#[test]
fn a_waiting_run_can_be_cancelled() {
    let model = Scripted::new([Ok(says("One."))]);
    let outcome = conversation(&model, agent(), &input(true))
        .cancel_at(MINUTE, "Enough.")
        .run()
        .unwrap();
    assert_eq!(outcome.status, RunStatus::Canceled);
}
