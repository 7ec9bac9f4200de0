//! Refuses endless cycles of `then`.
//!
//! A cycle is refused if each of its tasks always runs, always completes immediately and always continues
//! with the same task: no `if`, no `switch`, nothing to wait for, no exit. A call waits for its answer and
//! may fail, and so may a process that is run.

use super::Checker;
use crate::definition::{Task, Then, Work};
use crate::fault::Place;

impl Checker {
    pub(super) fn jumps(&mut self, at: &Place, tasks: &[Task]) {
        let next = |index: usize| tasks.get(index).and_then(|task| successor(task, index));
        // Number of the walk that reached the task first, counted from 1.
        let mut walks = vec![0_usize; tasks.len()];
        for start in 0..tasks.len() {
            let mut index = start;
            while let Some(walk) = walks.get_mut(index).filter(|walk| **walk == 0) {
                *walk = start + 1;
                let Some(target) = next(index) else {
                    break;
                };
                if walks.get(target) == Some(&(start + 1)) {
                    self.ring(at, tasks, index, target);
                    break;
                }
                index = target;
            }
        }
    }

    fn ring(&mut self, at: &Place, tasks: &[Task], from: usize, to: usize) {
        let name = |index: usize| tasks.get(index).map_or("", |task| task.name.as_str());
        let then = at.item(from).field(name(from)).field("then");
        self.report(
            &then,
            format!(
                "Going back to '{}' never ends: no task on the way waits or decides; add a switch, an 'if' or a wait.",
                name(to)
            ),
        );
    }
}

/// Returns the task that always follows immediately.
fn successor(task: &Task, index: usize) -> Option<usize> {
    if task.condition.is_some() || decides(task) {
        return None;
    }
    match task.then {
        Then::Continue => Some(index + 1),
        Then::Task(target) => Some(target),
        Then::Exit | Then::End => None,
    }
}

/// Whether a task may wait, choose, raise an error or end the process, itself or through a nested task.
fn decides(task: &Task) -> bool {
    let any = |tasks: &[Task]| tasks.iter().any(|task| task.then == Then::End || decides(task));
    match &task.work {
        Work::Set(_) | Work::Emit(_) => false,
        Work::Do(tasks) => any(tasks),
        Work::For(each) => any(&each.tasks),
        Work::Fork(fork) => any(&fork.branches),
        Work::Try(attempt) => any(&attempt.tasks) || attempt.catch.tasks.as_deref().is_some_and(any),
        Work::Raise(_)
        | Work::Switch(_)
        | Work::Wait(_)
        | Work::Http(_)
        | Work::OpenApi(_)
        | Work::Function(_)
        | Work::Listen(_)
        | Work::Run(_) => true,
    }
}
