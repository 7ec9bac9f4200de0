//! Stores the definitions of processes.

pub mod processes;
