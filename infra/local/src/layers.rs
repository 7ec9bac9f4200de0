//! Wraps the stores, the queues and the clock of a runner.
//!
//! `millrace` wraps nothing. A program that observes or disturbs these services supplies its own layers.

use std::sync::Arc;

use platform::Clock;
use platform::bus::Bus;
use platform::objects::ObjectStore;
use platform::queue::Queue;
use platform::records::store::RecordStore;

/// Each method gets the service's own part and returns the part to use instead.
pub trait Layers: Send + Sync {
    /// Wraps the store of all tables.
    fn records(&self, store: Arc<dyn RecordStore>) -> Arc<dyn RecordStore> {
        store
    }

    /// Wraps the store of all buckets, where objects are files.
    fn objects(&self, store: Arc<dyn ObjectStore>) -> Arc<dyn ObjectStore> {
        store
    }

    /// Wraps a queue for its senders.
    fn queue(&self, queue: Arc<dyn Queue>) -> Arc<dyn Queue> {
        queue
    }

    /// Wraps the bus for its publishers.
    fn bus(&self, bus: Arc<dyn Bus>) -> Arc<dyn Bus> {
        bus
    }

    /// Returns the clock of the service; the same clock each time.
    fn clock(&self) -> Clock {
        Clock::System
    }
}

/// Wraps nothing.
#[derive(Clone, Copy, Debug)]
pub struct Bare;

impl Layers for Bare {}
