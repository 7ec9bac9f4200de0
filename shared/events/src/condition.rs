//! JSONLogic that somebody else wrote, over the envelope of an event.
//!
//! A condition is checked and compiled when it is saved. What it may cost is known before it is evaluated: each operation costs one step
//! for each time that the arrays around it make it run, and those that go through texts cost the event's bytes. A condition that would
//! cost too much on an event does not match it, and says so.
//!
//! The operators are those of jsonlogic.com, but `log`. In a `reduce` nothing may join: what doubles in each round would be larger
//! than any machine after forty.

use datalogic_rs::bumpalo::Bump;
use datalogic_rs::{DivisionByZeroHandling, Engine, EvaluationConfig, Logic, NanHandling, ParsedData};
use platform::{Error, Result};
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// Largest condition, in bytes of JSON.
pub const MAX_BYTES: usize = 32_768;
/// Most values that a condition is made of.
const MAX_NODES: usize = 2_000;
/// Deepest nesting of operations.
const MAX_DEPTH: usize = 32;
/// Deepest nesting of operations that go through arrays.
const MAX_LOOPS: u32 = 2;
/// Most steps of one evaluation: some tenths of a second.
const MAX_STEPS: f64 = 5e6;

/// The operators that go through an array.
const LOOPS: [&str; 6] = ["map", "filter", "reduce", "all", "none", "some"];
/// Those that cost as much as the texts or arrays that they go through.
const LINEAR: [&str; 12] = [
    "cat", "merge", "in", "substr", "==", "===", "!=", "!==", "<", "<=", ">", ">=",
];
/// Those that can make something larger than what they were given.
const JOINS: [&str; 2] = ["cat", "merge"];
/// All others.
const OTHERS: [&str; 16] = [
    "var", "missing", "missing_some", "if", "?:", "!", "!!", "or", "and", "max", "min", "+", "-", "*", "/", "%",
];

static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    // As JavaScript has it: what cannot be compared is not equal, and what is no number makes none.
    let mut config = EvaluationConfig::default();
    config.loose_equality_errors = false;
    config.arithmetic_nan_handling = NanHandling::ReturnNull;
    config.division_by_zero = DivisionByZeroHandling::ReturnNull;
    Engine::builder().with_config(config).build()
});

/// A compiled condition.
pub struct Condition {
    logic: Logic,
    /// How many operations there are, by how many loops are around them.
    steps: [u32; MAX_LOOPS as usize + 1],
    /// The same of those that go through texts and arrays.
    linear_steps: [u32; MAX_LOOPS as usize + 1],
}

/// An event as conditions see it.
pub struct Subject {
    data: ParsedData,
    bytes: usize,
    /// The most entries of an array in it.
    longest: usize,
}

impl Subject {
    /// The envelope of an event, as JSON.
    pub fn new(envelope: &str) -> Result<Self> {
        let data = ParsedData::from_json(envelope).map_err(|error| Error::internal(error.to_string()))?;
        let longest = longest_array(envelope);
        Ok(Self {
            data,
            bytes: envelope.len(),
            longest,
        })
    }
}

/// Why a condition has no answer for an event.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// It would take too long.
    #[error("the condition would take more than {} steps on this event", MAX_STEPS as u64)]
    TooCostly,
    /// It fails on this event.
    #[error("the condition fails on this event: {0}")]
    Failed(String),
}

impl Condition {
    /// Checks and compiles a condition. 400 that says what is wrong with it.
    pub fn compile(rule: &Map<String, Value>) -> Result<Self> {
        let text = serde_json::to_string(rule).map_err(Error::internal)?;
        if text.len() > MAX_BYTES {
            return Err(refusal(&format!("has more than {MAX_BYTES} bytes")));
        }
        let mut checked = Checked::default();
        let rule = Value::Object(rule.clone());
        checked.check(&rule, 0, 0, false)?;
        let logic = ENGINE
            .compile(text.as_str())
            .map_err(|error| refusal(&format!("cannot be read: {error}")))?;
        Ok(Self {
            logic,
            steps: checked.steps,
            linear_steps: checked.linear_steps,
        })
    }

    /// Whether it holds for an event.
    pub fn holds(&self, subject: &Subject) -> std::result::Result<bool, Unanswered> {
        if self.cost(subject) > MAX_STEPS {
            return Err(Unanswered::TooCostly);
        }
        let arena = Bump::new();
        let found = ENGINE
            .evaluate(&self.logic, &subject.data, &arena)
            .map_err(|error| Unanswered::Failed(error.to_string()))?;
        Ok(ENGINE.truthy(found))
    }

    /// The most steps that it can take.
    fn cost(&self, subject: &Subject) -> f64 {
        // What an array is joined of is in the condition, so that it is no longer than all of them.
        let all: u32 = self.steps.iter().sum();
        let rounds = subject.longest.max(1) as f64 * if self.joins() { f64::from(all) } else { 1.0 };
        let mut cost = 0.0;
        let mut each = 1.0;
        for (steps, linear) in self.steps.iter().zip(self.linear_steps) {
            cost += each * (f64::from(*steps) + f64::from(linear) * subject.bytes as f64 / 64.0);
            each *= rounds;
        }
        cost
    }

    fn joins(&self) -> bool {
        self.linear_steps.iter().any(|steps| *steps > 0)
    }
}

#[derive(Default)]
struct Checked {
    nodes: usize,
    steps: [u32; MAX_LOOPS as usize + 1],
    linear_steps: [u32; MAX_LOOPS as usize + 1],
}

impl Checked {
    fn check(&mut self, value: &Value, depth: usize, loops: u32, in_reduce: bool) -> Result<()> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(refusal(&format!("is made of more than {MAX_NODES} values")));
        }
        if depth > MAX_DEPTH {
            return Err(refusal(&format!("nests deeper than {MAX_DEPTH} levels")));
        }
        match value {
            // What every round doubles need not be joined to grow.
            Value::Array(items) if in_reduce && items.iter().any(Value::is_object) => Err(refusal(
                "makes an array of operations in a 'reduce', where nothing can be joined",
            )),
            Value::Array(items) => {
                for item in items {
                    self.check(item, depth + 1, loops, in_reduce)?;
                }
                Ok(())
            }
            Value::Object(operation) => self.check_operation(operation, depth, loops, in_reduce),
            _ => Ok(()),
        }
    }

    fn check_operation(
        &mut self,
        operation: &Map<String, Value>,
        depth: usize,
        loops: u32,
        in_reduce: bool,
    ) -> Result<()> {
        let mut entries = operation.iter();
        let (Some((operator, arguments)), None) = (entries.next(), entries.next()) else {
            return Err(refusal(
                "has an object that is no operation; an operation is an object with one field, as in {\"var\": \"action\"}",
            ));
        };
        let operator = operator.as_str();
        let is_loop = LOOPS.contains(&operator);
        let is_linear = LINEAR.contains(&operator);
        if !(is_loop || is_linear || OTHERS.contains(&operator)) {
            return Err(refusal(&format!(
                "has the operator '{operator}', which JSONLogic does not know"
            )));
        }
        if in_reduce && JOINS.contains(&operator) {
            return Err(refusal(&format!(
                "has the operator '{operator}' in a 'reduce', where nothing can be joined"
            )));
        }
        let place = loops as usize;
        if let Some(steps) = self.steps.get_mut(place) {
            *steps += 1;
        }
        if let Some(steps) = self.linear_steps.get_mut(place).filter(|_| is_linear) {
            *steps += 1;
        }
        if is_loop && loops == MAX_LOOPS {
            return Err(refusal(&format!(
                "goes through arrays within arrays more than {MAX_LOOPS} deep"
            )));
        }
        let arguments = match arguments {
            Value::Array(arguments) => arguments.as_slice(),
            single => std::slice::from_ref(single),
        };
        for (place, argument) in arguments.iter().enumerate() {
            // The first is what is gone through; the rest happens in each round.
            let (loops, in_reduce) = match place {
                _ if !is_loop => (loops, in_reduce),
                0 => (loops, in_reduce),
                _ => (loops + 1, in_reduce || operator == "reduce"),
            };
            self.check(argument, depth + 1, loops, in_reduce)?;
        }
        Ok(())
    }
}

fn refusal(why: &str) -> Error {
    Error::invalid(format!("The condition in 'filter.condition' {why}."))
}

/// The most entries of an array in a JSON text, or more: commas are counted, of objects and texts as well.
fn longest_array(text: &str) -> usize {
    let mut open: Vec<usize> = Vec::new();
    let (mut longest, mut in_text, mut is_escaped) = (0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_text => is_escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'[' | b'{' => open.push(1),
            b']' | b'}' => longest = longest.max(open.pop().unwrap_or_default()),
            b',' => {
                if let Some(entries) = open.last_mut() {
                    *entries += 1;
                }
            }
            _ => {}
        }
    }
    longest
}
