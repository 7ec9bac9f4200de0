//! Tests the ways in which a conversation ends.

use std::time::Duration;

use models::{Answer, ModelErrorKind, StopReason};
use platform::config::variables;
use prompts::records::interactions::TokenLimit;
use runs::agent::Agent;
use serde_json::{Value, json};
use workflow::status::RunStatus;
use workflow::testing::check_history;

use crate::world::{Scripted, agent, calls, conversation, registry, says, with_schema};

fn input() -> Value {
    json!({ "interaction_ref": "app:helper" })
}

#[test]
fn an_answer_ends_the_run_and_is_its_result() {
    let model = Scripted::new([Ok(says("Done."))]);
    let outcome = conversation(&model, agent(), &input()).run().unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!(outcome.result, Some(json!({ "message": "Done." })));
    assert_eq!(outcome.activities(), ["agent_prepare", "agent_model_turn"]);
    let kinds: Vec<_> = outcome
        .updates
        .iter()
        .map(|update| update.kind.as_str())
        .collect();
    assert_eq!(kinds, ["PROGRESS", "MESSAGE"]);
    let state = outcome.query("__state").unwrap();
    assert_eq!(state["agent"], "Helper");
    assert_eq!(state["usage"]["input_tokens"], 10);
}

fn cut(text: &str) -> Answer {
    Answer {
        stop: StopReason::MaxTokens,
        ..says(text)
    }
}

fn with_limit(on_token_limit: TokenLimit) -> Agent {
    Agent {
        on_token_limit,
        ..agent()
    }
}

#[test]
fn answer_cut_at_the_limit_of_tokens_is_marked() {
    let model = Scripted::new([Ok(cut("The contract runs un"))]);
    let outcome = conversation(&model, agent(), &input()).run().unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
    let marked = json!({ "message": "The contract runs un", "truncated": true });
    assert_eq!(outcome.result, Some(marked));
    let kinds: Vec<_> = outcome
        .updates
        .iter()
        .map(|update| update.kind.as_str())
        .collect();
    assert_eq!(kinds, ["PROGRESS", "WARNING", "MESSAGE"]);
}

#[test]
fn answer_cut_at_the_limit_of_tokens_is_continued_where_the_interaction_says_so() {
    let agent = || with_limit(TokenLimit::Continue);
    let model = Scripted::new([
        Ok(cut("It runs un")),
        Ok(cut("til the end ")),
        Ok(says("of May.")),
    ]);
    let outcome = conversation(&model, agent(), &input()).run().unwrap();
    let whole = json!({ "message": "It runs until the end of May." });
    assert_eq!(outcome.result, Some(whole));
    assert_eq!(model.asked().len(), 3);

    let model = Scripted::new([Ok(cut("on and "))]);
    let outcome = conversation(&model, agent(), &input()).run().unwrap();
    let result = outcome.result.unwrap();
    assert_eq!(result["truncated"], true);
    assert_eq!(result["message"], "on and on and on and on and on and on and");
    assert_eq!(model.asked().len(), 6);
}

#[test]
fn answer_cut_at_the_limit_of_tokens_fails_where_the_interaction_says_so() {
    let model = Scripted::new([Ok(cut("half"))]);
    let run = conversation(&model, with_limit(TokenLimit::Fail), &input());
    let outcome = run.run().unwrap();
    assert_eq!(outcome.status, RunStatus::Failed);
    assert_eq!(outcome.failure.unwrap().kind, "AnswerCutOff");
    assert_eq!(model.asked().len(), 1);
}

#[test]
fn a_result_that_does_not_fit_is_repaired_once() {
    let finish = |total: Value| {
        Ok(calls(&[(
            "finish",
            json!({ "result": { "total": total }, "message": "m" }),
        )]))
    };
    let model = Scripted::new([finish(json!("7")), finish(json!(7))]);
    let outcome = conversation(&model, with_schema(), &input()).run().unwrap();
    assert_eq!(
        outcome.result,
        Some(json!({ "message": "m", "output": { "total": 7 } }))
    );
    let (told, failed) = &model.results(1)[0];
    assert!(*failed && told.contains("at '/total'"), "{told}");

    let model = Scripted::new([finish(json!("7"))]);
    let failure = conversation(&model, with_schema(), &input())
        .run()
        .unwrap()
        .failure
        .unwrap();
    assert_eq!(failure.kind, "OutputInvalid");
    assert_eq!(model.asked().len(), 2);
}

#[test]
fn a_result_that_is_written_rather_than_given_counts() {
    let model = Scripted::new([Ok(says("Well, 7.")), Ok(says(r#"{ "total": 7 }"#))]);
    let outcome = conversation(&model, with_schema(), &input()).run().unwrap();
    assert_eq!(outcome.result.unwrap()["output"], json!({ "total": 7 }));
}

#[test]
fn without_a_model_the_run_fails_and_says_what_to_set() {
    let model = Scripted::new([Err(ModelErrorKind::NotConfigured)]);
    let outcome = conversation(&model, agent(), &input()).run().unwrap();
    assert_eq!(outcome.status, RunStatus::Failed);
    let failure = outcome.failure.unwrap();
    assert_eq!(failure.kind, "ModelNotConfigured");
    for variable in [
        variables::MODEL_PROVIDER.name,
        variables::MODEL.name,
        variables::MODEL_BASE_URL.name,
    ] {
        assert!(failure.message.contains(variable), "{}", failure.message);
    }
    assert_eq!(model.asked().len(), 1);
}

#[test]
fn a_model_that_fails_for_a_while_is_asked_again() {
    let passing = [
        ModelErrorKind::Throttled,
        ModelErrorKind::Unavailable,
        ModelErrorKind::Timeout,
        ModelErrorKind::BadAnswer,
    ];
    let steps = passing.into_iter().map(Err).chain([Ok(says("Done."))]);
    let outcome = conversation(&Scripted::new(steps), agent(), &input())
        .run()
        .unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);

    for (kind, named, asked) in [
        (ModelErrorKind::Unavailable, "ModelUnavailable", 6),
        (ModelErrorKind::Throttled, "ModelThrottled", 6),
        (ModelErrorKind::BadAnswer, "ModelBadAnswer", 6),
        (ModelErrorKind::BadRequest, "ModelBadRequest", 1),
    ] {
        let model = Scripted::new([Err(kind)]);
        let failure = conversation(&model, agent(), &input())
            .run()
            .unwrap()
            .failure
            .unwrap();
        assert_eq!((failure.kind.as_str(), model.asked().len()), (named, asked));
    }
}

#[test]
fn an_unknown_interaction_and_bad_input_fail_the_run() {
    let model = Scripted::new([Ok(says("x"))]);
    for (input, kind) in [
        (json!({ "interaction_ref": "missing" }), "not_found"),
        (json!({ "max_iterations": 0 }), "InvalidInput"),
        (json!({ "max_iterations": 101 }), "InvalidInput"),
        (json!({ "data": "text" }), "InvalidPayload"),
        (json!({ "visibility": "secret" }), "InvalidPayload"),
    ] {
        let outcome = conversation(&model, agent(), &input).run().unwrap();
        assert_eq!(outcome.failure.unwrap().kind, kind, "{input}");
    }
    assert!(model.asked().is_empty());
}

#[test]
fn a_refusal_of_the_model_ends_the_run() {
    let mut refusal = says("I cannot.");
    refusal.stop = StopReason::Refused;
    let failure = conversation(&Scripted::new([Ok(refusal)]), agent(), &input())
        .run()
        .unwrap()
        .failure;
    assert_eq!(failure.unwrap().kind, "ModelRefused");
}

#[test]
fn a_cancelled_run_asks_no_further() {
    let model = Scripted::new([Ok(calls(&[("list_runs", json!({}))])), Ok(says("Done."))]);
    let outcome = conversation(&model, agent(), &input())
        .taking("agent_tool", Duration::from_secs(10))
        .cancel_at(Duration::from_secs(5), "Not wanted.")
        .run()
        .unwrap();
    assert_eq!(outcome.status, RunStatus::Canceled);
    assert_eq!(model.asked().len(), 1);
}

/// After a crash at any point of the history, the next process produces the same result.
#[test]
fn the_run_is_the_same_after_a_crash_at_any_step() {
    let model = Scripted::new([
        Ok(calls(&[
            ("list_runs", json!({})),
            ("post_update", json!({ "message": "Half." })),
        ])),
        Ok(says("")),
        Ok(calls(&[("ask_user", json!({ "question": "Which?" }))])),
        Ok(says("Done.")),
    ]);
    let registry = registry(&model, agent());
    let outcome = workflow::testing::TestRun::new(&registry, "AgentConversation", &input())
        .signal_at(
            Duration::from_secs(60),
            "UserInput",
            &json!({ "message": "The first." }),
        )
        .run()
        .unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
    let history = &outcome.history;
    // A command is written in the same write as the event that caused it.
    let is_written = |end: &usize| history.get(*end).is_none_or(|next| !next.kind.is_command());
    let ends: Vec<_> = (1..=history.len()).filter(is_written).collect();
    assert!(ends.len() > 10, "{ends:?}");
    for end in ends {
        check_history(&registry, &history[..end]).unwrap();
    }
}
