//! Runs inside the child process: one thread works, the other watches the processor time of the task.

use std::io;
use std::process::{ExitCode, abort, exit};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use rlimit::Resource;
use rustix::process::nice;
use rustix::time::{ClockId, clock_gettime};

use crate::fence::{self, Calls, Folders};
use crate::frame;

/// Work of a child on each input.
pub type Work = fn(&[u8]) -> Vec<u8>;

/// Stack of the working thread, large because parsers recurse. It counts towards the memory of the child, and
/// a task that overflows it ends the child.
const STACK_BYTES: usize = 64 * 1_024 * 1_024;
/// How much lower than its parent the scheduler ranks a child.
const NICENESS: i32 = 15;

/// If this process was started as a child for `argument`, serves tasks and never returns.
///
/// Must be the first call in `main`.
pub fn run_if_child(argument: &str, work: Work) {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() != Some(argument) {
        return;
    }
    let mut number = || arguments.next().and_then(|text| text.parse::<u64>().ok());
    let (Some(processor_ms), Some(memory_bytes)) = (number(), number()) else {
        exit(2);
    };
    let code = run(work, Duration::from_millis(processor_ms), memory_bytes);
    exit(if code == ExitCode::SUCCESS { 0 } else { 1 });
}

fn run(work: Work, budget: Duration, memory_bytes: u64) -> ExitCode {
    // Best effort: a child with the rank of its parent is still limited.
    let _ = nice(NICENESS);
    if Resource::DATA.set(memory_bytes, memory_bytes).is_err() {
        return ExitCode::FAILURE;
    }
    let fenced = fence::enclose(&Folders::default()).and_then(|()| fence::forbid(Calls::Compute));
    if let Err(error) = fenced {
        fence::fail(&error);
    }
    let meter = Arc::new(Meter::default());
    let metered = Arc::clone(&meter);
    let worker = thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || serve(work, &metered));
    if worker.is_err() {
        return ExitCode::FAILURE;
    }
    meter.watch(budget)
}

/// Works until the parent closes the pipe, which also happens when the parent is killed.
fn serve(work: Work, meter: &Meter) {
    // Also if the work panics.
    let _end = End(meter);
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    while let Ok(task) = frame::read(&mut input) {
        meter.start();
        let done = work(&task);
        meter.stop();
        if frame::write(&mut output, &done).is_err() {
            break;
        }
    }
}

struct End<'a>(&'a Meter);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.set(State::Ended);
    }
}

/// Task state for the watcher.
#[derive(Clone, Copy, Default)]
enum State {
    #[default]
    Idle,
    /// A task, with the processor time at its start.
    Busy(Duration),
    /// No more tasks follow.
    Ended,
}

/// Measures the processor time of a task.
#[derive(Default)]
struct Meter {
    state: Mutex<State>,
    changed: Condvar,
}

impl Meter {
    fn start(&self) {
        self.set(State::Busy(processor_time()));
    }

    fn stop(&self) {
        self.set(State::Idle);
    }

    fn set(&self, state: State) {
        *self.state.lock() = state;
        self.changed.notify_all();
    }

    /// Ends the process when a task exceeds its budget. Returns when no more tasks follow.
    fn watch(&self, budget: Duration) -> ExitCode {
        let mut state = self.state.lock();
        loop {
            match *state {
                State::Ended => return ExitCode::SUCCESS,
                State::Idle => self.changed.wait(&mut state),
                State::Busy(began) => {
                    let spent = processor_time().saturating_sub(began);
                    let Some(left) = budget.checked_sub(spent).filter(|left| !left.is_zero()) else {
                        // Not `exit`, which would run handlers while the working thread continues.
                        abort();
                    };
                    // One working thread cannot use more processor time than this in the same time.
                    self.changed.wait_for(&mut state, left);
                }
            }
        }
    }
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}
