//! Checks definitions of processes, and evaluates their expressions.
//!
//! A process is a document of the CNCF Serverless Workflow DSL 1.0, as JSON or YAML. [`check()`] converts it
//! to a typed [`Definition`], or reports its faults with their places. [`expression`] evaluates its jq, and
//! [`flow`] contains the rules for code that runs a process. The crate has no clock, no network and no
//! engine: its results depend only on its arguments.
//!
//! **Invariant:** no text makes [`check()`] panic, and a definition that passes is never refused later.

mod check;
pub mod data;
pub mod definition;
pub mod expression;
pub mod fault;
pub mod flow;
pub mod limits;
pub mod pattern;
pub mod records;
mod source;

pub use check::{Source, check, parse_duration};
pub use data::Data;
pub use definition::Definition;
pub use fault::Fault;
