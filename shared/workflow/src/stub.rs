//! Names activities and workflow types together with the types of their input and result, so that the
//! compiler checks each call.

use std::fmt;
use std::marker::PhantomData;

/// Activity that takes an `I` and returns an `O`.
///
/// ```
/// # use workflow::{ActivityContext, ActivityType, Context, Failure, Registry};
/// const CHARGE: ActivityType<u64, String> = ActivityType::new("charge");
///
/// async fn charge(_: ActivityContext, cents: u64) -> Result<String, Failure> {
///     Ok(format!("receipt for {cents}"))
/// }
/// async fn pay(context: Context, cents: u64) -> Result<String, Failure> {
///     context.run(CHARGE, &cents).await
/// }
/// let registry = Registry::new().workflow("Pay", pay).activity(CHARGE, charge);
/// ```
///
/// A call with another input does not compile, nor does a result of another type, nor the registration of
/// other code:
///
/// ```compile_fail
/// # use workflow::{ActivityType, Context, Failure};
/// # const CHARGE: ActivityType<u64, String> = ActivityType::new("charge");
/// async fn pay(context: Context, cents: String) -> Result<String, Failure> {
///     context.run(CHARGE, &cents).await
/// }
/// ```
///
/// ```compile_fail
/// # use workflow::{ActivityType, Context, Failure};
/// # const CHARGE: ActivityType<u64, String> = ActivityType::new("charge");
/// async fn pay(context: Context, cents: u64) -> Result<u64, Failure> {
///     context.run(CHARGE, &cents).await
/// }
/// ```
///
/// ```compile_fail
/// # use workflow::{ActivityContext, ActivityType, Failure, Registry};
/// # const CHARGE: ActivityType<u64, String> = ActivityType::new("charge");
/// async fn charge(_: ActivityContext, cents: u64) -> Result<u64, Failure> {
///     Ok(cents)
/// }
/// let registry = Registry::new().activity(CHARGE, charge);
/// ```
pub struct ActivityType<I, O> {
    name: &'static str,
    types: PhantomData<fn(&I) -> O>,
}

impl<I, O> ActivityType<I, O> {
    /// Histories keep the name, so it must not change when the function is renamed.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            types: PhantomData,
        }
    }

    pub const fn name(self) -> &'static str {
        self.name
    }
}

/// Workflow type whose runs take an `I` and return an `O`, with its signals and queries.
pub struct WorkflowType<I, O> {
    name: &'static str,
    signals: &'static [&'static str],
    queries: &'static [&'static str],
    types: PhantomData<fn(&I) -> O>,
}

impl<I, O> WorkflowType<I, O> {
    /// Histories keep the name, so it must not change when the function is renamed.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            signals: &[],
            queries: &[],
            types: PhantomData,
        }
    }

    /// Signals that the code listens for, for `GET /workflows/types`; `workflow::testing` checks the list.
    #[must_use]
    pub const fn signals(mut self, names: &'static [&'static str]) -> Self {
        self.signals = names;
        self
    }

    /// Queries that the code answers, for `GET /workflows/types`; `workflow::testing` checks the list.
    #[must_use]
    pub const fn queries(mut self, names: &'static [&'static str]) -> Self {
        self.queries = names;
        self
    }

    pub const fn name(self) -> &'static str {
        self.name
    }
}

impl<I, O> Clone for ActivityType<I, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I, O> Copy for ActivityType<I, O> {}

impl<I, O> fmt::Debug for ActivityType<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ActivityType").field(&self.name).finish()
    }
}

impl<I, O> Clone for WorkflowType<I, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I, O> Copy for WorkflowType<I, O> {}

impl<I, O> fmt::Debug for WorkflowType<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WorkflowType").field(&self.name).finish()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interactions {
    pub signals: &'static [&'static str],
    pub queries: &'static [&'static str],
}

/// Name for a registration: a typed name, or a text.
pub trait ActivityName<I, O> {
    fn activity_name(&self) -> &str;
}

impl<I, O> ActivityName<I, O> for &str {
    fn activity_name(&self) -> &str {
        self
    }
}

impl<I, O> ActivityName<I, O> for ActivityType<I, O> {
    fn activity_name(&self) -> &str {
        self.name
    }
}

/// Name for a registration: a typed name, or a text.
pub trait WorkflowName<I, O> {
    fn workflow_name(&self) -> &str;

    /// None if they are not declared.
    fn interactions(&self) -> Option<Interactions>;
}

impl<I, O> WorkflowName<I, O> for &str {
    fn workflow_name(&self) -> &str {
        self
    }

    fn interactions(&self) -> Option<Interactions> {
        None
    }
}

impl<I, O> WorkflowName<I, O> for WorkflowType<I, O> {
    fn workflow_name(&self) -> &str {
        self.name
    }

    fn interactions(&self) -> Option<Interactions> {
        Some(Interactions {
            signals: self.signals,
            queries: self.queries,
        })
    }
}
