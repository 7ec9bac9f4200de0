//! Implements the languages of prompt templates: checks stored templates, and renders them with data.
//!
//! The check uses third-party parsers, whose time and stack are unlimited, so it runs in a child process.
//! Rendering runs in the caller's thread: it parses in linear time, and counts its work on the data against
//! [`limits`]. A child process would take a hundred times as long to answer, without a stricter limit. A
//! content that is not stored was never checked, so [`render_once`] does both in a child.

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
pub use sandboxed::{Checker, render_once, run_if_child, sandbox};
pub use template::{Template, render};

/// Gives fuzzers access to the code that runs in the sandbox.
#[cfg(fuzzing)]
pub mod fuzzing {
    pub use crate::check::{check as check_template, handlebars_verdicts};
    pub use crate::schema::check as check_schema;
}
