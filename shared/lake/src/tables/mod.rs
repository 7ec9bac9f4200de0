//! Writes SQL over the tables of a version: names, reads of segments, native copies, views.

pub(crate) mod bound;
pub(crate) mod layout;
pub(crate) mod native;
pub(crate) mod sql;
pub(crate) mod views;
