//! Parses and evaluates the filter of a listing of workflow runs, in the language of Temporal's visibility
//! queries.
//!
//! ```text
//! WorkflowType = 'import' AND (ExecutionStatus IN ('Failed', 'TimedOut') OR ExecutionDuration > '1h30m')
//! ```
//!
//! - Fields: `WorkflowId`, `RunId`, `WorkflowType`, `ExecutionStatus`, `StartTime`, `CloseTime`,
//!   `ExecutionDuration`,
//!   `InitiatedBy`, `DocumentId`, `EventName`, `RuleId`; spelled exactly so, with or without back-ticks.
//! - Conditions: `=`, `!=`, `<`, `<=`, `>`, `>=`, `[NOT] IN ('a', 'b')`, `[NOT] BETWEEN 'a' AND 'b'` (both
//!   ends
//!   included), `[NOT] STARTS_WITH 'a'`, `IS [NOT] NULL`. A status has no order; `STARTS_WITH` takes text
//!   fields only.
//! - `NOT` binds tighter than `AND`, `AND` tighter than `OR`. Keywords are case-insensitive.
//! - Texts are in single or double quotes. A doubled quote stands for the quote itself; a backslash has no
//!   special
//!   meaning. Texts are compared byte by byte, so case matters.
//! - Statuses are the names in [`STATUSES`] in any case, with or without the underscores: `'TimedOut'`.
//! - Times are ISO 8601, in UTC where they have no offset; a plain date is its midnight.
//! - Durations are numbers of seconds (in Temporal a number counts nanoseconds), or texts in Go's format:
//!   `'1h30m'`,
//!   `'500ms'`.
//! - Times and durations are compared in milliseconds; finer digits are cut off.
//!
//! A field that a run lacks is NULL: the document of a run without one, and the close time and the duration
//! of an open
//! run. Every comparison with NULL is false, `!=`, `NOT IN`, `NOT BETWEEN` and `NOT STARTS_WITH` included.
//! The logic has
//! two values, unlike SQL's: `NOT` turns false into true, so `DocumentId != 'a'` leaves out the runs without
//! a document,
//! and `NOT DocumentId = 'a'` keeps them.
//!
//! Callers write the text, so its length, its nesting and the number of its list values are limited.

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

/// Maximum length of a filter, in bytes.
pub const MAX_BYTES: usize = 4_096;
/// Maximum nesting of parentheses and `NOT`.
pub const MAX_DEPTH: usize = 100;
/// Maximum number of values in all lists of a filter together.
pub const MAX_VALUES: usize = 500;

/// A parsed filter. The default matches every run.
///
/// Prints as an equivalent filter in a uniform spelling, which can be longer than [`MAX_BYTES`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// None matches every run.
    root: Option<Expression>,
}

/// Fields of a run that a filter reads. Times are milliseconds since 1970.
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
    /// `CloseTime`; None while the run is open. `ExecutionDuration` is its distance from the start.
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

/// Reason why a text is not a filter, and advice for the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    /// Position of the error, in characters from 1.
    pub column: usize,
    pub message: String,
}

impl Filter {
    /// Parses a filter. An empty text and one of white space match every run.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let root = parser::parse(text)?;
        Ok(Self { root })
    }

    pub fn matches(&self, run: &RunFields<'_>) -> bool {
        self.root.as_ref().is_none_or(|root| eval::holds(root, run))
    }

    /// Returns whether the filter reads the status, the close time or the duration of a run.
    pub fn asks_for_standing(&self) -> bool {
        self.root.as_ref().is_some_and(Expression::asks_for_standing)
    }

    /// Returns conditions that every matching run meets, so that a listing can choose an index. They are
    /// weaker than the filter, so the caller still has to match each run.
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

    /// Returns the place in `text`, the filter that does not parse.
    pub fn place(&self, text: &str) -> platform::error::Place {
        let mut place = platform::error::Place::START;
        let before: String = text.chars().take(self.column.saturating_sub(1)).collect();
        place.advance(&before);
        place
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "column {}: {}", self.column, self.message)
    }
}

impl std::error::Error for FilterError {}
