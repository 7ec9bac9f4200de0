//! What happened on the platform, who wants to know, and how outsiders tell of it.
//!
//! An [`Envelope`] is what happened. A [`Channel`](channel::Channel) is a door for outsiders: it says who may come in
//! and what an event is made of from what they bring. A [`Subscription`](subscription::Subscription) says which events are delivered
//! where; [`matching`] finds those that match. Nothing here knows how a delivery is carried out: that is `shared/runs`.

pub mod action;
pub mod channel;
pub mod condition;
pub mod delivery;
pub mod document_processed;
pub mod envelope;
pub mod filter;
pub mod listening;
pub mod matching;
pub mod path;
pub mod payload;
pub mod publish;
pub mod search;
pub mod signature;
pub mod subscription;
pub mod target;
pub mod template;
pub mod transform;

pub use envelope::{Category, Envelope, Meter, RawObject, raw};
