//! Defines the event bus.

use async_trait::async_trait;

use crate::error::Result;

/// `source` of every event that this service publishes.
pub const SOURCE: &str = "millrace";
/// `detail-type` of an event in the platform's envelope.
pub const DETAIL_TYPE: &str = "millrace.event";

#[async_trait]
pub trait Bus: Send + Sync {
    /// Publishes one event; `detail` is its envelope as JSON. Returns once the bus has accepted the event.
    async fn publish(&self, detail: &str) -> Result<()>;
}
