//! Tests the kit with code that uses each feature of the engine.

use std::sync::atomic::{AtomicU32, Ordering};

use platform::{Tenant, UtcTime};
use serde_json::json;

use super::*;
use crate::draft::Draft;
use crate::engine::advance::take_turn;
use crate::future::{Either, join_all, select};
use crate::options::RetryPolicy;
use crate::registry::ActivityContext;
use crate::state::{About, RunState};
use crate::stub::WorkflowType;
use crate::turn::Context;

const SECOND: Duration = Duration::from_secs(1);

fn registry() -> Registry {
    async fn add(_: ActivityContext, numbers: (u32, u32)) -> Result<u32, Failure> {
        tokio::task::yield_now().await;
        Ok(numbers.0 + numbers.1)
    }
    async fn sum(context: Context, numbers: Vec<u32>) -> Result<u32, Failure> {
        let mut sum = 0;
        for number in numbers {
            sum = context.activity("add", &(sum, number)).await?;
        }
        Ok(sum)
    }
    async fn patient(context: Context, policy: RetryPolicy) -> Result<Value, Failure> {
        let call = context.activity("work", &()).retry(policy);
        call.start_to_close(SECOND * 10).await
    }
    async fn approval(context: Context, (): ()) -> Result<String, Failure> {
        context.answer("State", || "waiting");
        let scope = context.scope();
        let signals = context.signals("Approve");
        match select(signals.receive(), scope.timer(SECOND * 3_600)).await {
            Either::Left((signal, _)) => {
                scope.cancel();
                context.publish("PROGRESS", "approved", Value::Null);
                signal
            }
            Either::Right((fired, _)) => fired.map(|()| "late".to_owned()),
        }
    }
    async fn family(context: Context, inputs: Vec<Value>) -> Result<Vec<String>, Failure> {
        let children = inputs
            .iter()
            .map(|input| context.child::<Value>("Approval", input));
        let results = join_all(children.map(IntoFuture::into_future)).await;
        Ok(results.iter().map(|result| format!("{result:?}")).collect())
    }
    async fn rounds(context: Context, round: u32) -> Result<u32, Failure> {
        context.publish("PROGRESS", "round", round.into());
        context.timer(SECOND).await?;
        match context.signals("Done").try_receive::<()>() {
            Some(_) => Ok(round),
            None => Err(context.continue_as_new(&(round + 1))),
        }
    }
    Registry::new()
        .activity("add", add)
        .workflow("Sum", sum)
        .workflow("Patient", patient)
        .workflow("Approval", approval)
        .workflow("Family", family)
        .workflow("Rounds", rounds)
}

#[test]
fn registered_activities_run() {
    let outcome = TestRun::new(&registry(), "Sum", &[1, 2, 3]).run().unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!(outcome.result, Some(json!(6)));
    assert_eq!(outcome.history.len(), 1 + 3 * 3 + 1);
    let again = TestRun::new(&registry(), "Sum", &[1, 2, 3]).run().unwrap();
    assert_eq!(outcome.history, again.history);
}

#[test]
fn attempts_follow_the_retry_policy_without_waiting() {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let outcome = TestRun::new(&registry(), "Patient", &RetryPolicy::default())
        .mock("work", move |_| {
            match counted.fetch_add(1, Ordering::Relaxed) + 1 {
                5 => Ok(json!("done")),
                _ => Err(Failure::new("Busy", "Not yet.")),
            }
        })
        .run()
        .unwrap();
    assert_eq!(outcome.result, Some(json!("done")));
    assert_eq!(calls.load(Ordering::Relaxed), 5);
    let EventKind::ActivityTaskStarted { attempt, .. } = outcome.history[2].kind else {
        panic!("{:?}", outcome.history);
    };
    assert_eq!(attempt, 5);
    let took = outcome.history[3].time.millis_since(outcome.history[0].time);
    assert_eq!(took, 1_000 + 2_000 + 4_000 + 8_000);
}

#[test]
fn the_last_attempt_decides() {
    let fails = |failure: Failure, policy: RetryPolicy| {
        let run = TestRun::new(&registry(), "Patient", &policy);
        run.mock("work", move |_| Err(failure.clone())).run()
    };
    let outcome = fails(Failure::new("Busy", "Not yet."), RetryPolicy::attempts(3)).unwrap();
    assert_eq!(outcome.status, RunStatus::Failed);
    let failure = outcome.failure.unwrap();
    assert_eq!(
        (failure.kind.as_str(), failure.source.as_deref()),
        ("Busy", Some("work"))
    );
    let permanent = fails(Failure::permanent("Gone", "Never."), RetryPolicy::default()).unwrap();
    assert_eq!(permanent.failure.unwrap().kind, "Gone");
    let endless = fails(Failure::new("Busy", "Not yet."), RetryPolicy::default());
    insta::assert_snapshot!(endless.err().unwrap(), @"Stuck: The activity 'work' failed 1000 times, the last time so: Busy: Not yet.");
}

#[test]
fn an_attempt_that_takes_too_long_times_out() {
    let run = |taking| {
        TestRun::new(&registry(), "Patient", &RetryPolicy::none())
            .mock("work", |_| Ok(Value::Null))
            .taking("work", taking)
            .run()
            .unwrap()
    };
    assert_eq!(run(SECOND * 10).status, RunStatus::Completed);
    assert_eq!(run(SECOND * 11).failure.unwrap().kind, "StartToCloseTimeout");
}

#[test]
fn each_timeout_of_an_activity_is_a_failure_of_its_own() {
    async fn silent(context: Context, (): ()) -> Result<Value, Failure> {
        let call = context.activity("work", &()).heartbeat(SECOND * 3);
        call.retry(RetryPolicy::none()).await
    }
    async fn limited(context: Context, (): ()) -> Result<Value, Failure> {
        let call = context.activity("work", &()).schedule_to_close(SECOND * 3);
        call.start_to_close(SECOND * 10).await
    }
    let registry = Registry::new()
        .workflow("Silent", silent)
        .workflow("Limited", limited);
    for (workflow_type, kind) in [
        ("Silent", "HeartbeatTimeout"),
        ("Limited", "ScheduleToCloseTimeout"),
    ] {
        let run = TestRun::new(&registry, workflow_type, &()).mock("work", |_| Ok(Value::Null));
        let outcome = run.taking("work", SECOND * 5).run().unwrap();
        assert_eq!(outcome.failure.unwrap().kind, kind);
    }
}

#[test]
fn the_start_of_an_attempt_is_shown_when_it_began_and_not_when_it_ended() {
    let run = TestRun::new(&registry(), "Patient", &RetryPolicy::none()).mock("work", |_| Ok(Value::Null));
    let outcome = run.taking("work", SECOND * 7).run().unwrap();
    let shown = crate::views::history_events(&outcome.history);
    let at = |name: &str| {
        let event = shown
            .iter()
            .find(|event| event.event_type.ends_with(name))
            .unwrap();
        event.event_time.millis_since(outcome.history[0].time)
    };
    assert_eq!((at("TASK_STARTED"), at("TASK_COMPLETED")), (0, 7_000));
}

#[test]
fn two_functions_of_one_name_are_refused_with_both_of_them() {
    async fn charge(_: ActivityContext, (): ()) -> Result<(), Failure> {
        Ok(())
    }
    async fn refund(_: ActivityContext, (): ()) -> Result<(), Failure> {
        Ok(())
    }
    async fn order(_: Context, (): ()) -> Result<(), Failure> {
        Ok(())
    }
    assert!(
        Registry::new()
            .activity("order", charge)
            .workflow("order", order)
            .check()
            .is_ok()
    );
    let registry = Registry::new().activity("pay", charge).activity("pay", refund);
    let refusal = registry.check().unwrap_err().to_string();
    assert!(
        refusal.starts_with("Two activities are registered as 'pay': "),
        "{refusal}"
    );
    assert!(
        refusal.contains("::charge and ") && refusal.contains("::refund. "),
        "{refusal}"
    );
    let registry = Registry::new().workflow("Order", order).workflow("Order", order);
    let refusal = registry.check().unwrap_err().to_string();
    assert!(
        refusal.starts_with("Two workflow types are registered as 'Order': "),
        "{refusal}"
    );
    assert!(TestRun::new(&registry, "Order", &()).run().is_err());
}

#[test]
fn signals_and_queries_that_a_type_does_not_declare_fail_its_test() {
    async fn approval(context: Context, (): ()) -> Result<String, Failure> {
        context.answer("State", || "waiting");
        context.signals("Approve").receive().await
    }
    let outcome = |declared: WorkflowType<(), String>| {
        let registry = Registry::new().workflow(declared, approval);
        let run = TestRun::new(&registry, declared.name(), &());
        let run = run.signal_at(SECOND, "Approve", "yes").run();
        run.map(|outcome| outcome.result)
            .map_err(|failure| failure.to_string())
    };
    const BARE: WorkflowType<(), String> = WorkflowType::new("Approval");
    assert_eq!(
        outcome(BARE.signals(&["Approve"]).queries(&["State"])),
        Ok(Some(json!("yes")))
    );
    insta::assert_snapshot!(outcome(BARE.queries(&["State"])).unwrap_err(), @"Stuck: The workflow type 'Approval' listens for the signal 'Approve' without declaring it: add it to `.signals(&[…])` of its WorkflowType.");
    insta::assert_snapshot!(outcome(BARE.signals(&["Approve"])).unwrap_err(), @"Stuck: The workflow type 'Approval' answers the query 'State' without declaring it: add it to `.queries(&[…])` of its WorkflowType.");
}

#[test]
fn a_cancelled_run_does_not_wait_for_its_activity() {
    let outcome = TestRun::new(&registry(), "Patient", &RetryPolicy::none())
        .mock("work", |_| Ok(Value::Null))
        .taking("work", SECOND * 5)
        .cancel_at(SECOND * 2, "no longer wanted")
        .run()
        .unwrap();
    assert_eq!(outcome.status, RunStatus::Canceled);
    let took = outcome
        .history
        .last()
        .unwrap()
        .time
        .millis_since(outcome.history[0].time);
    assert_eq!(took, 2_000);
}

#[test]
fn missing_parts_are_named() {
    let missing = TestRun::new(&registry(), "Patient", &RetryPolicy::none()).run();
    insta::assert_snapshot!(missing.err().unwrap(), @"Stuck: No activity 'work' is registered, and none stands in for it.");
    let unknown = TestRun::new(&registry(), "Nothing", &()).run();
    insta::assert_snapshot!(unknown.err().unwrap(), @"Stuck: There is no workflow type 'Nothing'; there are Approval, Family, Patient, Rounds, Sum.");
}

#[test]
fn signals_timers_and_queries_have_their_time() {
    let run = || TestRun::new(&registry(), "Approval", &());
    let signaled = run()
        .signal_at(SECOND * 5, "Approve", "yes")
        .query_at(SECOND, "State");
    let outcome = signaled.run().unwrap();
    assert_eq!(outcome.result, Some(json!("yes")));
    assert_eq!(outcome.answers, [Ok(json!("waiting"))]);
    assert_eq!(outcome.query("State").unwrap(), "waiting");
    assert_eq!(outcome.query("Other").unwrap_err().kind, "UnknownQuery");
    assert_eq!(outcome.updates.len(), 1);
    assert_eq!(
        outcome.event_names(),
        [
            "WORKFLOW_EXECUTION_STARTED",
            "TIMER_STARTED",
            "WORKFLOW_EXECUTION_SIGNALED",
            "TIMER_CANCELED",
            "WORKFLOW_EXECUTION_COMPLETED"
        ]
    );
    let late = run()
        .signal_at(SECOND * 3_601, "Approve", "too late")
        .run()
        .unwrap();
    assert_eq!(late.result, Some(json!("late")));
    let unfinished = run().until(SECOND * 60).run().unwrap();
    assert_eq!(unfinished.status, RunStatus::Running);
    assert_eq!(unfinished.waiting, ["timer of 3600000 ms", "signal Approve"]);
}

#[test]
fn child_runs_are_runs_or_mocks() {
    let run = |inputs: Value| TestRun::new(&registry(), "Family", &inputs);
    let real = run(json!([null, 7])).run().unwrap();
    insta::assert_json_snapshot!(real.result, @r#"
    [
      "Ok(String(\"late\"))",
      "Err(Failure { message: \"The value is not as the code reads it: invalid type, expected unit at line 1 column 1.\", kind: \"InvalidPayload\", source: Some(\"Approval\"), details: None, non_retryable: false, continue_as_new: None })"
    ]
    "#);
    assert_eq!(real.runs.len(), 3);
    let mocked = run(json!([1, 2]))
        .mock_child("Approval", |input| Ok(json!([input])))
        .run()
        .unwrap();
    assert_eq!(
        mocked.result,
        Some(json!(["Ok(Array [Number(1)])", "Ok(Array [Number(2)])"]))
    );
    let canceled = run(json!([null])).cancel_at(SECOND, "").run().unwrap();
    assert_eq!(canceled.status, RunStatus::Canceled);
    assert_eq!(canceled.runs[1].status, RunStatus::Canceled);
}

#[test]
fn a_run_that_continues_as_new_is_followed() {
    let outcome = TestRun::new(&registry(), "Rounds", &1)
        .signal_at(SECOND * 3 + SECOND / 2, "Done", &())
        .run()
        .unwrap();
    assert_eq!(outcome.result, Some(json!(4)));
    assert_eq!(outcome.updates.len(), 4);
    assert_eq!(outcome.runs.len(), 4);
    assert!(
        outcome.runs[..3]
            .iter()
            .all(|run| run.status == RunStatus::ContinuedAsNew)
    );
    let endless = TestRun::new(&registry(), "Rounds", &1).run();
    insta::assert_snapshot!(endless.err().unwrap(), @"Stuck: 100000 turns were made; `until` ends a test of code that goes on.");
}

#[test]
fn a_cancel_request_during_continue_as_new_reaches_the_new_run() {
    let outcome = TestRun::new(&registry(), "Rounds", &1)
        .cancel_at(SECOND, "no longer wanted")
        .run()
        .unwrap();
    assert_eq!(outcome.status, RunStatus::Canceled);
    assert_eq!(outcome.runs.len(), 1);
    // Here the timer fires and the code returns before it sees the request.
    let mut draft = Draft::new(RunState::new(&tenant(), "r", About::default()), UtcTime::EPOCH);
    draft.append(outcome.history[0].kind.clone());
    draft.append(outcome.history[1].kind.clone());
    draft.turned();
    draft.append(EventKind::TimerFired { started_event_id: 2 });
    draft.append(EventKind::WorkflowExecutionCancelRequested {
        reason: Some("no longer wanted".to_owned()),
        identity: "user:u".to_owned(),
    });
    let history = draft.state.tail.clone();
    let turn = replay(&registry(), &history, draft.state.processed, None).unwrap();
    let next = take_turn(&tenant(), &mut draft, &history, turn, &registry())
        .unwrap()
        .unwrap();
    assert_eq!(draft.state.status, RunStatus::ContinuedAsNew);
    assert!(next.state.cancel_requested);
    assert_eq!(next.state.tail[1].kind, history[3].kind);
}

fn tenant() -> Tenant {
    Tenant::new("account", "project").unwrap()
}

#[test]
fn code_that_depends_on_chance_is_found_out() {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let registry = Registry::new().workflow("Chance", |context: Context, (): ()| async move {
        let seconds = CALLS.fetch_add(1, Ordering::Relaxed);
        if seconds.is_multiple_of(2) {
            context.timer(SECOND).await
        } else {
            context.activity("other", &()).await
        }
    });
    let failure = TestRun::new(&registry, "Chance", &()).run().err().unwrap();
    insta::assert_snapshot!(failure, @"NonDeterministic: The history has TIMER_STARTED of 1000 ms (id 1) at event 2; the code asks for ACTIVITY_TASK_SCHEDULED of 'other' (id 1) there.");
}

#[test]
fn a_history_is_held_against_the_code_of_today() {
    let outcome = TestRun::new(&registry(), "Sum", &[1, 2]).run().unwrap();
    check_history(&registry(), &outcome.history).unwrap();
    let cut = &outcome.history[..4];
    insta::assert_snapshot!(check_history(&registry(), cut).unwrap_err(), @"NonDeterministic: After event 4 the code asks for ACTIVITY_TASK_SCHEDULED of 'add' (id 2), of which the history has nothing.");
    let mut terminated = cut.to_vec();
    terminated.push(Event {
        id: 5,
        time: cut[3].time,
        kind: EventKind::WorkflowExecutionTimedOut {},
    });
    check_history(&registry(), &terminated).unwrap();
    assert!(check_history(&registry(), &[]).is_err());
}
