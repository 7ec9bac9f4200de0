//! Keeps the state that the query `__state` returns while a run is under way.

use std::cell::RefCell;
use std::rc::Rc;

use process::Data;
use serde::Serialize;
use serde_json::value::RawValue;
use workflow::Context;

/// Queryable state of a run. Clones share it.
#[derive(Clone)]
pub(super) struct Shown(Rc<RefCell<State>>);

struct State {
    tasks: Vec<Active>,
    next: u64,
    context: Data,
}

struct Active {
    number: u64,
    /// Number of the enclosing task; 0 for none.
    within: u64,
    pointer: String,
    waits_for: Option<&'static str>,
}

/// Answer to the query.
#[derive(Serialize)]
struct Answer {
    /// Running tasks, outermost first.
    tasks: Vec<Shape>,
    context: Box<RawValue>,
}

#[derive(Serialize)]
struct Shape {
    task: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    waits_for: Option<&'static str>,
}

impl Shown {
    /// Registers the answer to `__state`.
    pub fn expose(context: &Context, data: Data) -> Self {
        let shown = Self(Rc::new(RefCell::new(State {
            tasks: Vec::new(),
            next: 0,
            context: data,
        })));
        let answered = shown.clone();
        context.expose(move || answered.answer());
        shown
    }

    fn answer(&self) -> Answer {
        let state = self.0.borrow();
        let tasks = state.tasks.iter().map(|active| Shape {
            task: active.pointer.clone(),
            waits_for: active.waits_for,
        });
        Answer {
            tasks: tasks.collect(),
            context: state.context.as_raw().to_owned(),
        }
    }

    pub fn context(&self) -> Data {
        self.0.borrow().context.clone()
    }

    pub fn set_context(&self, data: Data) {
        self.0.borrow_mut().context = data;
    }

    /// Shows a task as part of another one and returns its number. A guard would hide the task at the end of
    /// each turn, when the code is dropped.
    pub fn enter(&self, pointer: &str, within: u64) -> u64 {
        let mut state = self.0.borrow_mut();
        state.next += 1;
        let number = state.next;
        state.tasks.push(Active {
            number,
            within,
            pointer: pointer.to_owned(),
            waits_for: None,
        });
        number
    }

    /// Hides a task and the tasks inside it.
    pub fn leave(&self, number: u64) {
        self.leave_within(number);
        let mut state = self.0.borrow_mut();
        state.tasks.retain(|active| active.number != number);
    }

    /// Hides the tasks inside a task.
    pub fn leave_within(&self, number: u64) {
        let mut left = vec![number];
        // A task comes after its enclosing task in the list.
        self.0.borrow_mut().tasks.retain(|active| {
            let is_left = left.contains(&active.within);
            if is_left {
                left.push(active.number);
            }
            !is_left
        });
    }

    /// Shows the signal that a task waits for; None once it no longer waits.
    pub fn waits_for(&self, number: u64, signal: Option<&'static str>) {
        let mut state = self.0.borrow_mut();
        let active = state.tasks.iter_mut().find(|active| active.number == number);
        if let Some(active) = active {
            active.waits_for = signal;
        }
    }
}
