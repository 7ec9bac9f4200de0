//! Evaluates untrusted JSONLogic over the envelope of an event.
//!
//! A condition is checked and compiled when it is saved, and its cost on an event is computed before each
//! evaluation. A condition that could cost too much is not evaluated, and the caller gets the reason. The
//! operators are those of jsonlogic.com except `log`.

mod bound;
mod check;
#[cfg(test)]
mod cost_tests;
mod forgiving;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

use bound::Cost;
use datalogic_rs::bumpalo::Bump;
use datalogic_rs::{DivisionByZeroHandling, Engine, EvaluationConfig, Logic, NanHandling, ParsedData};
use platform::{Error, Result};
use serde_json::{Map, Value};

/// Maximum number of steps of one condition on one event, which mostly takes some hundredths of a second.
const MAX_STEPS: f64 = 5e6;
/// Maximum number of steps of all conditions on one event.
const MAX_STEPS_OF_EVENT: f64 = 5e7;
/// Maximum memory of one evaluation, in bytes. Few steps need so much, and the limit of steps ends the
/// others.
const MAX_MEMORY_BYTES: usize = 256 * 1_024 * 1_024;

static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    // As in JavaScript: values that cannot be compared are not equal, and a value that is no number gives
    // none.
    let mut config = EvaluationConfig::default();
    config.loose_equality_errors = false;
    config.arithmetic_nan_handling = NanHandling::ReturnNull;
    config.division_by_zero = DivisionByZeroHandling::ReturnNull;
    Engine::builder().with_config(config).build()
});

pub struct Condition {
    logic: Logic,
    cost: Cost,
}

/// An event in the form that conditions read, with the budget that is left for it.
pub struct Subject {
    data: ParsedData,
    size: Size,
    /// Number of steps left for this event.
    left: f64,
}

/// Size of an event.
#[derive(Clone, Copy, Debug)]
struct Size {
    bytes: f64,
    /// Maximum number of entries of an array in it.
    items: f64,
    /// Maximum number of entries of an object in it.
    fields: f64,
}

impl Size {
    /// Measures a JSON text.
    fn measure(text: &str) -> Self {
        let mut open: Vec<(u8, usize)> = Vec::new();
        let (mut items, mut fields, mut in_text, mut is_escaped) = (0, 0, false, false);
        for byte in text.bytes() {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if in_text => is_escaped = true,
                b'"' => in_text = !in_text,
                _ if in_text => {}
                b'[' | b'{' => open.push((byte, 1)),
                b']' | b'}' => match open.pop() {
                    Some((b'[', entries)) => items = items.max(entries),
                    Some((_, entries)) => fields = fields.max(entries),
                    None => {}
                },
                b',' => {
                    if let Some((_, entries)) = open.last_mut() {
                        *entries += 1;
                    }
                }
                _ => {}
            }
        }
        Self {
            bytes: text.len() as f64,
            items: items.max(1) as f64,
            fields: fields.max(1) as f64,
        }
    }
}

impl Subject {
    /// Parses the envelope of an event from JSON.
    pub fn new(envelope: &str) -> Result<Self> {
        let data = ParsedData::from_json(envelope).map_err(|error| Error::internal(error.to_string()))?;
        Ok(Self {
            data,
            size: Size::measure(envelope),
            left: MAX_STEPS_OF_EVENT,
        })
    }
}

/// Why a condition has no result on an event.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// The condition could exceed its step limit.
    #[error("The condition could take more than {} steps on this event.", MAX_STEPS as u64)]
    TooCostly,
    /// All conditions so far could exceed the step limit of the event.
    #[error("The conditions of all subscriptions could take more than {} steps on this event.", MAX_STEPS_OF_EVENT as u64)]
    NothingLeft,
    /// The evaluation failed on this event.
    #[error("The condition fails on this event: {0}.")]
    Failed(String),
}

impl Condition {
    /// Checks and compiles a condition. Fails with 400 and the fault.
    pub fn compile(rule: &Map<String, Value>) -> Result<Self> {
        let text = serde_json::to_string(rule).map_err(Error::internal)?;
        let rule = Value::Object(rule.clone());
        check::check(&text, &rule)?;
        let text = serde_json::to_string(&forgiving::forgiving(&rule)).map_err(Error::internal)?;
        let logic = ENGINE
            .compile(text.as_str())
            .map_err(|error| check::refusal(&format!("cannot be read: {error}")))?;
        Ok(Self {
            logic,
            cost: Cost::from_rule(&rule)?,
        })
    }

    /// Evaluates the condition on an event.
    pub fn holds(&self, subject: &mut Subject) -> std::result::Result<bool, Unanswered> {
        let steps = self.cost.on(subject.size);
        if steps > MAX_STEPS {
            return Err(Unanswered::TooCostly);
        }
        if steps > subject.left {
            return Err(Unanswered::NothingLeft);
        }
        subject.left -= steps;
        // Should the computed bound be wrong, only this condition fails, not the evaluation of the event.
        let evaluated = catch_unwind(AssertUnwindSafe(|| {
            let arena = Bump::new();
            arena.set_allocation_limit(Some(MAX_MEMORY_BYTES));
            let found = ENGINE.evaluate(&self.logic, &subject.data, &arena);
            found
                .map(|value| ENGINE.truthy(value))
                .map_err(|error| error.to_string())
        }));
        let evaluated = evaluated.unwrap_or_else(|_| Err("it takes too much memory".to_owned()));
        evaluated.map_err(Unanswered::Failed)
    }
}

#[cfg(test)]
mod tests;
