//! Defines events that a task waits for.

use super::{Expression, Task, Template, Transform};
use crate::data::Data;
use crate::pattern::Pattern;
use crate::source::Tree;

/// The task `listen`.
#[derive(Clone, Debug)]
pub struct Listen {
    /// `to`.
    pub strategy: Strategy,
    /// Part of an event in the output.
    pub read: Read,
    /// Tasks for each event.
    pub foreach: Option<Foreach>,
}

/// Events that end the wait.
#[derive(Clone, Debug)]
pub enum Strategy {
    /// One event that matches the filter.
    One(EventFilter),
    /// Any event that matches one of the filters; without filters, any event at all.
    Any {
        filters: Vec<EventFilter>,
        /// Further events are accepted until this holds. Without it, the first event ends the wait.
        until: Option<Until>,
    },
    All(Vec<EventFilter>),
}

/// End of a wait for any number of events.
#[derive(Clone, Debug)]
pub enum Until {
    /// Evaluated after each event, on the list of accepted events.
    Condition(Expression),
    /// Other events, which are not part of the output.
    Events(Box<Strategy>),
}

/// An event matches if all attributes match.
#[derive(Clone, Debug)]
pub struct EventFilter {
    /// [`flow::matches`](crate::flow::matches) compares them.
    pub with: Vec<ExpectedAttribute>,
    /// Links between events and data.
    pub correlate: Vec<Correlation>,
}

/// An attribute that an event must have. What depends on its value alone is compiled once.
#[derive(Clone, Debug)]
pub struct ExpectedAttribute {
    pub name: String,
    pub template: Template,
    /// Value of a template without expressions.
    pub(crate) constant: Option<Tree>,
    /// Size of that value, in bytes.
    pub(crate) bytes: usize,
    /// Pattern that it is, where it is one.
    pub(crate) pattern: Option<Pattern>,
}

impl ExpectedAttribute {
    /// Fails with a sentence for a text that is a faulty or too large pattern.
    pub fn new(name: String, template: Template) -> Result<Self, String> {
        let constant = template.constant();
        Ok(Self {
            bytes: constant.map_or(0, |constant| constant.get().len()),
            pattern: pattern_text(&template)
                .map(|text| Pattern::compile(&text))
                .transpose()?,
            constant: constant.map(Data::tree),
            name,
            template,
        })
    }

    /// Returns the memory of its pattern, in bytes.
    pub fn pattern_bytes(&self) -> usize {
        self.pattern.as_ref().map_or(0, Pattern::memory_bytes)
    }
}

/// Returns the text of an expected attribute that is a pattern.
pub fn pattern_text(template: &Template) -> Option<String> {
    let text = template.constant()?.as_text()?;
    Pattern::is_one(&text).then_some(text)
}

/// A value of an event that must equal another one.
#[derive(Clone, Debug)]
pub struct Correlation {
    pub name: String,
    /// Evaluated on the event.
    pub from: Expression,
    /// Without it, later events must have the value of the first event.
    pub expect: Option<Template>,
}

/// Part of an event in the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Read {
    #[default]
    Data,
    /// The event with its attributes.
    Envelope,
    /// The event's data as received.
    Raw,
}

/// Tasks for each event of `listen`, in the order of arrival.
#[derive(Clone, Debug)]
pub struct Foreach {
    /// Variable of the event, without `$`.
    pub item: String,
    /// Variable of the event's index, without `$`.
    pub at: String,
    pub tasks: Vec<Task>,
    pub output: Transform,
    /// Sets the context after each event.
    pub export: Transform,
}
