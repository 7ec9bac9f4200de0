//! The languages of prompt templates: what is stored is checked here, and rendered with data.
//!
//! Checking parses with the crates of others, whose time and stack have no bound, so it runs in a child process.

mod check;
mod sandboxed;
mod schema;

pub use sandboxed::{Checker, run_if_child, sandbox};

/// What the sandbox works on, in the hands of a fuzzer.
#[cfg(fuzzing)]
pub mod fuzzing {
    pub use crate::check::{check as check_template, handlebars_verdicts};
    pub use crate::schema::check as check_schema;
}
