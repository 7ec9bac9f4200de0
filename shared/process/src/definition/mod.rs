//! Defines the typed model of a checked definition.
//!
//! Names are resolved: a task contains the error, retry policy, authentication and timeout that it names, and
//! a `then` contains the index of its task in the list. So code that runs a definition looks up no names.

mod call;
mod event;
mod expression;
mod policy;
mod task;

pub use call::{Authentication, Credential, Endpoint, FunctionCall, HttpCall, HttpOutput, OpenApiCall, Uri};
pub use event::{
    Correlation, EventFilter, ExpectedAttribute, Foreach, Listen, Read, Strategy, Until, pattern_text,
};
pub(crate) use expression::Parsed;
pub use expression::{Expression, Template};
pub use policy::{Backoff, ErrorTemplate, Retry, RetryLimits, Span};
pub use task::{Case, Catch, ErrorFilter, Fork, Loop, RunProcess, Task, Then, Transform, Try, Work};

use std::collections::BTreeMap;

use crate::data::Data;

/// A definition that passed [`check`](crate::check()).
#[derive(Clone, Debug)]
pub struct Definition {
    pub document: Document,
    /// `input`: the schema of the raw input, and `from`.
    pub input: Transform,
    /// `output`: `as`, and the schema of its result.
    pub output: Transform,
    /// `timeout` of the whole process.
    pub timeout: Option<Span>,
    /// `use.secrets`.
    pub secrets: Vec<String>,
    /// `use.functions`. No function calls itself, directly or indirectly.
    pub functions: BTreeMap<String, Task>,
    /// The tasks of `do`.
    pub tasks: Vec<Task>,
    /// The document as JSON, for `$workflow.definition`.
    pub source: Data,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Version of the DSL: 1.0.x.
    pub dsl: String,
    /// At most 63 letters, digits and hyphens.
    pub namespace: String,
    /// Limited as the namespace.
    pub name: String,
    /// A semantic version.
    pub version: String,
    /// For people.
    pub title: Option<String>,
    /// Markdown.
    pub summary: Option<String>,
}
