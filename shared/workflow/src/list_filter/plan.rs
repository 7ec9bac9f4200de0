//! What a filter says about every run that matches it.

use super::expression::{Comparison, Expression, Field, Test};
use super::literal::Value;

/// What holds for every run that a filter lets through. None says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Narrowed {
    /// The status is one of these. If there are none, no run matches.
    pub status: Option<Vec<&'static str>>,
    /// The workflow type.
    pub workflow_type: Option<String>,
    /// The document.
    pub document_id: Option<String>,
    /// The run.
    pub run_id: Option<String>,
    /// The workflow.
    pub workflow_id: Option<String>,
    /// The start is then or later, in milliseconds since 1970.
    pub start_from: Option<i64>,
    /// The start is then or earlier, in milliseconds since 1970.
    pub start_to: Option<i64>,
}

pub(super) fn narrowed(root: &Expression) -> Narrowed {
    let mut narrowed = Narrowed::default();
    narrowed.add(root);
    narrowed
}

impl Narrowed {
    /// Only what is joined by `AND` counts: under `OR` and `NOT` a condition need not hold.
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
                    Field::RunId => &mut self.run_id,
                    Field::WorkflowId => &mut self.workflow_id,
                    _ => return,
                };
                // Of two texts either holds for every match: if they differ, there is none.
                known.get_or_insert_with(|| text.clone());
            }
            _ => {}
        }
    }

    fn add_statuses(&mut self, values: &[Value]) {
        let is_wanted = |status: &&'static str| values.contains(&Value::Status(status));
        match &mut self.status {
            Some(known) => known.retain(is_wanted),
            None => self.status = Some(super::STATUSES.into_iter().filter(is_wanted).collect()),
        }
    }

    fn add_start(&mut self, comparison: Comparison, time: i64) {
        // `<` and `>` lose nothing by including their bound: the filter itself has the last word.
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
