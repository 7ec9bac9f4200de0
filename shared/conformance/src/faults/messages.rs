//! Wraps queues and a bus with faults.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;
use platform::Result;
use platform::bus::Bus;
use platform::queue::{Delivery, Queue};

use super::{Faults, State, chance, lose, unavailable};

/// A queue with failing sends.
pub struct FaultyQueue {
    queue: Arc<dyn Queue>,
    faults: Faults,
}

impl FaultyQueue {
    /// Wraps a queue without faults.
    pub fn new(queue: Arc<dyn Queue>, faults: &Faults) -> Self {
        Self {
            queue,
            faults: faults.clone(),
        }
    }
}

#[async_trait]
impl Queue for FaultyQueue {
    async fn send_as(&self, body: &str, delivery: Delivery<'_>) -> Result<()> {
        self.faults.send(move || self.queue.send_as(body, delivery)).await
    }
}

/// A bus that loses events or fails.
pub struct FaultyBus {
    bus: Arc<dyn Bus>,
    faults: Faults,
}

impl FaultyBus {
    /// Wraps a bus without faults.
    pub fn new(bus: Arc<dyn Bus>, faults: &Faults) -> Self {
        Self {
            bus,
            faults: faults.clone(),
        }
    }
}

#[async_trait]
impl Bus for FaultyBus {
    async fn publish(&self, detail: &str) -> Result<()> {
        self.faults.send(move || self.bus.publish(detail)).await
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Sent,
    Failed,
    Lost,
    Dropped,
    Doubled,
}

impl State {
    fn fate_of_message(&mut self) -> Fate {
        let rates = self.rates.messages;
        let counts = &mut self.counts.messages;
        let faults = [
            (rates.failed, &mut counts.failed, Fate::Failed),
            (rates.lost, &mut counts.lost, Fate::Lost),
            (rates.dropped, &mut counts.dropped, Fate::Dropped),
            (rates.doubled, &mut counts.doubled, Fate::Doubled),
        ];
        for (rate, count, fate) in faults {
            if chance(&mut self.messages, rate) {
                *count += 1;
                return fate;
            }
        }
        Fate::Sent
    }
}

impl Faults {
    fn send<'a>(
        &'a self,
        send: impl Fn() -> BoxFuture<'a, Result<()>> + Send + 'a,
    ) -> BoxFuture<'a, Result<()>> {
        let fate = self.lock().fate_of_message();
        Box::pin(async move {
            match fate {
                Fate::Failed => return Err(unavailable("a message that is not taken, by a test")),
                Fate::Dropped => return Ok(()),
                Fate::Doubled => send().await?,
                Fate::Sent | Fate::Lost => {}
            }
            lose(send().await, || fate == Fate::Lost)
        })
    }
}
