//! Decides whether a run matches a filter.

use std::cmp::Ordering;

use super::expression::{Comparison, Expression, Field, Test};
use super::literal::Value;

/// Fields of a run that a filter reads. Times are milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunFields<'r> {
    pub workflow_id: &'r str,
    pub run_id: &'r str,
    pub workflow_type: &'r str,
    /// `ExecutionStatus`, one of [`STATUSES`](super::STATUSES).
    pub status: &'r str,
    /// `StartTime`.
    pub start_time: i64,
    /// `CloseTime`; None while the run is open. `ExecutionDuration` is its distance from the start.
    pub close_time: Option<i64>,
    pub initiated_by: Option<&'r str>,
    pub document_id: Option<&'r str>,
    pub event_name: Option<&'r str>,
    pub rule_id: Option<&'r str>,
}

/// Value of a field in a run.
#[derive(Clone, Copy)]
enum Actual<'r> {
    Text(&'r str),
    Milliseconds(i64),
}

pub(super) fn holds(expression: &Expression, run: &RunFields<'_>) -> bool {
    match expression {
        Expression::All(parts) => parts.iter().all(|part| holds(part, run)),
        Expression::Any(parts) => parts.iter().any(|part| holds(part, run)),
        Expression::Not(inner) => !holds(inner, run),
        Expression::Condition(field, test) => passes(test, actual(*field, run)),
    }
}

fn actual<'r>(field: Field, run: &RunFields<'r>) -> Option<Actual<'r>> {
    match field {
        Field::WorkflowId => Some(Actual::Text(run.workflow_id)),
        Field::RunId => Some(Actual::Text(run.run_id)),
        Field::WorkflowType => Some(Actual::Text(run.workflow_type)),
        Field::ExecutionStatus => Some(Actual::Text(run.status)),
        Field::StartTime => Some(Actual::Milliseconds(run.start_time)),
        Field::CloseTime => run.close_time.map(Actual::Milliseconds),
        Field::ExecutionDuration => run
            .close_time
            .map(|close| Actual::Milliseconds(close.saturating_sub(run.start_time))),
        Field::InitiatedBy => run.initiated_by.map(Actual::Text),
        Field::DocumentId => run.document_id.map(Actual::Text),
        Field::EventName => run.event_name.map(Actual::Text),
        Field::RuleId => run.rule_id.map(Actual::Text),
    }
}

fn passes(test: &Test, actual: Option<Actual<'_>>) -> bool {
    if let Test::IsNull { negated } = test {
        return actual.is_none() != *negated;
    }
    // Negated tests are comparisons too, so they are false for NULL.
    let Some(actual) = actual else {
        return false;
    };
    match test {
        Test::Compare(comparison, value) => {
            order(actual, value).is_some_and(|order| accepts(*comparison, order))
        }
        Test::In { negated, values } => {
            let is_listed = values
                .iter()
                .any(|value| order(actual, value) == Some(Ordering::Equal));
            is_listed != *negated
        }
        Test::Between { negated, low, high } => {
            let is_inside = order(actual, low).is_some_and(Ordering::is_ge)
                && order(actual, high).is_some_and(Ordering::is_le);
            is_inside != *negated
        }
        Test::StartsWith { negated, prefix } => {
            matches!(actual, Actual::Text(text) if text.starts_with(prefix)) != *negated
        }
        Test::IsNull { negated } => *negated,
    }
}

/// Returns None for a value of another kind than the field; the parser refuses such values.
fn order(actual: Actual<'_>, value: &Value) -> Option<Ordering> {
    match (actual, value) {
        (Actual::Text(text), Value::Text(value)) => Some(text.cmp(value)),
        (Actual::Text(text), Value::Status(value)) => Some(text.cmp(value)),
        (Actual::Milliseconds(number), Value::Time(value) | Value::Duration(value)) => {
            Some(number.cmp(value))
        }
        (Actual::Text(_), Value::Time(_) | Value::Duration(_))
        | (Actual::Milliseconds(_), Value::Text(_) | Value::Status(_)) => None,
    }
}

fn accepts(comparison: Comparison, order: Ordering) -> bool {
    match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    }
}
