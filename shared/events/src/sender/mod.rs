//! How external systems send: what they sign, how they ask whether a URL is theirs, and in which form their
//! bodies are.
//!
//! The code knows schemes, handshakes and forms of bodies, and no sender: a sender is a row of
//! `presets.json`, from which a channel takes its settings.

pub mod body;
pub mod certificate;
mod content;
pub mod handshake;
pub mod preset;
pub mod refusal;
pub mod request;
pub mod signature;
pub mod source;
pub mod verify;

pub use body::Item;
pub use refusal::{Refusal, RefusalReason};
pub use request::Request;
pub use source::Fields;
