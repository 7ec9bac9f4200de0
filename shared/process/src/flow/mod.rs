//! Rules of the DSL that code which runs a process needs: pure functions of a definition and data.

pub mod event;
pub mod uri;
