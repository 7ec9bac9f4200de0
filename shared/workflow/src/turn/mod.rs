//! One turn of a run: its code is replayed over its history, and what it asks for beyond that are the new events.
//!
//! A turn is pure. It reads no clock, waits for nothing and touches no record: the same code over the same history asks for
//! the same commands, on any machine, at any time. Events are applied one by one, and after each the code runs until it can
//! go no further. A command that it asks for is matched, in order, with the next command of the history; those beyond the history's end
//! become new events. So what a piece of code asks for depends on the events before it alone, and never on how many of them
//! came at once.
//!
//! Where code and history part, the *task* fails, not the run: somebody put back the code that fits, and the run goes on.

mod calls;
mod context;
mod core;
mod matching;
#[cfg(test)]
mod property_tests;
mod resolution;
mod signals;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as TaskContext, Poll, Wake, Waker};

use platform::UtcTime;
use platform::records::deliveries::{DeliveryAttempt, SemanticEvaluation};
use serde_json::Value;

use crate::event::{Event, EventKind};
use crate::failure::Failure;
use crate::payload::Payload;
use crate::task_failure::TaskFailure;

pub use calls::{ActivityCall, ChildCall, ChildRun, Pending};
pub use context::{Context, Local};
pub use signals::{Canceled, Receive, Signals};

use self::core::Core;

/// Most commands that one turn may ask for: a loop that asks for ever more ends here.
pub const MAX_COMMANDS: usize = 10_000;
/// Most times that code may go on without anything having happened: a loop that wakes itself ends here.
const MAX_POLLS: u32 = 100_000;

/// What a run's code returns.
pub type Returned = Result<Payload, Failure>;
/// Running code of a workflow. It lives for one turn and never leaves its thread.
pub type Running = Pin<Box<dyn Future<Output = Returned>>>;
/// The code of a workflow type.
pub type Code = Arc<dyn Fn(Context, Payload) -> Running + Send + Sync>;

/// An update message that the code publishes.
#[derive(Clone, Debug, PartialEq)]
pub struct NewUpdate {
    /// Its type, such as `PROGRESS`.
    pub kind: String,
    /// For people.
    pub message: String,
    /// For code.
    pub details: Option<Value>,
    /// Which part of the run it is about.
    pub workstream_id: Option<String>,
}

/// What the code of a delivery tells of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveryReport {
    /// An attempt that has ended.
    pub attempt: Option<DeliveryAttempt>,
    /// When the next one is made; None where none is, or at once.
    pub next_attempt_at: Option<UtcTime>,
    /// Why the attempt failed, or why nothing more is tried.
    pub last_error: Option<String>,
    /// Outcome of the semantic condition.
    pub semantic_evaluation: Option<SemanticEvaluation>,
}

/// What to replay.
#[derive(Clone, Copy)]
pub struct Replay<'a> {
    /// The events, from the first, without a gap.
    pub history: &'a [Event],
    /// The last event that a turn before this one has applied: what it asked for then is in the history.
    pub processed: u64,
    /// A query to answer at the end.
    pub query: Option<&'a str>,
    /// Set by whoever no longer wants to wait; the next thing that the code asks for ends the turn.
    pub abort: Option<&'a Arc<AtomicBool>>,
}

/// What came of a turn.
#[derive(Debug, Default)]
pub struct Turn {
    /// What the code asked for beyond the history, as the events to append; the last one may end the run.
    pub events: Vec<EventKind>,
    /// What the code published beyond the history.
    pub updates: Vec<NewUpdate>,
    /// What the code told of the delivery beyond the history.
    pub reports: Vec<DeliveryReport>,
    /// The answer to the query; None where the code answers no such query.
    pub answer: Option<Result<Payload, Failure>>,
    /// What the code is waiting for, for people.
    pub waiting: Vec<String>,
    /// Signals that the code listens for.
    pub signals: BTreeSet<String>,
    /// Queries that the code answers.
    pub queries: BTreeSet<String>,
    /// Signals that the code has not read, in the order in which they came.
    pub unread_signals: Vec<(String, Payload)>,
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Replays `code` over a history and collects its new commands.
pub fn make_turn(code: &Code, replay: Replay<'_>) -> Result<Turn, TaskFailure> {
    let core = Rc::new(RefCell::new(Core::new(&replay)));
    let outcome = run(code, replay, &core);
    // The code holds the core, and the core may hold code (the answers to queries): one of the two has to let go.
    let queries = std::mem::take(&mut core.borrow_mut().queries);
    let answer = match (&outcome, replay.query) {
        (Ok(()), Some(name)) => {
            match catch_unwind(AssertUnwindSafe(|| core::answer(&core, &queries, name))) {
                Ok(answer) => answer,
                Err(panic) => Some(Err(Failure::new("Panic", panic_text(panic.as_ref())))),
            }
        }
        _ => None,
    };
    let answered = queries.keys().cloned().collect();
    drop(queries);
    outcome?;
    let mut core = core.borrow_mut();
    let mut turn = core.finish(&replay)?;
    turn.queries = answered;
    turn.answer = answer;
    Ok(turn)
}

fn run(code: &Code, replay: Replay<'_>, core: &Rc<RefCell<Core>>) -> Result<(), TaskFailure> {
    let flag = Arc::new(Flag(AtomicBool::new(false)));
    let waker = Waker::from(Arc::clone(&flag));
    let mut running: Option<Running> = None;
    for event in replay.history {
        core.borrow_mut().at(event);
        match &event.kind {
            EventKind::WorkflowExecutionStarted(started) => {
                let context = Context::new(Rc::clone(core));
                let input = started.input.clone();
                running = Some(guarded(|| code(context, input))?);
                flag.0.store(true, Ordering::Relaxed);
            }
            kind if kind.is_command() => core.borrow_mut().matched(event)?,
            _ => core.borrow_mut().apply(event),
        }
        if let Some(alive) = &mut running
            && let Some(returned) = go_on(alive, &flag, &waker, core)?
        {
            core.borrow_mut().returned(returned);
            let over = running.take();
            guarded(|| drop(over))?;
        }
    }
    core.borrow_mut().note_waiting();
    // Dropping code may run code, which is to ask for nothing.
    core.borrow_mut().sealed = true;
    guarded(|| drop(running))
}

/// Runs the code until it can go no further; what it returned, if it did.
fn go_on(
    running: &mut Running,
    flag: &Flag,
    waker: &Waker,
    core: &Rc<RefCell<Core>>,
) -> Result<Option<Returned>, TaskFailure> {
    let mut polls = 0;
    while flag.0.swap(false, Ordering::Relaxed) {
        polls += 1;
        if polls > MAX_POLLS {
            return Err(TaskFailure::stuck("The code wakes itself without end."));
        }
        let polled = guarded(|| running.as_mut().poll(&mut TaskContext::from_waker(waker)))?;
        core.borrow().check_commands()?;
        if let Poll::Ready(returned) = polled {
            return Ok(Some(returned));
        }
    }
    Ok(None)
}

fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, TaskFailure> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| match panic.downcast::<TaskFailure>() {
        Ok(failure) => *failure,
        Err(panic) => TaskFailure::panicked(panic_text(panic.as_ref())),
    })
}

/// What a panic says.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("The code panicked.").to_owned()
}
