//! Defines the event bus.

use crate::error::Result;
use crate::queue::BoxFuture;

/// `source` of every event that this service publishes.
pub const SOURCE: &str = "millrace";
/// `detail-type` of an event in the platform's envelope.
pub const DETAIL_TYPE: &str = "millrace.event";

pub trait Bus: Send + Sync {
    /// Publishes one event; `detail` is its envelope as JSON. Returns once the bus has accepted the event.
    fn publish<'a>(&'a self, detail: &'a str) -> BoxFuture<'a, Result<()>>;
}
