//! jq expressions: their syntax, their evaluation, and its bounds.
//!
//! A process is replayed over its history, so an expression gives the same result each time: the clock, the
//! environment and other sources of change are refused when a definition is checked. What it costs cannot be
//! told from its text, so it runs in a child process ([`sandbox`]) that ends where it takes too much. The
//! child keeps compiled expressions, and one round trip carries any number of expressions over the same data.
//!
//! **Invariant:** no evaluation takes more than [`LIMITS`] or gives more than
//! [`MAX_OUTPUT_BYTES`](crate::limits::MAX_OUTPUT_BYTES).

mod child;
mod evaluator;
mod filter;
mod library;
mod nesting;
mod syntax;

pub use evaluator::{Evaluator, Failure, LIMITS, Scope, run_if_child};
pub use syntax::{Names, enclosed, parse};

/// Variables that each expression may read, without `$`. A variable without a value is null.
pub const VARIABLES: [&str; 8] = [
    "authorization",
    "context",
    "input",
    "output",
    "runtime",
    "secrets",
    "task",
    "workflow",
];
