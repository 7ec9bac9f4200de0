//! Derives from a filter the conditions that every matching run meets.

use super::expression::{Comparison, Expression, Field, Test};
use super::literal::{STATUSES, Value};

/// Conditions that every matching run meets. None means no condition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Narrowed {
    /// The status is one of the list. If the list is empty, no run matches.
    pub status: Option<Vec<&'static str>>,
    pub workflow_type: Option<String>,
    pub document_id: Option<String>,
    pub rule_id: Option<String>,
    pub run_id: Option<String>,
    pub workflow_id: Option<String>,
    /// Earliest start, included, in milliseconds since 1970.
    pub start_from: Option<i64>,
    /// Latest start, included, in milliseconds since 1970.
    pub start_to: Option<i64>,
}

pub(super) fn narrowed(root: &Expression) -> Narrowed {
    let mut narrowed = Narrowed::default();
    narrowed.add(root);
    narrowed
}

impl Narrowed {
    /// Uses only conditions joined by `AND`: a condition under `OR` or `NOT` need not hold for a match.
    fn add(&mut self, expression: &Expression) {
        match expression {
            Expression::All(parts) => {
                for part in parts {
                    self.add(part);
                }
            }
            Expression::Condition(field, test) => self.add_condition(*field, test),
            Expression::Any(_) | Expression::Not(_) => {}
        }
    }

    fn add_condition(&mut self, field: Field, test: &Test) {
        match (field, test) {
            (Field::ExecutionStatus, Test::Compare(Comparison::Equal, value)) => {
                self.add_statuses(std::slice::from_ref(value));
            }
            (
                Field::ExecutionStatus,
                Test::In {
                    negated: false,
                    values,
                },
            ) => self.add_statuses(values),
            (Field::StartTime, Test::Compare(comparison, Value::Time(time))) => {
                self.add_start(*comparison, *time);
            }
            (
                Field::StartTime,
                Test::Between {
                    negated: false,
                    low: Value::Time(low),
                    high: Value::Time(high),
                },
            ) => {
                self.add_start(Comparison::GreaterOrEqual, *low);
                self.add_start(Comparison::LessOrEqual, *high);
            }
            (_, Test::Compare(Comparison::Equal, Value::Text(text))) => {
                let known = match field {
                    Field::WorkflowType => &mut self.workflow_type,
                    Field::DocumentId => &mut self.document_id,
                    Field::RuleId => &mut self.rule_id,
                    Field::RunId => &mut self.run_id,
                    Field::WorkflowId => &mut self.workflow_id,
                    _ => return,
                };
                // Every match meets both conditions, so either text may be kept. If they differ, no run
                // matches.
                known.get_or_insert_with(|| text.clone());
            }
            _ => {}
        }
    }

    fn add_statuses(&mut self, values: &[Value]) {
        let is_wanted = |status: &&'static str| values.contains(&Value::Status(status));
        match &mut self.status {
            Some(known) => known.retain(is_wanted),
            None => self.status = Some(STATUSES.into_iter().filter(is_wanted).collect()),
        }
    }

    fn add_start(&mut self, comparison: Comparison, time: i64) {
        // `<` and `>` may include their bound, because the filter itself is evaluated afterwards.
        let (from, to) = match comparison {
            Comparison::Equal => (true, true),
            Comparison::Greater | Comparison::GreaterOrEqual => (true, false),
            Comparison::Less | Comparison::LessOrEqual => (false, true),
            Comparison::NotEqual => (false, false),
        };
        if from {
            self.start_from = Some(self.start_from.map_or(time, |known| known.max(time)));
        }
        if to {
            self.start_to = Some(self.start_to.map_or(time, |known| known.min(time)));
        }
    }
}
