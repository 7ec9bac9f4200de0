//! jq expressions: their syntax, their evaluation, and its bounds.
//!
//! A process is replayed over its history, so an expression gives the same result each time: the clock, the
//! environment and other sources of change are refused when a definition is checked ([`library`]).

mod library;
mod nesting;
mod syntax;

pub use syntax::{Names, enclosed, parse};

/// Variables that each expression may read, without `$`. What a place does not have is null.
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
