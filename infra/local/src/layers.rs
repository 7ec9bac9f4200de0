//! What stands around the stores, the queues and the clock of a runner.
//!
//! `millrace` has nothing there. A program that watches or disturbs what the service does to them puts its
//! own in the way.

use std::sync::Arc;

use platform::Clock;
use platform::bus::Bus;
use platform::objects::ObjectStore;
use platform::queue::Queue;
use platform::records::store::RecordStore;

/// Each is given what the service would use, and gives what it uses instead.
pub trait Layers: Send + Sync {
    /// The store of all tables.
    fn records(&self, store: Arc<dyn RecordStore>) -> Arc<dyn RecordStore> {
        store
    }

    /// The store of all buckets, where objects are files.
    fn objects(&self, store: Arc<dyn ObjectStore>) -> Arc<dyn ObjectStore> {
        store
    }

    /// A queue, as its senders see it.
    fn queue(&self, queue: Arc<dyn Queue>) -> Arc<dyn Queue> {
        queue
    }

    /// The bus, as its publishers see it.
    fn bus(&self, bus: Arc<dyn Bus>) -> Arc<dyn Bus> {
        bus
    }

    /// What the service takes for the time; the same clock each time.
    fn clock(&self) -> Clock {
        Clock::System
    }
}

/// Nothing around anything.
#[derive(Clone, Copy, Debug)]
pub struct Bare;

impl Layers for Bare {}
