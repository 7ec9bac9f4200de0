//! Parses and evaluates jq expressions, with limits.
//!
//! A process is replayed over its history, so an expression must give the same result each time: the check of
//! a definition refuses the clock, the environment and other changing sources. The cost of an expression is
//! not evident from its text, so it runs in a child process ([`sandbox`]) that ends at its limits. The child
//! keeps compiled expressions, and one round trip evaluates any number of expressions over the same data.
//!
//! **Invariant:** no evaluation uses more than [`LIMITS`] or returns more than
//! [`MAX_OUTPUT_BYTES`](crate::limits::MAX_OUTPUT_BYTES).

mod calls;
mod child;
mod compare;
mod evaluator;
mod filter;
mod formats;
mod json;
mod library;
mod matching;
mod natives;
mod nesting;
mod operators;
mod places;
mod rewrite;
mod syntax;
mod value;

pub use evaluator::{Evaluator, ExpressionFailure, LIMITS, Scope, run_if_child};
pub use syntax::{Names, enclosed, parse};

/// Variables that every expression may read, without `$`. A variable without a value is null.
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
