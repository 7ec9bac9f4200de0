//! Stores prompt templates, their versions, and interactions.

pub mod interactions;
pub mod prompts;
