//! Tests `/api/v1/prompts`.
#![cfg(test)]

mod bodies;
mod forks;
mod lists;
mod nesting;
mod publish;
mod render;
mod requests;
mod strangers;
mod templates;
mod validation;
mod versions;
