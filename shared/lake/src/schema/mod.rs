//! Defines schemas and versions of a store: pure data and rules, without DuckDB and without I/O.

pub(crate) mod alter;
pub mod alteration;
pub mod defaults;
pub(crate) mod definition;
pub(crate) mod difference;
pub(crate) mod exact;
pub(crate) mod invariants;
pub mod manifest;
pub mod plan;
pub(crate) mod succession;
pub mod types;
pub mod update;

pub use definition::*;
