//! The event bus: what happened, for whoever wants to know.

use crate::error::Result;
use crate::queue::BoxFuture;

/// The `source` of every event that this service puts on the bus.
pub const SOURCE: &str = "millrace";
/// The `detail-type` of an event in the platform's envelope.
pub const DETAIL_TYPE: &str = "millrace.event";

/// A bus to publish to.
pub trait Bus: Send + Sync {
    /// Puts one event on the bus; `detail` is its envelope as JSON. Done when the bus has it.
    fn publish<'a>(&'a self, detail: &'a str) -> BoxFuture<'a, Result<()>>;
}
