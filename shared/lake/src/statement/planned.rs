//! Holds a checked statement for the next job.

use std::time::Duration;

use crate::statement::parameters::Rewritten;

pub(crate) struct Planned {
    pub(crate) original: String,
    pub(crate) rewritten: Rewritten,
    pub(crate) pivots: Vec<PivotValues>,
    /// Duration of the check.
    pub(crate) took: Duration,
}

/// Query for the values of an enum type that stands for the missing list of a PIVOT.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PivotValues {
    pub(crate) type_name: String,
    /// Has passed the check.
    pub(crate) sql: String,
}
