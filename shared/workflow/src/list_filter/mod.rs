//! The filter of a listing of workflow runs, in the language of Temporal's visibility queries.
//!
//! ```text
//! WorkflowType = 'import' AND (ExecutionStatus IN ('Failed', 'TimedOut') OR ExecutionDuration > '1h30m')
//! ```
//!
//! - Fields: `WorkflowId`, `RunId`, `WorkflowType`, `ExecutionStatus`, `StartTime`, `CloseTime`, `ExecutionDuration`,
//!   `InitiatedBy`, `DocumentId`, `EventName`, `RuleId`; spelled exactly so, with or without back-ticks.
//! - Conditions: `=`, `!=`, `<`, `<=`, `>`, `>=`, `[NOT] IN ('a', 'b')`, `[NOT] BETWEEN 'a' AND 'b'` (both ends
//!   included), `[NOT] STARTS_WITH 'a'`, `IS [NOT] NULL`. A status has no order, and only texts have a beginning.
//! - `NOT` binds tighter than `AND`, `AND` tighter than `OR`. The case of keywords does not matter.
//! - Texts stand in single or double quotes, in which a doubled quote is the quote itself; a backslash is a character
//!   like any other. Texts are compared byte by byte, so their case matters.
//! - Statuses are the names in [`STATUSES`] in any case, with or without the underscores: `'TimedOut'`.
//! - Times are ISO 8601, in UTC where they have no offset; a plain date is its midnight.
//! - Durations are numbers of seconds (in Temporal a number counts nanoseconds), or texts as Go writes them: `'1h30m'`,
//!   `'500ms'`.
//! - Times and durations are compared in milliseconds; whatever is finer is cut off.
//!
//! What a run does not have is NULL: the document of a run without one, and the close time and the duration of a run
//! that is still open. Every comparison with NULL is false, `!=`, `NOT IN`, `NOT BETWEEN` and `NOT STARTS_WITH`
//! included. The logic above has two values, unlike SQL's: `NOT` turns false into true, so `DocumentId != 'a'` leaves
//! out the runs without a document, and `NOT DocumentId = 'a'` keeps them.
//!
//! The text comes from callers, so its length, its nesting and the number of its list values are bounded.

#[cfg(test)]
mod error_tests;
mod eval;
mod expression;
mod lexer;
mod literal;
mod parser;
mod plan;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod tests;

use std::fmt;

pub use literal::STATUSES;
pub use plan::Narrowed;

use expression::Expression;

/// The longest filter, in bytes.
pub const MAX_BYTES: usize = 4_096;
/// The most levels of parentheses and `NOT` within each other.
pub const MAX_DEPTH: usize = 100;
/// The most values that all lists of a filter hold together.
pub const MAX_VALUES: usize = 500;

/// A filter that was understood. The default matches every run.
///
/// Printed, it is a text with the same meaning in a spelling that no longer depends on the caller's. That text can be
/// longer than [`MAX_BYTES`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// None matches every run.
    root: Option<Expression>,
}

/// What a filter looks at in a run. Times are milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunFields<'r> {
    /// `WorkflowId`.
    pub workflow_id: &'r str,
    /// `RunId`.
    pub run_id: &'r str,
    /// `WorkflowType`.
    pub workflow_type: &'r str,
    /// `ExecutionStatus`, one of [`STATUSES`].
    pub status: &'r str,
    /// `StartTime`.
    pub start_time: i64,
    /// `CloseTime`, none as long as the run is open. `ExecutionDuration` is its distance from the start.
    pub close_time: Option<i64>,
    /// `InitiatedBy`.
    pub initiated_by: Option<&'r str>,
    /// `DocumentId`.
    pub document_id: Option<&'r str>,
    /// `EventName`.
    pub event_name: Option<&'r str>,
    /// `RuleId`.
    pub rule_id: Option<&'r str>,
}

/// Why a text is no filter, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    /// Where, in characters from 1.
    pub column: usize,
    /// What to do about it.
    pub message: String,
}

impl Filter {
    /// Reads a filter. A text of nothing but white space matches every run.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let root = parser::parse(text)?;
        Ok(Self { root })
    }

    /// Whether the filter lets the run through.
    pub fn matches(&self, run: &RunFields<'_>) -> bool {
        self.root.as_ref().is_none_or(|root| eval::holds(root, run))
    }

    /// Whether it looks at how a run stands: at its status, its end or its duration.
    pub fn asks_for_standing(&self) -> bool {
        self.root.as_ref().is_some_and(Expression::asks_for_standing)
    }

    /// What holds for every run that matches, so that a listing can choose an index. It says less than the filter, so
    /// each run found has still to be matched.
    pub fn narrowed(&self) -> Narrowed {
        self.root.as_ref().map(plan::narrowed).unwrap_or_default()
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.root {
            Some(root) => root.fmt(formatter),
            None => Ok(()),
        }
    }
}

impl FilterError {
    fn new(column: usize, message: impl Into<String>) -> Self {
        Self {
            column,
            message: message.into(),
        }
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "column {}: {}", self.column, self.message)
    }
}

impl std::error::Error for FilterError {}
