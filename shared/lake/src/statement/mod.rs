//! Prepares a caller's statement: positions, parameters, and the check before DuckDB binds it.

pub(crate) mod check;
pub(crate) mod checked;
pub(crate) mod description;
pub(crate) mod messages;
pub mod parameters;
pub(crate) mod pivot_queries;
pub(crate) mod planned;
pub(crate) mod scanner;
pub(crate) mod tree;
pub(crate) mod volatile;
