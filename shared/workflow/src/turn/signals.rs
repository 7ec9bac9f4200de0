//! Waits for signals and for cancellation.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll, Waker};

use serde::de::DeserializeOwned;

use super::context::Context;
use crate::failure::Failure;

#[derive(Clone)]
pub struct Signals {
    context: Context,
    name: String,
}

impl Signals {
    pub(super) fn new(context: Context, name: &str) -> Self {
        context.core.borrow_mut().listens_for.insert(name.to_owned());
        Self {
            context,
            name: name.to_owned(),
        }
    }

    /// Waits for the next signal. Fails if the scope is cancelled and no signal is left, or if the signal
    /// does not have the shape of `T`; that signal counts as read.
    pub fn receive<T>(&self) -> Receive<T> {
        Receive {
            signals: self.clone(),
            result: PhantomData,
        }
    }

    /// Returns the next signal if one has arrived.
    pub fn try_receive<T: DeserializeOwned>(&self) -> Option<Result<T, Failure>> {
        let mut core = self.context.core.borrow_mut();
        core.check_abort();
        let (_, input) = core.channels.get_mut(&self.name)?.unread.pop_front()?;
        drop(core);
        Some(input.read())
    }
}

pub struct Receive<T> {
    signals: Signals,
    result: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Future for Receive<T> {
    type Output = Result<T, Failure>;

    fn poll(self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Self::Output> {
        if let Some(signal) = self.signals.try_receive() {
            return Poll::Ready(signal);
        }
        let Context { core, scope } = &self.signals.context;
        let mut core = core.borrow_mut();
        let Some(scope) = core.scopes.get_mut(*scope).filter(|scope| !scope.canceled) else {
            return Poll::Ready(Err(Failure::canceled()));
        };
        wait(&mut scope.wakers, task);
        let channel = core.channels.entry(self.signals.name.clone()).or_default();
        wait(&mut channel.wakers, task);
        Poll::Pending
    }
}

pub struct Canceled {
    context: Context,
}

impl Canceled {
    pub(super) fn new(context: Context) -> Self {
        Self { context }
    }
}

impl Future for Canceled {
    type Output = ();

    fn poll(self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<()> {
        let Context { core, scope } = &self.context;
        let mut core = core.borrow_mut();
        core.check_abort();
        match core.scopes.get_mut(*scope) {
            Some(scope) if !scope.canceled => {
                wait(&mut scope.wakers, task);
                Poll::Pending
            }
            _ => Poll::Ready(()),
        }
    }
}

fn wait(wakers: &mut Vec<Waker>, task: &TaskContext<'_>) {
    if !wakers.iter().any(|waker| waker.will_wake(task.waker())) {
        wakers.push(task.waker().clone());
    }
}
