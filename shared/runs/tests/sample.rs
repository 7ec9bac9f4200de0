//! Tests the corpus with `Echo`, a small type with signals, timers, retries and patches.

#![cfg(test)]

mod echo;

use std::fs;
use std::time::Duration;

use echo::echo;
use serde_json::json;
use workflow::event::Event;
use workflow::status::RunStatus;
use workflow::testing::{TestRun, check_history};
use workflow::{Context, Failure, Registry};

/// Registers only the activity of `Echo`, for other code of the type.
fn without_echo() -> Registry {
    echo::add(Registry::new()).without_workflow("Echo")
}

async fn echo_with_check(context: Context, name: String) -> Result<String, Failure> {
    if context.patched("check-first") {
        context.activity::<()>("check", &name).await?;
    }
    echo(context, name).await
}

#[test]
fn the_input_comes_back() {
    let registry = echo::add(Registry::new());
    let outcome = TestRun::new(&registry, "Echo", "Ada")
        .mock("send", |text| Ok(json!(format!("{}!", text.as_str().unwrap()))))
        .query_at(Duration::from_secs(1), "State")
        .signal_at(Duration::from_secs(5), "Say", &json!({"message": "hello"}))
        .run()
        .unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!(outcome.result, Some(json!("Ada said hello!")));
    assert_eq!(outcome.answers, [Ok(json!("waiting"))]);
    assert_eq!(outcome.updates[0].details, Some(json!("hello")));
}

#[test]
fn an_hour_is_not_waited_for() {
    let registry = echo::add(runs::registry());
    let outcome = TestRun::new(&registry, "Echo", "Ada").run().unwrap();
    assert_eq!(outcome.result, Some(json!("Ada said nothing")));
    assert_eq!(outcome.query("State").unwrap(), "sending");
}

#[test]
fn three_attempts_are_made() {
    let registry = echo::add(Registry::new());
    let run = TestRun::new(&registry, "Echo", "Ada").mock("send", |_| Err(Failure::new("Busy", "Later.")));
    let outcome = run.run().unwrap();
    assert_eq!(outcome.failure.unwrap().kind, "Busy");
    let took = outcome
        .history
        .last()
        .unwrap()
        .time
        .millis_since(outcome.history[0].time);
    assert_eq!(took, 3_600_000 + 1_000 + 2_000);
}

#[test]
fn a_patch_is_for_new_runs_and_leaves_the_old_ones_alone() {
    let patched = without_echo().workflow("Echo", echo_with_check);
    let old = fs::read_to_string("tests/corpus/Echo-signal.json").unwrap();
    let old: Vec<Event> = serde_json::from_str(&old).unwrap();
    check_history(&patched, &old).unwrap();
    let new = TestRun::new(&patched, "Echo", "Ada")
        .mock("check", |_| Ok(json!(null)))
        .run()
        .unwrap();
    assert_eq!(new.status, RunStatus::Completed);
    assert_eq!(new.event_names()[1], "MARKER_RECORDED");
    assert!(check_history(&echo::add(Registry::new()), &new.history).is_err());
    // This is right once no run is left that took the old path.
    let settled = without_echo().workflow("Echo", |context: Context, name: String| async {
        context.deprecate_patch("check-first");
        context.activity::<()>("check", &name).await?;
        echo(context, name).await
    });
    check_history(&settled, &new.history).unwrap();
    assert!(check_history(&settled, &old).is_err());
    // A forgotten check of the patch further down does no harm.
    let halfway = without_echo().workflow("Echo", |context: Context, name: String| async {
        context.deprecate_patch("check-first");
        echo_with_check(context, name).await
    });
    let newer = TestRun::new(&halfway, "Echo", "Ada").mock("check", |_| Ok(json!(null)));
    assert_eq!(newer.run().unwrap().status, RunStatus::Completed);
    check_history(&halfway, &new.history).unwrap();
    let newest = TestRun::new(&settled, "Echo", "Ada")
        .mock("check", |_| Ok(json!(null)))
        .run()
        .unwrap();
    assert!(!newest.event_names().contains(&"MARKER_RECORDED"));
}
