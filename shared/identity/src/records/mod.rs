//! Stores API keys and memberships.

pub mod api_keys;
pub mod members;
