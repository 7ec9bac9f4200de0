//! Requests activities and child runs, and waits for them.

use std::cell::RefCell;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use serde::de::DeserializeOwned;

use super::context::Context;
use super::core::{Core, OperationKind};
use crate::event::EventKind;
use crate::failure::Failure;
use crate::options::{ActivityOptions, ParentClosePolicy, RetryPolicy};
use crate::payload::Payload;

/// A started operation. Dropping it does not end the operation; cancelling its scope does.
pub struct Pending<T> {
    core: Rc<RefCell<Core>>,
    /// The failure of an operation that could not start.
    operation: Result<usize, Failure>,
    result: PhantomData<fn() -> T>,
}

impl<T> Pending<T> {
    pub(super) fn new(context: &Context, operation: usize) -> Self {
        Self {
            core: Rc::clone(&context.core),
            operation: Ok(operation),
            result: PhantomData,
        }
    }

    fn refused(context: &Context, failure: Failure) -> Self {
        Self {
            core: Rc::clone(&context.core),
            operation: Err(failure),
            result: PhantomData,
        }
    }
}

impl<T: DeserializeOwned> Future for Pending<T> {
    type Output = Result<T, Failure>;

    fn poll(self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let index = match &self.operation {
            Ok(index) => *index,
            Err(failure) => return Poll::Ready(Err(failure.clone())),
        };
        let mut core = self.core.borrow_mut();
        core.check_abort();
        let Some(operation) = core.operations.get_mut(index) else {
            return Poll::Pending;
        };
        match &operation.outcome {
            Some(outcome) => {
                let outcome = outcome.clone();
                drop(core);
                Poll::Ready(outcome.and_then(|payload| payload.read()))
            }
            None => {
                operation.waker = Some(task.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// A requested activity.
#[must_use = "an activity begins when its call is started or awaited"]
pub struct ActivityCall<T> {
    context: Context,
    name: String,
    input: Result<Payload, Failure>,
    options: ActivityOptions,
    result: PhantomData<fn() -> T>,
}

impl<T> ActivityCall<T> {
    pub(super) fn new(context: Context, name: &str, input: Result<Payload, Failure>) -> Self {
        Self {
            context,
            name: name.to_owned(),
            input,
            options: ActivityOptions::default(),
            result: PhantomData,
        }
    }

    /// Sets the time limit of one attempt. Default: one minute.
    pub fn start_to_close(mut self, limit: Duration) -> Self {
        self.options.start_to_close_ms = Some(millis(limit));
        self
    }

    /// Sets the time limit of all attempts together.
    pub fn schedule_to_close(mut self, limit: Duration) -> Self {
        self.options.schedule_to_close_ms = Some(millis(limit));
        self
    }

    /// Sets the time limit between two heartbeats. Without it, none is checked.
    pub fn heartbeat(mut self, limit: Duration) -> Self {
        self.options.heartbeat_ms = Some(millis(limit));
        self
    }

    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.options.retry = policy;
        self
    }

    pub fn start(self) -> Pending<T> {
        let input = match self.input {
            Ok(input) => input,
            Err(failure) => return Pending::refused(&self.context, failure),
        };
        let mut core = self.context.core.borrow_mut();
        core.activities += 1;
        let kind = EventKind::ActivityTaskScheduled {
            activity_id: core.activities.to_string(),
            name: self.name.clone(),
            input,
            options: self.options,
        };
        let what = format!("activity {}", self.name);
        let operation = core.begin(self.context.scope, kind, what, OperationKind::Activity);
        drop(core);
        Pending::new(&self.context, operation)
    }
}

impl<T: DeserializeOwned> IntoFuture for ActivityCall<T> {
    type Output = Result<T, Failure>;
    type IntoFuture = Pending<T>;

    fn into_future(self) -> Pending<T> {
        self.start()
    }
}

/// A requested child run.
#[must_use = "a child run begins when its call is started or awaited"]
pub struct ChildCall<T> {
    context: Context,
    workflow_type: String,
    workflow_id: Option<String>,
    input: Result<Payload, Failure>,
    parent_close_policy: ParentClosePolicy,
    program: Option<String>,
    result: PhantomData<fn() -> T>,
}

impl<T> ChildCall<T> {
    pub(super) fn new(context: Context, workflow_type: &str, input: Result<Payload, Failure>) -> Self {
        Self {
            context,
            workflow_type: workflow_type.to_owned(),
            workflow_id: None,
            input,
            parent_close_policy: ParentClosePolicy::default(),
            program: None,
            result: PhantomData,
        }
    }

    /// Sets the child's workflow id. Default: a new one. The child fails to start while another run with this
    /// id is open.
    pub fn workflow_id(mut self, id: &str) -> Self {
        self.workflow_id = Some(id.to_owned());
        self
    }

    /// Sets the program of the child, for a type that interprets programs.
    pub fn program(mut self, program: impl Into<String>) -> Self {
        self.program = Some(program.into());
        self
    }

    /// Sets what happens to the child if this run ends first.
    pub fn parent_close_policy(mut self, policy: ParentClosePolicy) -> Self {
        self.parent_close_policy = policy;
        self
    }

    pub fn start(self) -> ChildRun<T> {
        let input = match self.input {
            Ok(input) => input,
            Err(failure) => {
                return ChildRun {
                    workflow_id: String::new(),
                    run_id: String::new(),
                    pending: Pending::refused(&self.context, failure),
                };
            }
        };
        let mut core = self.context.core.borrow_mut();
        let run_id = core.derived_id();
        let workflow_id = self.workflow_id.unwrap_or_else(|| run_id.clone());
        let kind = EventKind::StartChildWorkflowExecutionInitiated {
            workflow_id: workflow_id.clone(),
            run_id: run_id.clone(),
            workflow_type: self.workflow_type.clone(),
            input,
            parent_close_policy: self.parent_close_policy,
            program: self.program,
        };
        let what = format!("child run {} {workflow_id}", self.workflow_type);
        let operation = core.begin(self.context.scope, kind, what, OperationKind::Child);
        drop(core);
        ChildRun {
            workflow_id,
            run_id,
            pending: Pending::new(&self.context, operation),
        }
    }
}

impl<T: DeserializeOwned> IntoFuture for ChildCall<T> {
    type Output = Result<T, Failure>;
    type IntoFuture = ChildRun<T>;

    fn into_future(self) -> ChildRun<T> {
        self.start()
    }
}

/// A started child run. As a future, it is the child's result.
pub struct ChildRun<T> {
    workflow_id: String,
    run_id: String,
    pending: Pending<T>,
}

impl<T> ChildRun<T> {
    pub fn workflow_id(&self) -> &str {
        &self.workflow_id
    }

    pub fn run_id(&self) -> &str {
        &self.run_id
    }
}

impl<T: DeserializeOwned> Future for ChildRun<T> {
    type Output = Result<T, Failure>;

    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.pending).poll(task)
    }
}

fn millis(limit: Duration) -> u64 {
    u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)
}
