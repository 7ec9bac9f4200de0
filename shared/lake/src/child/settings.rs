//! Defines the arguments of a child process.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::child::limits::EngineLimits;

/// First argument of a program started as a child process.
pub(crate) const ARGUMENT: &str = "millrace-lake-child";

/// Stack of the thread that runs jobs. It holds the parse tree of the deepest expression that DuckDB accepts,
/// and DuckDB's binder on top.
pub(crate) const STACK_BYTES: usize = 64 * 1024 * 1024;

/// Second argument, as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Settings {
    pub(crate) limits: EngineLimits,
    /// Empty directory of this child only.
    pub(crate) temp: PathBuf,
}
