//! Implements the languages of prompt templates: checks stored templates, and renders them with data.
//!
//! Each language has one parser, which reads a content in linear time to a limited depth: what it cannot
//! parse, or what no data could render, is refused when it is written. Rendering counts its work on the data
//! against [`limits`]. Both run in the caller's thread. A JSON Schema that may be expensive to check is
//! checked in a child process, because its crate has no such limits.

mod cache;
mod check;
mod error;
mod handlebars;
mod json;
mod jst;
pub mod limits;
mod output;
pub mod records;
mod sandboxed;
mod schema;
mod template;
mod value;

pub use cache::Templates;
pub use check::check;
pub use error::{RenderError, RenderErrorKind};
pub use sandboxed::{Checker, run_if_child, sandbox};
pub use template::{Template, render_unstored};

/// Gives fuzzers access to the code that runs in the sandbox.
#[cfg(fuzzing)]
pub mod fuzzing {
    pub use crate::check::check as check_template;
    pub use crate::schema::check as check_schema;
}
