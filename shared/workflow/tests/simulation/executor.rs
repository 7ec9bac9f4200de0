//! Executes futures one step at a time, in an order drawn from the seed.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

pub type Process = Pin<Box<dyn Future<Output = ()> + Send>>;

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Slot {
    name: String,
    process: Process,
    flag: Arc<Flag>,
}

/// Simulated processes, each one a future.
#[derive(Default)]
pub struct Executor {
    slots: Vec<Slot>,
}

impl Executor {
    pub fn spawn(&mut self, name: impl Into<String>, process: impl Future<Output = ()> + Send + 'static) {
        self.slots.push(Slot {
            name: name.into(),
            process: Box::pin(process),
            flag: Arc::new(Flag(AtomicBool::new(true))),
        });
    }

    /// Returns the processes that can take a step.
    pub fn ready(&self) -> Vec<usize> {
        let ready = |index: &usize| self.slots[*index].flag.0.load(Ordering::Relaxed);
        (0..self.slots.len()).filter(ready).collect()
    }

    /// Polls a process once. Returns whether it has ended.
    pub fn step(&mut self, index: usize) -> bool {
        let slot = &mut self.slots[index];
        slot.flag.0.store(false, Ordering::Relaxed);
        let waker = Waker::from(Arc::clone(&slot.flag));
        match slot.process.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(()) => {
                self.slots.remove(index);
                true
            }
            Poll::Pending => false,
        }
    }

    /// Drops a process between two steps, and returns its name.
    pub fn crash(&mut self, index: usize) -> String {
        self.slots.remove(index).name
    }

    pub fn name(&self, index: usize) -> &str {
        &self.slots[index].name
    }
}
