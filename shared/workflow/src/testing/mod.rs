//! Tests workflows: executes whole runs in memory, with a simulated clock.
//!
//! It uses the engine's own drafts and replay, so retries, timers, child runs, cancellation and continuing as
//! a new run behave as in the engine. There are three differences. An attempt of an activity takes no time on
//! the run's clock, unless [`TestRun::taking`] sets a duration. A panic in an activity fails the test and not
//! the attempt, so that a mock can assert. A failed turn is reported at once, where the engine would retry
//! it.
//!
//! Each history is replayed once more at the end, which is likely to reveal code that is not deterministic.

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
use crate::turn::{NewUpdate, Replay, Turn, make_turn};
use crate::turn_failure::TurnFailure;

/// Default workflow id.
const WORKFLOW_ID: &str = "test";

/// A run to execute in memory.
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

/// Request to a run from outside, at a set time.
#[derive(Clone, Debug)]
enum Delivery {
    Signal { name: String, input: Payload },
    Cancel { reason: String },
    Query { name: String },
}

/// Final state of a run of a test.
#[derive(Clone, Debug)]
pub struct TestedRun {
    pub workflow_type: String,
    pub workflow_id: String,
    pub run_id: String,
    pub status: RunStatus,
    pub history: Vec<Event>,
    /// Update messages that the run published, in order.
    pub updates: Vec<NewUpdate>,
    /// What the code waits for; for a terminated or timed-out run, what it waited for at that time.
    pub waiting: Vec<String>,
    /// Id of the last event that a turn has applied.
    processed: u64,
}

/// Result of a test's run. If the run continued as new ones, the fields describe the last run.
pub struct TestOutcome {
    /// Status of the run; `Running` if it waits for something that never comes.
    pub status: RunStatus,
    /// Result that the run returned, on completion or on cancellation.
    pub result: Option<Value>,
    pub failure: Option<Failure>,
    pub history: Vec<Event>,
    /// Update messages of the run and of the runs that it continues, in order.
    pub updates: Vec<NewUpdate>,
    /// What the code waits for, if the run is open.
    pub waiting: Vec<String>,
    /// Answers to the queries of [`TestRun::query_at`], in order.
    pub answers: Vec<Result<Value, Failure>>,
    /// All runs in the order of their start: the first run, its continuations, child runs.
    pub runs: Vec<TestedRun>,
    registry: Registry,
    last: usize,
}

impl TestRun {
    /// Prepares a run of a registered type.
    pub fn new(registry: &Registry, workflow_type: &str, input: &(impl Serialize + ?Sized)) -> Self {
        Self {
            registry: registry.clone(),
            workflow_type: workflow_type.to_owned(),
            workflow_id: WORKFLOW_ID.to_owned(),
            program: None,
            input: Payload::from_value(input),
            deliveries: Vec::new(),
            taking: BTreeMap::new(),
            until: None,
        }
    }

    /// Sets the workflow id; the default is `test`.
    pub fn workflow_id(mut self, id: &str) -> Self {
        id.clone_into(&mut self.workflow_id);
        self
    }

    /// Sets the program that the run executes, for a type that interprets programs.
    pub fn program(mut self, program: &str) -> Self {
        self.program = Some(program.to_owned());
        self
    }

    /// Calls the mock in place of the activity, once for each attempt.
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

    /// Calls the mock in place of child runs of the type.
    pub fn mock_child(
        mut self,
        workflow_type: &str,
        mock: impl Fn(Value) -> Result<Value, Failure> + Send + Sync + 'static,
    ) -> Self {
        // The future calls the mock, not the closure, so that a mock that is not `Clone` can be shared.
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

    /// Sets how long each attempt of an activity takes on the run's clock. An attempt longer than its limit
    /// times out.
    pub fn taking(mut self, activity: &str, duration: Duration) -> Self {
        self.taking.insert(activity.to_owned(), millis(duration));
        self
    }

    /// Sends a signal at a time after the start of the run. A closed run ignores it.
    pub fn signal_at(self, after: Duration, name: &str, input: &(impl Serialize + ?Sized)) -> Self {
        match Payload::from_value(input) {
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

    /// Requests cancellation at a time after the start of the run. A closed run ignores it.
    pub fn cancel_at(self, after: Duration, reason: &str) -> Self {
        let reason = reason.to_owned();
        self.deliver(after, Delivery::Cancel { reason })
    }

    /// Queries the run at a time after its start; the answer is in [`TestOutcome::answers`].
    pub fn query_at(self, after: Duration, name: &str) -> Self {
        let name = name.to_owned();
        self.deliver(after, Delivery::Query { name })
    }

    fn deliver(mut self, after: Duration, delivery: Delivery) -> Self {
        self.deliveries.push((millis(after), delivery));
        self
    }

    /// Stops the test at a time after the start of the run, open or not: for code that never ends.
    pub fn until(mut self, after: Duration) -> Self {
        self.until = Some(millis(after));
        self
    }

    /// Executes the run on the simulated clock, without waiting. Call it from a plain `#[test]`: it makes the
    /// tokio runtime for activities.
    ///
    /// A failure of the workflow's code is part of the outcome. Returns an error where a turn fails (the code
    /// panics, or is not deterministic), where a type or activity is not registered, and where a run or its
    /// retries do not end.
    pub fn run(self) -> Result<TestOutcome, TurnFailure> {
        let input = self
            .input
            .map_err(|failure| TurnFailure::stuck(failure.message))?;
        let duplicates = self.registry.check();
        duplicates.map_err(|duplicate| TurnFailure::stuck(duplicate.to_string()))?;
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
            // A replay of the whole history must not repeat a command or an update message.
            let again = replay(&registry, &run.history, run.processed, None)?;
            if !again.events.is_empty() || !again.updates.is_empty() {
                return Err(TurnFailure::not_deterministic(
                    "The code asks for something once more, or publishes it once more, when it is replayed.",
                ));
            }
            check_interactions(&registry, &run.workflow_type, &again)?;
        }
        outcome(registry, runs, answers, &self.workflow_id)
    }
}

impl TestOutcome {
    /// Answers a query from the final state of the run.
    pub fn query(&self, name: &str) -> Result<Value, Failure> {
        let run = self.runs.get(self.last);
        let run = run.ok_or_else(|| Failure::new("NoRun", "There is no run."))?;
        answer(&self.registry, &run.history, run.processed, name)
    }

    /// Returns the names of the activities that the run scheduled, in order.
    pub fn activities(&self) -> Vec<&str> {
        let events = self.history.iter();
        let names = events.filter_map(|event| match &event.kind {
            EventKind::ActivityTaskScheduled { name, .. } => Some(name.as_str()),
            _ => None,
        });
        names.collect()
    }

    /// Returns the names of the history's events, in order.
    pub fn event_names(&self) -> Vec<&'static str> {
        self.history.iter().map(|event| event.kind.name()).collect()
    }
}

/// Replays a stored history with the current code. Where the two differ, returns an error that names the
/// event.
///
/// In a history that ends with termination or a time-out, commands of the last turn may be missing.
pub fn check_history(registry: &Registry, history: &[Event]) -> Result<(), TurnFailure> {
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
) -> Result<Turn, TurnFailure> {
    let Some(EventKind::WorkflowExecutionStarted(started)) = history.first().map(|event| &event.kind) else {
        return Err(TurnFailure::not_deterministic(
            "The history does not begin with the run's beginning.",
        ));
    };
    let code = registry
        .find_workflow(&started.workflow_type)
        .ok_or_else(|| TurnFailure::unknown_type(&started.workflow_type))?;
    let replay = Replay {
        history,
        processed,
        query,
        abort: None,
    };
    make_turn(code, replay)
}

/// Fails code that receives a signal or answers a query that its [`WorkflowType`](crate::WorkflowType) does
/// not declare.
fn check_interactions(registry: &Registry, workflow_type: &str, turn: &Turn) -> Result<(), TurnFailure> {
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
        Some((list, does, name)) => Err(TurnFailure::stuck(format!(
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
) -> Result<TestOutcome, TurnFailure> {
    let chain = || {
        runs.iter()
            .enumerate()
            .filter(|(_, run)| run.workflow_id == workflow_id)
    };
    let Some((last, run)) = chain().next_back() else {
        return Err(TurnFailure::stuck("There is no run."));
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
