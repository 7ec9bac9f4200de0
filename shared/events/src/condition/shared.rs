//! Compiles equal conditions of a project once, and evaluates them once on an event.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use platform::{Error, Result};
use serde_json::{Map, Value as Json};
use sha2::{Digest as _, Sha256};

use super::{Condition, Subject, Unanswered};

/// The conditions of a project that its subscriptions have, each once, by the digest of their texts.
#[derive(Default)]
pub struct SharedConditions(HashMap<[u8; 32], (usize, Weak<Condition>)>);

/// A condition of a project, which its subscriptions with an equal one share.
#[derive(Clone)]
pub struct SharedCondition {
    /// Differs from that of every other condition of the project.
    number: usize,
    pub condition: Arc<Condition>,
}

/// What a condition said about an event, and the steps that it took.
pub(super) struct Answer {
    holds: std::result::Result<bool, Unanswered>,
    steps: u64,
}

impl SharedConditions {
    /// Compiles a condition, unless an equal one is there. Fails with 400 and the fault.
    pub fn compile(&mut self, condition: &Map<String, Json>) -> Result<SharedCondition> {
        let text = serde_json::to_string(condition).map_err(Error::internal)?;
        let next = self.0.len();
        let (number, equal) = self
            .0
            .entry(Sha256::digest(text).into())
            .or_insert((next, Weak::new()));
        let number = *number;
        if let Some(condition) = equal.upgrade() {
            return Ok(SharedCondition { number, condition });
        }
        let condition = Arc::new(Condition::compile(condition)?);
        *equal = Arc::downgrade(&condition);
        Ok(SharedCondition { number, condition })
    }
}

impl SharedCondition {
    /// Evaluates the condition on an event, whose other conditions are of the same project. An answer that is
    /// known takes the steps of its evaluation again, so that no result depends on what conditions share.
    pub fn holds(&self, subject: &mut Subject) -> std::result::Result<bool, Unanswered> {
        // Nothing is gained where no other subscription has the condition.
        if Arc::strong_count(&self.condition) == 1 {
            return self.condition.holds(subject);
        }
        let left = subject.left;
        let Some(answer) = subject.answers.get(&self.number) else {
            let holds = self.condition.holds(subject);
            let steps = left - subject.left;
            let answer = Answer {
                holds: holds.clone(),
                steps,
            };
            subject.answers.insert(self.number, answer);
            return holds;
        };
        subject.left = left.saturating_sub(answer.steps);
        match left < answer.steps {
            true => Err(Unanswered::NothingLeft),
            false => answer.holds.clone(),
        }
    }
}
