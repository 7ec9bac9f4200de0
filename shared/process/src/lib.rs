//! Definitions of processes, and their expressions.
//!
//! A process is a document of the CNCF Serverless Workflow DSL 1.0, as JSON or YAML. [`check()`] makes a typed
//! [`Definition`] of it, or says what is wrong with it and where. [`expression`] evaluates its jq, and
//! [`flow`] has the rules that code which runs a process needs. The crate has no clock, no network and no
//! engine: all that it says follows from its arguments.
//!
//! **Invariant:** no text makes [`check()`] panic, and a definition that passes is never refused later.

mod check;
pub mod data;
pub mod definition;
pub mod expression;
pub mod fault;
pub mod flow;
pub mod limits;
mod source;

pub use check::{Input, check, parse_duration};
pub use data::Data;
pub use definition::Definition;
pub use fault::Fault;
