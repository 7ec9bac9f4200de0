//! Defines events, the channels through which external systems push them, and the subscriptions that receive
//! them.
//!
//! A [`StoredChannel`](channel::StoredChannel) authenticates external senders and defines how their bodies
//! become an [`Envelope`]. A [`StoredSubscription`](subscription::StoredSubscription) says which events are
//! delivered to which target; [`matching`] finds the subscriptions of an event. Nothing here carries out a
//! delivery: that is `shared/runs`.

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
pub mod records;
pub mod retention;
pub mod search;
pub mod sender;
mod sender_time;
pub mod signature;
pub mod subscribing;
pub mod subscription;
pub mod system_event;
pub mod target;
pub mod template;
pub mod transform;

pub use envelope::{Category, Envelope, Meter, RawObject, raw};
