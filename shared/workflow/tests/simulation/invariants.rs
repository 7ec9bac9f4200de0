//! Checks the invariants of each write and of the final state.

use std::collections::{BTreeMap, BTreeSet};

use workflow::event::{ChildOutcome, Event, EventKind};
use workflow::state::RunState;
use workflow::turn_failure::TurnFailureKind;

use crate::world::World;

/// Returns the invariants that a write breaks.
pub fn of_write(run_id: &str, before: Option<&[Event]>, after: &[Event], state: &RunState) -> Vec<String> {
    let mut broken = Vec::new();
    let mut claim = |holds: bool, what: String| {
        if !holds {
            broken.push(format!("{run_id}: {what}"));
        }
    };
    if let Some(before) = before {
        claim(
            after.starts_with(before),
            "the history was changed, not continued".to_owned(),
        );
    }
    for (place, event) in after.iter().enumerate() {
        claim(
            event.id == place as u64 + 1,
            format!("event {} stands at place {}", event.id, place + 1),
        );
    }
    claim(
        after.windows(2).all(|pair| pair[0].time <= pair[1].time),
        "time goes back in the history".to_owned(),
    );
    let terminal: Vec<_> = after.iter().filter(|event| event.kind.is_terminal()).collect();
    claim(terminal.len() <= 1, "the run ends twice".to_owned());
    if let Some(end) = terminal.first() {
        claim(
            end.id == after.len() as u64,
            format!("something comes after the end at event {}", end.id),
        );
    }
    claim(
        state.is_closed() != terminal.is_empty(),
        "the status does not say what the history says".to_owned(),
    );
    let mut ended = BTreeSet::new();
    for event in after {
        let begun_by = match &event.kind {
            EventKind::ActivityTaskCompleted {
                scheduled_event_id, ..
            }
            | EventKind::ActivityTaskFailed {
                scheduled_event_id, ..
            }
            | EventKind::ActivityTaskTimedOut {
                scheduled_event_id, ..
            }
            | EventKind::ActivityTaskCanceled { scheduled_event_id } => *scheduled_event_id,
            EventKind::TimerFired { started_event_id } | EventKind::TimerCanceled { started_event_id } => {
                *started_event_id
            }
            EventKind::ChildWorkflowExecutionClosed {
                initiated_event_id, ..
            }
            | EventKind::StartChildWorkflowExecutionFailed {
                initiated_event_id, ..
            } => *initiated_event_id,
            _ => continue,
        };
        claim(
            begun_by < event.id && begun_by > 0,
            format!("event {} ends what was not begun", event.id),
        );
        claim(
            ended.insert(begun_by),
            format!("what event {begun_by} began ends twice"),
        );
    }
    if let Some(task) = &state.failed_turn {
        claim(
            task.failure.kind != TurnFailureKind::NonDeterministic,
            format!("code and history parted: {}", task.failure),
        );
    }
    broken
}

/// The only failure of a run: the input has another shape than the code reads. Activities are retried until
/// they succeed.
const WRONG_INPUT: &str = "InvalidPayload";

/// Returns the invariants that the final state breaks.
pub fn at_the_end(world: &World, acknowledged: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let mut broken = Vec::new();
    let memory = &world.memory;
    for (run_id, kept) in &memory.runs {
        let state = memory.state(run_id).unwrap();
        let history = memory.history(run_id);
        if !state.is_closed() {
            broken.push(format!("{run_id} ({}) does not end", state.workflow_type));
            continue;
        }
        if kept.due_at.is_some() || !state.outbox.is_empty() {
            broken.push(format!(
                "{run_id} has ended and is not finished: {:?}",
                state.outbox
            ));
        }
        for event in &history {
            // A completion needs a call of the activity.
            if let EventKind::ActivityTaskCompleted {
                scheduled_event_id, ..
            } = &event.kind
            {
                let EventKind::ActivityTaskScheduled { activity_id, .. } =
                    &history[*scheduled_event_id as usize - 1].kind
                else {
                    continue;
                };
                if !world.calls.contains_key(&(run_id.clone(), activity_id.clone())) {
                    broken.push(format!(
                        "{run_id}: activity {activity_id} was completed without being called"
                    ));
                }
            }
        }
        check_signals(run_id, &history, &mut broken);
        if let Some(ChildOutcome::Failed(failure)) = &state.outcome
            && failure.kind != WRONG_INPUT
        {
            broken.push(format!("{run_id} ({}) failed: {failure}", state.workflow_type));
        }
    }
    check_acknowledged(world, acknowledged, &mut broken);
    for id in world.bus.keys() {
        if !memory.events.contains_key(id) {
            broken.push(format!("the bus has an event that is not written: {id}"));
        }
    }
    check_announced(world, &mut broken);
    broken
}

/// Checks that the collecting workload returns the signals of its history, in their order, each once.
fn check_signals(run_id: &str, history: &[Event], broken: &mut Vec<String>) {
    let EventKind::WorkflowExecutionStarted(started) = &history[0].kind else {
        broken.push(format!("{run_id} does not begin with its start"));
        return;
    };
    let Some(EventKind::WorkflowExecutionCompleted { result }) = history.last().map(|event| &event.kind)
    else {
        return;
    };
    if started.workflow_type != "Collect" {
        return;
    }
    let came: Vec<String> = history
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::WorkflowExecutionSignaled { input, .. } => input.read().ok(),
            _ => None,
        })
        .collect();
    let read: Vec<String> = result.read().unwrap();
    if !came.starts_with(&read) {
        broken.push(format!("{run_id} read {read:?} of {came:?}"));
    }
}

/// Checks that each acknowledged signal is in the history of its workflow id exactly once, and any other at
/// most once.
fn check_acknowledged(world: &World, acknowledged: &BTreeMap<String, Vec<String>>, broken: &mut Vec<String>) {
    for (workflow_id, sent) in acknowledged {
        let mut seen: BTreeMap<String, u32> = BTreeMap::new();
        for run_id in world.memory.runs.keys() {
            let state = world.memory.state(run_id).unwrap();
            if state.workflow_id != *workflow_id {
                continue;
            }
            let history = world.memory.history(run_id);
            // Signals carried over from the run before were counted there.
            let carried = match &history[0].kind {
                EventKind::WorkflowExecutionStarted(started) if started.continued_from.is_some() => {
                    history[1..].iter().take_while(|event| event.time == history[0].time && matches!(&event.kind, EventKind::WorkflowExecutionSignaled { identity, .. } if identity.is_empty())).count()
                }
                _ => 0,
            };
            for event in history.iter().skip(1 + carried) {
                if let EventKind::WorkflowExecutionSignaled { input, .. } = &event.kind {
                    *seen.entry(input.read().unwrap()).or_default() += 1;
                }
            }
        }
        for signal in sent {
            if seen.get(signal) != Some(&1) {
                broken.push(format!(
                    "{workflow_id}: the signal {signal} is there {:?} times",
                    seen.get(signal)
                ));
            }
        }
        for (signal, times) in &seen {
            if *times > 1 {
                broken.push(format!(
                    "{workflow_id}: the signal {signal} is there {times} times"
                ));
            }
        }
    }
}

/// Checks that the end of each closed run is announced exactly once, and not at all where the run continued
/// as a new one.
fn check_announced(world: &World, broken: &mut Vec<String>) {
    let mut announced: BTreeMap<(String, bool), u32> = BTreeMap::new();
    for envelope in world.memory.events.values() {
        let envelope: serde_json::Value = serde_json::from_str(envelope).unwrap();
        let run = envelope["details"]["workflow_run_id"]
            .as_str()
            .unwrap()
            .to_owned();
        *announced
            .entry((run, envelope["action"] == "workflow_started"))
            .or_default() += 1;
    }
    for run_id in world.memory.runs.keys() {
        let state = world.memory.state(run_id).unwrap();
        let goes_on = state.status == workflow::status::RunStatus::ContinuedAsNew;
        let ends = announced.get(&(run_id.clone(), false)).copied().unwrap_or(0);
        if state.is_closed() && ends != u32::from(!goes_on) {
            broken.push(format!(
                "the end of {run_id} ({:?}) is announced {ends} times",
                state.status
            ));
        }
    }
}
