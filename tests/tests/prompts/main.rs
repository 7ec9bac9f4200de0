//! Tests `/api/v1/prompts`.
#![cfg(test)]

mod bodies;
mod forks;
mod lists;
mod nesting;
mod templates;
mod validation;
mod versions;
