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

mod error;
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

pub use error::FilterError;
pub use eval::RunFields;
pub use literal::STATUSES;
pub use parser::{MAX_BYTES, MAX_DEPTH, MAX_VALUES};
pub use plan::Narrowed;

use expression::Expression;

/// A parsed filter. The default matches every run.
///
/// Prints as an equivalent filter in a uniform spelling, which can be longer than [`MAX_BYTES`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// None matches every run.
    root: Option<Expression>,
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
