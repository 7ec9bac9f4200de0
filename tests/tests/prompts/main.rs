//! Tests `/api/v1/prompts`.
#![cfg(test)]

mod bodies;
mod forks;
mod lists;
mod nesting;
mod render;
mod requests;
mod templates;
mod validation;
mod versions;
