//! Makes HTTP calls in activities.
//!
//! The turn evaluates everything that contains no secrets. A part that contains a secret reaches the activity
//! as an expression with its data, so that the history holds no secret. What comes back is kept without the
//! secrets that went out.

mod answer;
mod authentication;
mod body;
mod content;
mod error;
mod fields;
pub(super) mod http;
mod keyring;
pub(super) mod openapi;
mod output;
mod part;
mod request;
mod result;

pub(super) use result::Called;
