//! Evaluates conditions in JSONLogic over the envelope of an event.
//!
//! Conditions are code of callers. A condition is compiled when it is saved, and has the meaning that
//! json-logic-js gives it; what can never work is refused then. Each evaluation counts its steps, and a
//! condition that exceeds its budget has no result. Two things differ from json-logic-js: a value has no
//! properties of JavaScript's prototypes (`constructor`), and `missing` fails where a name is an operation
//! that stands in the event, and does not evaluate it. `log` writes nothing.

mod budget;
mod evaluate;
mod lookup;
mod reads;
mod rule;
mod shared;
mod subject;
mod value;

use std::collections::BTreeMap;

use budget::{Budget, MAX_STEPS, MAX_STEPS_OF_EVENT, Stop};
use platform::{Error, Result};
use rule::Rule;
use serde_json::{Map, Value as Json};
use shared::Answer;
use value::Value;

pub use self::shared::{SharedCondition, SharedConditions};

pub struct Condition(Rule);

/// An event in the form that conditions read, with the budget that is left for it.
pub struct Subject {
    event: Value,
    /// Number of steps left for this event.
    left: u64,
    /// What conditions of a project said about this event, by their numbers.
    answers: BTreeMap<usize, Answer>,
}

impl Subject {
    /// Parses the envelope of an event from JSON.
    pub fn new(envelope: &str) -> Result<Self> {
        Ok(Self {
            event: subject::read(envelope).map_err(Error::internal)?,
            left: MAX_STEPS_OF_EVENT,
            answers: BTreeMap::new(),
        })
    }
}

/// Why a condition has no result on an event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// The condition exceeds its budget.
    #[error("The condition takes more than {MAX_STEPS} steps on this event.")]
    TooCostly,
    /// The conditions so far have spent the budget of the event.
    #[error("The conditions of all subscriptions take more than {MAX_STEPS_OF_EVENT} steps on this event.")]
    NothingLeft,
    /// The evaluation failed on this event.
    #[error("The condition fails on this event: {0}.")]
    Failed(String),
}

impl Condition {
    /// Compiles a condition. Fails with 400 and the fault.
    pub fn compile(condition: &Map<String, Json>) -> Result<Self> {
        rule::compile(condition).map(Self)
    }

    /// Returns the paths that the condition reads of an event, without those that the event decides.
    pub fn paths(&self) -> Vec<String> {
        reads::paths(&self.0)
    }

    /// Tells the first values that the condition reads of an event, such as `action is "opened"`; empty where
    /// it reads none.
    pub fn values(&self, subject: &Subject) -> String {
        reads::values(&self.0, &subject.event)
    }

    /// Evaluates the condition on an event.
    pub fn holds(&self, subject: &mut Subject) -> std::result::Result<bool, Unanswered> {
        let steps = subject.left.min(MAX_STEPS);
        let mut budget = Budget { left: steps };
        let value = evaluate::evaluate(&self.0, &subject.event, &mut budget);
        subject.left -= steps - budget.left;
        match value {
            Ok(value) => Ok(value.is_truthy()),
            Err(Stop::Failed(reason)) => Err(Unanswered::Failed(reason)),
            Err(Stop::Spent) if steps == MAX_STEPS => Err(Unanswered::TooCostly),
            Err(Stop::Spent) => Err(Unanswered::NothingLeft),
        }
    }
}

#[cfg(test)]
mod tests;
