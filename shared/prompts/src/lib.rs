//! The languages of prompt templates: what is stored is checked here, and rendered with data.
//!
//! Checking parses with the crates of others, whose time and stack have no bound, so it runs in a child
//! process. Rendering runs in the caller's thread: it parses in linear time, and what it does with data is
//! counted against [`limits`]. A child process would answer a hundred times later, and bound no better.

mod cache;
mod check;
mod error;
mod handlebars;
mod jst;
pub mod limits;
mod output;
mod sandboxed;
mod schema;
mod template;
mod value;

pub use cache::Templates;
pub use check::check;
pub use error::{RenderError, RenderErrorKind};
pub use sandboxed::{Checker, run_if_child, sandbox};
pub use template::{Template, render};

/// What the sandbox works on, in the hands of a fuzzer.
#[cfg(fuzzing)]
pub mod fuzzing {
    pub use crate::check::{check as check_template, handlebars_verdicts};
    pub use crate::schema::check as check_schema;
}
