//! Tests who is calling: tokens of every algorithm and provider, service tokens, API keys and memberships.
#![cfg(test)]

mod access;
mod issuer;
mod providers;
mod service_tokens;
mod setup;
mod tokens;
