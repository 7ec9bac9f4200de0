//! Tests turns of code over histories made by hand.

use std::rc::Rc;
use std::time::Duration;

use platform::UtcTime;
use serde_json::Value;

use super::*;
use crate::event::{Event, Started};
use crate::future::{Either, join_all, select};
use crate::registry::Registry;
use crate::turn_failure::TurnFailureKind;

/// A history that grows as in the engine.
#[derive(Clone)]
pub(super) struct Run {
    code: Code,
    pub history: Vec<Event>,
    processed: u64,
    updates: Vec<NewUpdate>,
}

impl Run {
    pub fn start<I, O, F, R>(code: F, input: &str) -> Self
    where
        I: serde::de::DeserializeOwned,
        O: serde::Serialize,
        F: Fn(Context, I) -> R + Clone + Send + Sync + 'static,
        R: Future<Output = Result<O, Failure>> + 'static,
    {
        let mut run = Self {
            code: code_of(code),
            history: Vec::new(),
            processed: 0,
            updates: Vec::new(),
        };
        run.append(EventKind::WorkflowExecutionStarted(Box::new(Started {
            workflow_type: "T".to_owned(),
            workflow_id: "w".to_owned(),
            run_id: "r".to_owned(),
            input: serde_json::from_str::<Value>(input)
                .map(|input| Payload::from_value(&input).unwrap())
                .unwrap(),
            initiated_by: "user:u".to_owned(),
            ..Started::default()
        })));
        run
    }

    pub fn append(&mut self, kind: EventKind) -> u64 {
        let id = self.history.len() as u64 + 1;
        let time = UtcTime::EPOCH.plus_ms(id * 1_000);
        self.history.push(Event { id, time, kind });
        id
    }

    fn replay(&self, query: Option<&str>) -> Result<Turn, TurnFailure> {
        let replay = Replay {
            history: &self.history,
            processed: self.processed,
            query,
            abort: None,
        };
        make_turn(&self.code, replay)
    }

    /// Makes a turn and appends its events to the history. Returns the names of the new events.
    pub fn turn(&mut self) -> Vec<&'static str> {
        let turn = self.replay(None).unwrap();
        let names = turn.events.iter().map(EventKind::name).collect();
        for kind in turn.events {
            self.append(kind);
        }
        self.updates.extend(turn.updates);
        self.processed = self.history.len() as u64;
        // A replay over the new events must not repeat a command or an update message.
        let again = self.replay(None).unwrap();
        assert_eq!((again.events, again.updates), (vec![], vec![]));
        names
    }

    fn scheduled(&self, name: &str) -> u64 {
        let found = self.history.iter().rev().find(
            |event| matches!(&event.kind, EventKind::ActivityTaskScheduled { name: had, .. } if had == name),
        );
        found.unwrap().id
    }

    pub fn complete(&mut self, scheduled: u64, result: &str) {
        self.append(EventKind::ActivityTaskCompleted {
            scheduled_event_id: scheduled,
            started_event_id: 0,
            result: Payload::from_value(result).unwrap(),
        });
    }

    pub fn signal(&mut self, name: &str, text: &str) {
        self.append(EventKind::WorkflowExecutionSignaled {
            name: name.to_owned(),
            input: Payload::from_value(text).unwrap(),
            identity: String::new(),
        });
    }

    fn cancel(&mut self) {
        self.append(EventKind::WorkflowExecutionCancelRequested {
            reason: None,
            identity: String::new(),
        });
    }

    fn failure(&self) -> TurnFailure {
        self.replay(None).unwrap_err()
    }
}

fn code_of<I, O, F, R>(code: F) -> Code
where
    I: serde::de::DeserializeOwned,
    O: serde::Serialize,
    F: Fn(Context, I) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Result<O, Failure>> + 'static,
{
    Registry::new()
        .workflow("T", code)
        .find_workflow("T")
        .unwrap()
        .clone()
}

async fn two_steps(context: Context, name: String) -> Result<String, Failure> {
    let one: String = context.activity("one", &name).await?;
    let two: String = context.activity("two", &one).await?;
    Ok(format!("{one} {two}"))
}

#[test]
fn steps_follow_one_another() {
    let mut run = Run::start(two_steps, "\"x\"");
    assert_eq!(run.turn(), ["ACTIVITY_TASK_SCHEDULED"]);
    assert_eq!(run.replay(None).unwrap().waiting, ["activity one"]);
    run.complete(run.scheduled("one"), "a");
    assert_eq!(run.turn(), ["ACTIVITY_TASK_SCHEDULED"]);
    run.complete(run.scheduled("two"), "b");
    assert_eq!(run.turn(), ["WORKFLOW_EXECUTION_COMPLETED"]);
    let EventKind::WorkflowExecutionCompleted { result } = &run.history.last().unwrap().kind else {
        panic!("{:?}", run.history);
    };
    assert_eq!(result.json(), "\"a b\"");
}

#[test]
fn an_input_of_another_shape_fails_the_run() {
    let mut run = Run::start(two_steps, "7");
    assert_eq!(run.turn(), ["WORKFLOW_EXECUTION_FAILED"]);
}

async fn signal_or_timer(context: Context, (): ()) -> Result<String, Failure> {
    let scope = context.scope();
    let signals = context.signals("Approve");
    let approval = signals.receive::<String>();
    match select(approval, scope.timer(Duration::from_secs(60))).await {
        Either::Left((signal, _)) => {
            scope.cancel();
            Ok(signal?)
        }
        Either::Right((fired, _)) => {
            fired?;
            Ok("late".to_owned())
        }
    }
}

#[test]
fn the_loser_of_a_select_is_cancelled_with_its_scope() {
    let mut run = Run::start(signal_or_timer, "null");
    assert_eq!(run.turn(), ["TIMER_STARTED"]);
    assert_eq!(
        run.replay(None).unwrap().waiting,
        ["timer of 60000 ms", "signal Approve"]
    );
    run.signal("Other", "unheard");
    assert_eq!(run.turn(), [""; 0]);
    run.signal("Approve", "yes");
    assert_eq!(run.turn(), ["TIMER_CANCELED", "WORKFLOW_EXECUTION_COMPLETED"]);
    assert_eq!(run.replay(None).unwrap().unread_signals.len(), 1);
}

#[test]
fn a_timer_that_fired_before_its_cancellation_is_written_is_not_cancelled() {
    let mut run = Run::start(signal_or_timer, "null");
    run.turn();
    run.signal("Approve", "yes");
    run.append(EventKind::TimerFired { started_event_id: 2 });
    assert_eq!(run.turn(), ["WORKFLOW_EXECUTION_COMPLETED"]);
}

async fn cleaning_up(context: Context, fails: bool) -> Result<(), Failure> {
    let work = context.activity::<()>("work", &()).await;
    if let Err(failure) = work {
        let shielded = context.shielded();
        shielded.activity::<()>("tidy", &()).await?;
        assert!(context.is_canceled() && !shielded.is_canceled());
        if fails {
            return Err(Failure::new("Tidy", "It could not be tidied."));
        }
        return Err(failure);
    }
    Ok(())
}

#[test]
fn a_cancelled_run_cleans_up_and_ends_cancelled_unless_that_fails() {
    for (fails, end) in [
        ("false", "WORKFLOW_EXECUTION_CANCELED"),
        ("true", "WORKFLOW_EXECUTION_FAILED"),
    ] {
        let mut run = Run::start(cleaning_up, fails);
        run.turn();
        run.cancel();
        assert_eq!(run.turn(), ["ACTIVITY_TASK_CANCELED", "ACTIVITY_TASK_SCHEDULED"]);
        let tidy = run.scheduled("tidy");
        run.append(EventKind::ActivityTaskCompleted {
            scheduled_event_id: tidy,
            started_event_id: 0,
            result: Payload::null(),
        });
        assert_eq!(run.turn(), [end]);
    }
}

#[test]
fn what_begins_in_a_cancelled_scope_ends_before_it_begins() {
    let mut run = Run::start(two_steps, "\"x\"");
    run.cancel();
    // Both events come in one turn: the first activity was scheduled before the code saw the second event.
    assert_eq!(
        run.turn(),
        [
            "ACTIVITY_TASK_SCHEDULED",
            "ACTIVITY_TASK_CANCELED",
            "WORKFLOW_EXECUTION_CANCELED"
        ]
    );
    let EventKind::ActivityTaskCanceled { scheduled_event_id } = run.history[3].kind else {
        panic!("{:?}", run.history);
    };
    assert_eq!(scheduled_event_id, 3);
}

#[test]
fn nothing_is_asked_for_after_the_end() {
    // The timer belongs to the run's scope, and stays open when the code returns.
    async fn first(context: Context, (): ()) -> Result<String, Failure> {
        let signals = context.signals("Go");
        match select(
            signals.receive::<String>(),
            context.timer(Duration::from_secs(60)),
        )
        .await
        {
            Either::Left((signal, _)) => signal,
            Either::Right((fired, _)) => fired.map(|()| "late".to_owned()),
        }
    }
    let mut run = Run::start(first, "null");
    run.turn();
    run.signal("Go", "yes");
    run.cancel();
    assert_eq!(run.turn(), ["WORKFLOW_EXECUTION_COMPLETED"]);
}

#[test]
fn code_that_is_dropped_asks_for_nothing() {
    struct Guard(Context);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.cancel();
            self.0.publish("PROGRESS", "dropped", Value::Null);
        }
    }
    async fn guarded(context: Context, (): ()) -> Result<(), Failure> {
        let _guard = Guard(context.clone());
        context.activity::<()>("work", &()).await
    }
    let mut run = Run::start(guarded, "null");
    assert_eq!(run.turn(), ["ACTIVITY_TASK_SCHEDULED"]);
    assert!(run.updates.is_empty());
}

#[test]
fn code_that_parts_from_its_history_fails_the_task_and_says_where() {
    let mut run = Run::start(two_steps, "\"x\"");
    run.turn();
    let with = |code: Code| Run { code, ..run.clone() }.failure().to_string();
    insta::assert_snapshot!(
        with(code_of(|context: Context, _: String| async move { context.activity::<()>("other", &()).await })),
        @"NonDeterministic: The history has ACTIVITY_TASK_SCHEDULED of 'one' (id 1) at event 2; the code asks for ACTIVITY_TASK_SCHEDULED of 'other' (id 1) there."
    );
    insta::assert_snapshot!(
        with(code_of(|context: Context, _: String| async move { context.timer(Duration::from_secs(1)).await })),
        @"NonDeterministic: The history has ACTIVITY_TASK_SCHEDULED of 'one' (id 1) at event 2; the code asks for TIMER_STARTED of 1000 ms (id 1) there."
    );
    insta::assert_snapshot!(with(code_of(|_: Context, _: String| async { std::future::pending::<Result<(), _>>().await })), @"NonDeterministic: The history has ACTIVITY_TASK_SCHEDULED of 'one' (id 1) at event 2; the code asks for nothing there.");
    insta::assert_snapshot!(
        with(code_of(|context: Context, name: String| async move {
            let both = [context.activity::<()>("one", &name).start(), context.activity("new", &name).start()];
            join_all(both).await;
            Ok(())
        })),
        @"NonDeterministic: After event 1 the code asks for ACTIVITY_TASK_SCHEDULED of 'new' (id 2), of which the history has nothing."
    );
}

#[test]
fn a_patch_is_taken_by_new_runs_and_by_their_replays() {
    async fn patched(context: Context, (): ()) -> Result<(), Failure> {
        let first = if context.patched("new-way") { "new" } else { "old" };
        context.activity::<()>(first, &()).await
    }
    async fn unpatched(context: Context, (): ()) -> Result<(), Failure> {
        context.activity::<()>("old", &()).await
    }
    let mut new = Run::start(patched, "null");
    assert_eq!(new.turn(), ["MARKER_RECORDED", "ACTIVITY_TASK_SCHEDULED"]);
    assert_eq!(new.scheduled("new"), 3);
    let mut old = Run::start(unpatched, "null");
    old.turn();
    old.code = code_of(patched);
    assert_eq!(old.turn(), [""; 0]);
}

#[test]
fn code_that_panics_or_never_gives_way_fails_the_task() {
    let kind = |code: Code| {
        let mut run = Run::start(two_steps, "\"x\"");
        run.code = code;
        let failure = run.failure();
        (failure.kind, failure.message)
    };
    let panics = code_of(|_: Context, _: String| async { Err::<(), _>(vec![Failure::canceled()].remove(7)) });
    assert_eq!(kind(panics).0, TurnFailureKind::Panic);
    let wakes_itself = code_of(|_: Context, _: String| async {
        std::future::poll_fn(|task| {
            task.waker().wake_by_ref();
            Poll::<Result<(), Failure>>::Pending
        })
        .await
    });
    assert_eq!(kind(wakes_itself).0, TurnFailureKind::Stuck);
    let asks_for_ever_more = code_of(|context: Context, _: String| async move {
        loop {
            drop(context.timer(Duration::from_secs(1)));
        }
        #[expect(unreachable_code, reason = "it gives the code its type")]
        Ok(())
    });
    insta::assert_snapshot!(kind(asks_for_ever_more).1, @"The code asked for more than 10000 things at once.");
    // A turn over its time limit ends at the next request of the code.
    let abort = Arc::new(AtomicBool::new(true));
    let run = Run::start(two_steps, "\"x\"");
    let replay = Replay {
        history: &run.history,
        processed: 0,
        query: None,
        abort: Some(&abort),
    };
    assert_eq!(
        make_turn(&run.code, replay).unwrap_err().kind,
        TurnFailureKind::Stuck
    );
}

async fn counting(context: Context, most: usize) -> Result<usize, Failure> {
    let count = Rc::new(std::cell::Cell::new(0));
    let answered = Rc::clone(&count);
    context.answer("Count", move || answered.get());
    let signals = context.signals("Add");
    while count.get() < most {
        signals.receive::<String>().await?;
        count.set(count.get() + 1);
        context.publish("PROGRESS", "one more", serde_json::json!(count.get()));
    }
    Ok(count.get())
}

#[test]
fn queries_see_the_state_and_updates_are_published_once() {
    let mut run = Run::start(counting, "3");
    run.turn();
    run.signal("Add", "a");
    run.signal("Add", "b");
    run.turn();
    assert_eq!(
        run.replay(Some("Count")).unwrap().answer.unwrap().unwrap().json(),
        "2"
    );
    assert_eq!(
        run.replay(Some("__stack"))
            .unwrap()
            .answer
            .unwrap()
            .unwrap()
            .json(),
        r#"["signal Add"]"#
    );
    assert_eq!(
        run.replay(Some("__state"))
            .unwrap()
            .answer
            .unwrap()
            .unwrap()
            .json(),
        "null"
    );
    assert!(run.replay(Some("Other")).unwrap().answer.is_none());
    run.signal("Add", "c");
    assert_eq!(run.turn(), ["WORKFLOW_EXECUTION_COMPLETED"]);
    assert_eq!(run.updates.len(), 3);
    assert_eq!(
        run.replay(Some("Count")).unwrap().answer.unwrap().unwrap().json(),
        "3"
    );
}

#[test]
fn a_run_continues_as_new_with_its_unread_signals() {
    let mut run = Run::start(
        |context: Context, round: u32| async move { Err::<(), _>(context.continue_as_new(&(round + 1))) },
        "1",
    );
    run.signal("B", "1");
    run.signal("A", "2");
    let turn = run.replay(None).unwrap();
    let EventKind::WorkflowExecutionContinuedAsNew {
        input, new_run_id, ..
    } = &turn.events[0]
    else {
        panic!("{turn:?}");
    };
    assert_eq!((input.json(), new_run_id.len()), ("2", 36));
    let unread: Vec<_> = turn
        .unread_signals
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(unread, ["B", "A"]);
}
