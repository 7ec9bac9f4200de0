//! Makes one turn of a run: replays its code over its history and collects the new commands as events.
//!
//! A turn is pure. It reads no clock, waits for nothing and touches no record: the same code over the same
//! history requests the same commands, on any machine, at any time. Events are applied one by one, and after
//! each the code runs until it blocks. Each command is matched, in order, with the next command of the
//! history; commands beyond its end become new events. So commands depend only on the events before them, and
//! never on how many of these arrived at once.
//!
//! If code and history differ, the *task* fails, not the run: after a deployment of the matching code, the
//! run continues.

mod calls;
mod context;
mod core;
mod matching;
#[cfg(test)]
mod property_tests;
mod replay;
mod resolution;
mod signals;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as TaskContext, Poll, Wake, Waker};

use crate::event::EventKind;
use crate::failure::Failure;
use crate::payload::Payload;
use crate::turn_failure::TurnFailure;

pub use calls::{ActivityCall, ChildCall, ChildRun, Pending};
pub use context::{Context, Local};
pub use core::MAX_COMMANDS;
pub use replay::{DeliveryReport, NewUpdate, Replay, Returned, Turn};
pub use signals::{Canceled, Receive, Signals};

use self::core::Core;

/// Limit of polls without an event; it stops a loop that wakes itself.
const MAX_POLLS: u32 = 100_000;

/// Running workflow code. It lives for one turn and never leaves its thread.
pub type Running = Pin<Box<dyn Future<Output = Returned>>>;
pub type Code = Arc<dyn Fn(Context, Payload) -> Running + Send + Sync>;

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Replays `code` over a history and collects its new commands.
pub fn make_turn(code: &Code, replay: Replay<'_>) -> Result<Turn, TurnFailure> {
    let core = Rc::new(RefCell::new(Core::new(&replay)));
    let outcome = run(code, replay, &core);
    // The code holds the core, and the core may hold code (the handlers of queries). One of the two must
    // release the other.
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

fn run(code: &Code, replay: Replay<'_>, core: &Rc<RefCell<Core>>) -> Result<(), TurnFailure> {
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
    // Dropping code may run code, whose commands must be ignored.
    core.borrow_mut().sealed = true;
    guarded(|| drop(running))
}

/// Runs the code until it blocks. Returns its result if it has returned.
fn go_on(
    running: &mut Running,
    flag: &Flag,
    waker: &Waker,
    core: &Rc<RefCell<Core>>,
) -> Result<Option<Returned>, TurnFailure> {
    let mut polls = 0;
    while flag.0.swap(false, Ordering::Relaxed) {
        polls += 1;
        if polls > MAX_POLLS {
            return Err(TurnFailure::stuck("The code wakes itself without end."));
        }
        let polled = guarded(|| running.as_mut().poll(&mut TaskContext::from_waker(waker)))?;
        core.borrow().check_commands()?;
        if let Poll::Ready(returned) = polled {
            return Ok(Some(returned));
        }
    }
    Ok(None)
}

fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, TurnFailure> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| match panic.downcast::<TurnFailure>() {
        Ok(failure) => *failure,
        Err(panic) => TurnFailure::panicked(panic_text(panic.as_ref())),
    })
}

pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("The code panicked.").to_owned()
}
