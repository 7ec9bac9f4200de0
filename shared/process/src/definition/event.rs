//! Events that a task waits for.

use super::{Expression, Task, Template, Transform};

/// The task `listen`.
#[derive(Clone, Debug)]
pub struct Listen {
    /// `to`.
    pub strategy: Strategy,
    /// How much of an event the output has.
    pub read: Read,
    /// What to do with each event.
    pub foreach: Option<Foreach>,
}

/// Which events end the wait.
#[derive(Clone, Debug)]
pub enum Strategy {
    /// One event of this filter.
    One(EventFilter),
    /// Any event of these filters; of any kind, where there are none.
    Any {
        /// Filters.
        filters: Vec<EventFilter>,
        /// Further events are taken until this holds. Without it, the first event ends the wait.
        until: Option<Until>,
    },
    /// One event of each filter.
    All(Vec<EventFilter>),
}

/// What ends a wait for any number of events.
#[derive(Clone, Debug)]
pub enum Until {
    /// Evaluated after each event, on the list of those taken.
    Condition(Expression),
    /// Other events, which are not part of the output.
    Events(Box<Strategy>),
}

/// An event matches if each attribute does.
#[derive(Clone, Debug)]
pub struct EventFilter {
    /// Expected attributes by name; [`flow::matches`](crate::flow::matches) says how they compare.
    pub with: Vec<(String, Template)>,
    /// Links to data.
    pub correlate: Vec<Correlation>,
}

/// A value of an event that must be the same as another.
#[derive(Clone, Debug)]
pub struct Correlation {
    /// Its name.
    pub name: String,
    /// Evaluated on the event.
    pub from: Expression,
    /// Without it, the value of the first event is expected of those after it.
    pub expect: Option<Template>,
}

/// How much of an event is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Read {
    /// Its data.
    #[default]
    Data,
    /// The event with its attributes.
    Envelope,
    /// Its data as it came in.
    Raw,
}

/// What to do with each event of `listen`, in the order in which they come.
#[derive(Clone, Debug)]
pub struct Foreach {
    /// Variable of the event, without `$`.
    pub item: String,
    /// Variable of its index, without `$`.
    pub at: String,
    /// Tasks for each.
    pub tasks: Vec<Task>,
    /// Shapes the output for each.
    pub output: Transform,
    /// Sets the context after each.
    pub export: Transform,
}
