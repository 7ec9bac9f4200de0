//! Determines the next task of a list.

use crate::definition::{Task, Then};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The task at this index of the list.
    Task(usize),
    /// The list is done, and so is the task or process that contains it.
    Done,
    /// The process completes.
    End,
}

/// Returns the first task of a list.
pub fn first(tasks: &[Task]) -> Next {
    at(tasks, 0)
}

/// Returns what follows the task at `index`.
///
/// `then` is that of the case that a switch chose, otherwise that of the task, also for a switch without a
/// matching case. A task that its `if` skips has no outcome, so [`Then::Continue`] follows it.
pub fn next(tasks: &[Task], index: usize, then: Then) -> Next {
    match then {
        Then::Continue => at(tasks, index + 1),
        Then::Task(target) => at(tasks, target),
        Then::Exit => Next::Done,
        Then::End => Next::End,
    }
}

fn at(tasks: &[Task], index: usize) -> Next {
    match tasks.get(index) {
        Some(_) => Next::Task(index),
        None => Next::Done,
    }
}
