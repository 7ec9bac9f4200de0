//! Tests types that interpret programs, local work, and runs that continue as another type.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;

use super::*;
use crate::turn::{Context, Local};

/// Does local work, then waits, so that a second turn replays it.
fn working(calls: &Arc<AtomicU32>, keep: bool) -> Registry {
    let calls = Arc::clone(calls);
    Registry::new().workflow("Working", move |context: Context, (): ()| {
        let calls = Arc::clone(&calls);
        async move {
            let work = || Local {
                value: calls.fetch_add(1, Ordering::Relaxed),
                keep,
            };
            let first = context.local(work)?;
            context.timer(Duration::from_secs(1)).await?;
            Ok(json!({ "first": first }))
        }
    })
}

#[test]
fn a_kept_result_of_local_work_is_read_by_each_replay() {
    let calls = Arc::new(AtomicU32::new(7));
    let outcome = TestRun::new(&working(&calls, true), "Working", &())
        .run()
        .unwrap();
    assert_eq!(outcome.result, Some(json!({ "first": 7 })));
    assert_eq!(calls.load(Ordering::Relaxed), 8, "the work was done once");
    assert_eq!(outcome.event_names()[1], "MARKER_RECORDED");
    check_history(&working(&calls, true), &outcome.history).unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 8);
}

#[test]
fn local_work_that_is_not_kept_leaves_no_event_and_is_done_by_each_replay() {
    let calls = Arc::new(AtomicU32::new(7));
    let outcome = TestRun::new(&working(&calls, false), "Working", &())
        .run()
        .unwrap();
    assert!(!outcome.event_names().contains(&"MARKER_RECORDED"));
    assert!(calls.load(Ordering::Relaxed) > 8);
}

#[test]
fn work_that_becomes_slow_during_a_replay_is_not_recorded_there() {
    let calls = Arc::new(AtomicU32::new(0));
    let outcome = TestRun::new(&working(&calls, false), "Working", &())
        .run()
        .unwrap();
    check_history(&working(&calls, true), &outcome.history).unwrap();
}

fn interpreting() -> Registry {
    Registry::new()
        .workflow("Judging", |context: Context, deliver: bool| async move {
            match deliver {
                true => {
                    let program = Some("sha256:1".to_owned());
                    Err::<(), _>(context.continue_as("Interpreting", program, &json!({ "a": 1 })))
                }
                false => Ok(()),
            }
        })
        .unannounced("Judging")
        .workflow("Interpreting", |context: Context, input: Value| async move {
            if input["a"] == json!(1) {
                return Err(context.continue_as_new(&json!({ "a": 2 })));
            }
            let child = context.child::<Value>("Child", &());
            let child = child.program("sha256:2").await?;
            Ok(json!([context.program(), input, child]))
        })
        .workflow("Child", |context: Context, (): ()| async move {
            Ok(context.program())
        })
}

#[test]
fn a_run_continues_as_a_run_of_another_type_with_its_program() {
    let outcome = TestRun::new(&interpreting(), "Judging", &true).run().unwrap();
    assert_eq!(outcome.result, Some(json!(["sha256:1", { "a": 2 }, "sha256:2"])));
    let types: Vec<_> = outcome
        .runs
        .iter()
        .map(|run| run.workflow_type.as_str())
        .collect();
    assert_eq!(types, ["Judging", "Interpreting", "Interpreting", "Child"]);
    assert!(outcome.runs[..3].iter().all(|run| run.workflow_id == "test"));
}

#[test]
fn a_run_is_given_its_program_at_the_start() {
    let run = TestRun::new(&interpreting(), "Child", &()).program("sha256:3");
    assert_eq!(run.run().unwrap().result, Some(json!("sha256:3")));
    let long = TestRun::new(&interpreting(), "Child", &()).program(&"x".repeat(201));
    assert!(long.run().is_err());
}
