//! What happened on the platform: the envelope of an event, which subscriptions match and audits count.

mod envelope;

pub use envelope::{Category, Envelope, Meter};
