//! A kit for tests of workflows: whole runs in memory, by a clock that jumps.
//!
//! It drives the same drafts and the same replay as the engine does, so retries, timers, child runs, cancellation and going on
//! as new mean here what they mean there. Three things differ. An attempt of an activity takes no time by the run's clock,
//! unless [`TestRun::taking`] says how much. A panic in an activity is not an attempt that failed but fails the test, so that a
//! mock can assert. And a test hears at once of a turn that comes to nothing, where the engine would try it again.
//!
//! Each history is replayed once more at the end: code that is not deterministic is likely to be found out by that.

mod world;

#[cfg(test)]
mod programs;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use self::world::World;
use crate::engine::StartRun;
use crate::event::{Event, EventKind};
use crate::failure::Failure;
use crate::payload::Payload;
use crate::registry::Registry;
use crate::status::RunStatus;
use crate::task_failure::TaskFailure;
use crate::turn::{NewUpdate, Replay, Turn, make_turn};

/// The workflow id of a run that is given no other.
const WORKFLOW_ID: &str = "test";

/// A run to be made in memory.
#[must_use = "nothing happens before `run`"]
pub struct TestRun {
    registry: Registry,
    workflow_type: String,
    workflow_id: String,
    program: Option<String>,
    input: Result<Payload, Failure>,
    deliveries: Vec<(u64, Delivery)>,
    taking: BTreeMap<String, u64>,
    until: Option<u64>,
}

/// What comes to a run from outside, or is asked of it, at a time.
#[derive(Clone, Debug)]
enum Delivery {
    Signal { name: String, input: Payload },
    Cancel { reason: String },
    Query { name: String },
}

/// A run of a test, as it was at the end.
#[derive(Clone, Debug)]
pub struct TestedRun {
    /// Its type.
    pub workflow_type: String,
    /// Its workflow id.
    pub workflow_id: String,
    /// Its run id.
    pub run_id: String,
    /// Whether it goes on, and how it ended.
    pub status: RunStatus,
    /// Its history.
    pub history: Vec<Event>,
    /// What it published.
    pub updates: Vec<NewUpdate>,
    /// What its code waits for; of a run that somebody ended, what it waited for then.
    pub waiting: Vec<String>,
    /// The last event that a turn has applied.
    processed: u64,
}

/// What came of a test's run. Where the run went on as new ones, it is the last of them that is meant.
pub struct TestOutcome {
    /// Whether it goes on, and how it ended. One that waits for what never comes is `Running`.
    pub status: RunStatus,
    /// What it returned, as a result or with its cancellation.
    pub result: Option<Value>,
    /// How it failed.
    pub failure: Option<Failure>,
    /// Its history.
    pub history: Vec<Event>,
    /// What it and the runs before it published, in order.
    pub updates: Vec<NewUpdate>,
    /// What its code waits for, where it has not ended.
    pub waiting: Vec<String>,
    /// The answers to the queries of [`TestRun::query_at`], in order.
    pub answers: Vec<Result<Value, Failure>>,
    /// Every run that there was, in the order in which they began: the first one, those that it went on as, child runs.
    pub runs: Vec<TestedRun>,
    registry: Registry,
    last: usize,
}

impl TestRun {
    /// A run of a registered type, with an input.
    pub fn new(registry: &Registry, workflow_type: &str, input: &(impl Serialize + ?Sized)) -> Self {
        Self {
            registry: registry.clone(),
            workflow_type: workflow_type.to_owned(),
            workflow_id: WORKFLOW_ID.to_owned(),
            program: None,
            input: Payload::of(input),
            deliveries: Vec::new(),
            taking: BTreeMap::new(),
            until: None,
        }
    }

    /// Its workflow id, where `test` does not do.
    pub fn workflow_id(mut self, id: &str) -> Self {
        id.clone_into(&mut self.workflow_id);
        self
    }

    /// The program that it executes, for a type that interprets programs.
    pub fn program(mut self, program: &str) -> Self {
        self.program = Some(program.to_owned());
        self
    }

    /// Does this in place of an activity, once for each attempt.
    pub fn mock(
        mut self,
        activity: &str,
        mock: impl Fn(Value) -> Result<Value, Failure> + Send + Sync + 'static,
    ) -> Self {
        self.registry =
            self.registry
                .without_activity(activity)
                .activity(activity, move |_, input: Value| {
                    let result = mock(input);
                    async move { result }
                });
        self
    }

    /// Does this in place of child runs of a type.
    pub fn mock_child(
        mut self,
        workflow_type: &str,
        mock: impl Fn(Value) -> Result<Value, Failure> + Send + Sync + 'static,
    ) -> Self {
        // Its future, and not the call, runs the mock: a closure that is no `Clone` can be shared then.
        let mock = Arc::new(mock);
        self.registry =
            self.registry
                .without_workflow(workflow_type)
                .workflow(workflow_type, move |_, input: Value| {
                    let mock = Arc::clone(&mock);
                    async move { mock(input) }
                });
        self
    }

    /// Each attempt of an activity takes so long by the run's clock. Longer than the attempt may, and it times out.
    pub fn taking(mut self, activity: &str, duration: Duration) -> Self {
        self.taking.insert(activity.to_owned(), millis(duration));
        self
    }

    /// A signal, so long after the run began. One that comes after its end is not heard.
    pub fn signal_at(self, after: Duration, name: &str, input: &(impl Serialize + ?Sized)) -> Self {
        match Payload::of(input) {
            Ok(input) => {
                let name = name.to_owned();
                self.deliver(after, Delivery::Signal { name, input })
            }
            Err(failure) => Self {
                input: Err(failure),
                ..self
            },
        }
    }

    /// Asks the run to stop, so long after it began. After its end that changes nothing.
    pub fn cancel_at(self, after: Duration, reason: &str) -> Self {
        let reason = reason.to_owned();
        self.deliver(after, Delivery::Cancel { reason })
    }

    /// Asks the run a query, so long after it began; the answer is among [`TestOutcome::answers`].
    pub fn query_at(self, after: Duration, name: &str) -> Self {
        let name = name.to_owned();
        self.deliver(after, Delivery::Query { name })
    }

    fn deliver(mut self, after: Duration, delivery: Delivery) -> Self {
        self.deliveries.push((millis(after), delivery));
        self
    }

    /// Looks at the run after so long, though it may not have ended: for code that goes on for ever.
    pub fn until(mut self, after: Duration) -> Self {
        self.until = Some(millis(after));
        self
    }

    /// Makes the run, and waits for nothing. It is called from a plain `#[test]`: activities get a tokio runtime of the test.
    ///
    /// A failure of the workflow's code is an outcome; this fails where a turn comes to nothing (the code panics, or is not
    /// deterministic), and where something is missing or has no end.
    pub fn run(self) -> Result<TestOutcome, TaskFailure> {
        let input = self
            .input
            .map_err(|failure| TaskFailure::stuck(failure.message))?;
        let duplicates = self.registry.check();
        duplicates.map_err(|duplicate| TaskFailure::stuck(duplicate.to_string()))?;
        let mut world = World::new(self.registry, self.taking)?;
        let start = StartRun {
            program: self.program,
            ..StartRun::new(&self.workflow_type, &self.workflow_id, input)
        };
        world.start(start)?;
        world.deliver_later(self.deliveries);
        world.go(self.until)?;
        let (registry, runs, answers) = world.end();
        for run in &runs {
            // Once more, over the whole history: nothing is asked for twice, and nothing is published twice.
            let again = replay(&registry, &run.history, run.processed, None)?;
            if !again.events.is_empty() || !again.updates.is_empty() {
                return Err(TaskFailure::not_deterministic(
                    "The code asks for something once more, or publishes it once more, when it is replayed.",
                ));
            }
            check_interactions(&registry, &run.workflow_type, &again)?;
        }
        outcome(registry, runs, answers, &self.workflow_id)
    }
}

impl TestOutcome {
    /// The answer to a query, as the run stands at the end.
    pub fn query(&self, name: &str) -> Result<Value, Failure> {
        let run = self.runs.get(self.last);
        let run = run.ok_or_else(|| Failure::new("NoRun", "There is no run."))?;
        answer(&self.registry, &run.history, run.processed, name)
    }

    /// The names of the activities that the run asked for, in order.
    pub fn activities(&self) -> Vec<&str> {
        let events = self.history.iter();
        let names = events.filter_map(|event| match &event.kind {
            EventKind::ActivityTaskScheduled { name, .. } => Some(name.as_str()),
            _ => None,
        });
        names.collect()
    }

    /// The names of the history's events, in order.
    pub fn event_names(&self) -> Vec<&'static str> {
        self.history.iter().map(|event| event.kind.name()).collect()
    }
}

/// Holds a stored history against the code of today. A failure where they part, which says at which event.
///
/// A history that ends with the run being terminated or timed out may stop short of what the code would have asked for.
pub fn check_history(registry: &Registry, history: &[Event]) -> Result<(), TaskFailure> {
    let cut_off = history.last().is_some_and(|last| {
        matches!(
            last.kind,
            EventKind::WorkflowExecutionTerminated { .. } | EventKind::WorkflowExecutionTimedOut {}
        )
    });
    let processed = match cut_off {
        true => history.iter().rfind(|event| event.kind.is_command()),
        false => history.last(),
    };
    replay(registry, history, processed.map_or(0, |event| event.id), None).map(drop)
}

fn replay(
    registry: &Registry,
    history: &[Event],
    processed: u64,
    query: Option<&str>,
) -> Result<Turn, TaskFailure> {
    let Some(EventKind::WorkflowExecutionStarted(started)) = history.first().map(|event| &event.kind) else {
        return Err(TaskFailure::not_deterministic(
            "The history does not begin with the run's beginning.",
        ));
    };
    let code = registry
        .find_workflow(&started.workflow_type)
        .ok_or_else(|| TaskFailure::unknown_type(&started.workflow_type))?;
    let replay = Replay {
        history,
        processed,
        query,
        abort: None,
    };
    make_turn(code, replay)
}

/// Fails code that listens for a signal, or answers a query, that its [`WorkflowType`](crate::WorkflowType) does not declare.
fn check_interactions(registry: &Registry, workflow_type: &str, turn: &Turn) -> Result<(), TaskFailure> {
    let Some(declared) = registry.interactions(workflow_type) else {
        return Ok(());
    };
    let missing = |used: &BTreeSet<String>, declared: &[&str]| {
        let mut used = used.iter();
        used.find(|name| !declared.contains(&name.as_str())).cloned()
    };
    let signal =
        missing(&turn.signals, declared.signals).map(|name| ("signals", "listens for the signal", name));
    let query = missing(&turn.queries, declared.queries).map(|name| ("queries", "answers the query", name));
    match signal.or(query) {
        Some((list, does, name)) => Err(TaskFailure::stuck(format!(
            "The workflow type '{workflow_type}' {does} '{name}' without declaring it: add it to `.{list}(&[…])` of its WorkflowType."
        ))),
        None => Ok(()),
    }
}

fn answer(registry: &Registry, history: &[Event], processed: u64, query: &str) -> Result<Value, Failure> {
    let turn = replay(registry, history, processed, Some(query))
        .map_err(|failure| Failure::new("TaskFailed", failure.to_string()))?;
    match turn.answer {
        Some(answer) => Ok(answer?.to_value()),
        None => Err(Failure::new(
            "UnknownQuery",
            format!("The code answers no query '{query}'."),
        )),
    }
}

fn outcome(
    registry: Registry,
    runs: Vec<TestedRun>,
    answers: Vec<Result<Value, Failure>>,
    workflow_id: &str,
) -> Result<TestOutcome, TaskFailure> {
    let chain = || {
        runs.iter()
            .enumerate()
            .filter(|(_, run)| run.workflow_id == workflow_id)
    };
    let Some((last, run)) = chain().next_back() else {
        return Err(TaskFailure::stuck("There is no run."));
    };
    let (result, failure) = match run.history.last().map(|event| &event.kind) {
        Some(EventKind::WorkflowExecutionCompleted { result }) => (Some(result.to_value()), None),
        Some(EventKind::WorkflowExecutionCanceled { details }) => {
            (details.as_ref().map(Payload::to_value), None)
        }
        Some(EventKind::WorkflowExecutionFailed { failure }) => (None, Some(failure.clone())),
        _ => (None, None),
    };
    Ok(TestOutcome {
        status: run.status,
        result,
        failure,
        history: run.history.clone(),
        updates: chain().flat_map(|(_, run)| run.updates.clone()).collect(),
        waiting: run.waiting.clone(),
        answers,
        last,
        registry,
        runs,
    })
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
