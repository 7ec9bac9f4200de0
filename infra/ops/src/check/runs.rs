//! Checks workflow runs: a history is dense and ends once, the state agrees with the history, and the index
//! finds each unfinished run.

use std::collections::{BTreeMap, BTreeSet};

use platform::objects::Objects;
use platform::records::Key;
use platform::records::keys::DueKind;
use platform::stored_json;
use platform::{Error, Result, UtcTime};
use serde_json::Value;
use workflow::event::{Event, EventKind};
use workflow::object_keys::ELSEWHERE;
use workflow::records::REMOVED;
use workflow::state::RunState;

use super::events::is_expired;

#[derive(Default)]
struct RunRecords {
    state: Option<RunState>,
    is_due: bool,
    /// The run's place in the index is the time of its removal.
    is_for_removal: bool,
    expires: bool,
    /// DynamoDB may have removed the run by now, or its removal has started.
    is_past: bool,
    has_history: bool,
    /// Events that the state no longer holds, keyed by the first event of each record.
    chunks: BTreeMap<u64, Vec<Event>>,
}

/// Adds a finding for each run that breaks an invariant. Returns the number of runs.
pub async fn histories_are_whole(
    records: &[(Key, Value)],
    objects: &Objects,
    now: UtcTime,
    findings: &mut Vec<String>,
) -> Result<usize> {
    let mut runs: BTreeMap<&str, RunRecords> = BTreeMap::new();
    for (key, record) in records.iter().filter(|(key, _)| key.pk.contains("#run#")) {
        let run = runs.entry(&key.pk).or_default();
        let result = match key.sk.split_once('#') {
            None if key.sk == "state" => {
                let shard = record.get("due_shard").and_then(Value::as_str);
                run.is_for_removal = shard.is_some_and(|shard| DueKind::RunRemovals.has(shard));
                run.is_due = shard.is_some() && !run.is_for_removal;
                run.expires = record.get("expires_at").is_some();
                run.is_past = is_expired(record, now);
                if record.get("status").and_then(Value::as_str) == Some(REMOVED) {
                    run.is_past = true;
                    Ok(())
                } else {
                    read_state(record, objects)
                        .await
                        .map(|state| run.state = Some(state))
                }
            }
            Some(("history", _)) => {
                run.has_history = true;
                read_chunk(record).map(|(first, events)| drop(run.chunks.insert(first, events)))
            }
            _ => Ok(()),
        };
        if let Err(cause) = result {
            findings.push(format!(
                "The record {} / {} cannot be read: {cause}.",
                key.pk, key.sk
            ));
        }
    }
    for (pk, run) in &runs {
        match &run.state {
            Some(state) => check(state, run, findings),
            // A removed run leaves a mark until the next step of its removal. Update messages expire on their
            // own.
            None if run.is_past || !run.has_history => {}
            None => findings.push(format!("The run {pk} has records and no state.")),
        }
    }
    named_objects_exist(&runs, objects, findings).await?;
    current_ones_are_there(records, &runs, now, findings);
    Ok(runs.values().filter(|run| run.state.is_some()).count())
}

/// Checks that a kept run's payloads exist in its own folder, and that its child runs and its continuation
/// exist.
async fn named_objects_exist(
    runs: &BTreeMap<&str, RunRecords>,
    objects: &Objects,
    findings: &mut Vec<String>,
) -> Result<()> {
    let listed = objects.list("payloads/").await?;
    let listed: BTreeSet<_> = listed.into_iter().map(|object| object.key).collect();
    for (pk, run) in runs {
        let Some(state) = run.state.as_ref().filter(|_| !run.is_past) else {
            continue;
        };
        let tenant = pk.split("#run#").next().unwrap_or_default();
        let mut initiated = BTreeMap::new();
        for event in run.chunks.values().flatten().chain(&state.tail) {
            let mut kind = event.kind.clone();
            if let Some(object) = kind.payload_mut().and_then(|payload| payload.stored().cloned())
                && !listed.contains(&object.key)
            {
                findings.push(format!("The payload {} of the run {pk} is gone.", object.key));
            }
            let other_run = match &event.kind {
                EventKind::StartChildWorkflowExecutionInitiated { run_id, .. } => {
                    initiated.insert(event.id, run_id);
                    None
                }
                EventKind::ChildWorkflowExecutionStarted { initiated_event_id } => {
                    initiated.get(initiated_event_id).copied()
                }
                EventKind::WorkflowExecutionContinuedAsNew { new_run_id, .. } => Some(new_run_id),
                _ => None,
            };
            if let Some(other_run) = other_run
                && !is_there(runs, &format!("{tenant}#run#{other_run}"))
            {
                findings.push(format!("The run {pk} names the run {other_run}, which is gone."));
            }
        }
    }
    Ok(())
}

fn is_there(runs: &BTreeMap<&str, RunRecords>, pk: &str) -> bool {
    runs.get(pk).is_some_and(|run| run.state.is_some())
}

/// Checks that the current run of each workflow id exists.
fn current_ones_are_there(
    records: &[(Key, Value)],
    runs: &BTreeMap<&str, RunRecords>,
    now: UtcTime,
    findings: &mut Vec<String>,
) {
    for (key, record) in records {
        let Some(tenant) = key.pk.strip_suffix("#workflows") else {
            continue;
        };
        let run_id = record.get("run_id").and_then(Value::as_str).unwrap_or_default();
        if !is_expired(record, now) && !is_there(runs, &format!("{tenant}#run#{run_id}")) {
            findings.push(format!(
                "The workflow id {} stands for the run {run_id}, which is gone.",
                key.sk
            ));
        }
    }
}

fn check(state: &RunState, run: &RunRecords, findings: &mut Vec<String>) {
    let mut claim = |holds: bool, what: &str| {
        if !holds {
            findings.push(format!("The run {} {what}.", state.run_id));
        }
    };
    let history: Vec<_> = run.chunks.values().flatten().chain(&state.tail).collect();
    let dense = history.iter().zip(1..).all(|(event, id)| event.id == id);
    claim(
        dense && history.len() as u64 == state.last_event,
        "has a history with a gap, a repeat or another end than its state says",
    );
    let ends: Vec<_> = history.iter().filter(|event| event.kind.is_terminal()).collect();
    claim(
        ends.len() == usize::from(state.is_closed()) && ends.iter().all(|end| end.id == state.last_event),
        "does not end where its history ends",
    );
    let waits = !state.outbox.is_empty()
        || state.needs_turn()
        || !state.activities.is_empty()
        || !state.timers.is_empty();
    claim(
        run.is_due || !waits,
        "is unfinished and has no time in the index `due`, so no worker finds it",
    );
    claim(
        state.is_closed() || !(run.expires || run.is_for_removal),
        "is under way, and is to be removed",
    );
    claim(
        !run.expires || run.chunks.is_empty(),
        "expires and would leave its history behind",
    );
    claim(
        !run.is_due || !state.is_closed() || !state.outbox.is_empty(),
        "has ended, and is looked for all the same",
    );
}

pub(super) async fn read_state(record: &Value, objects: &Objects) -> Result<RunState> {
    let text = record.get("state").and_then(Value::as_str).unwrap_or_default();
    match text.strip_prefix(ELSEWHERE) {
        None => serde_json::from_str(&stored_json::read(text.to_owned())?).map_err(Error::internal),
        Some(key) => {
            let bytes = objects.find(key).await?;
            let bytes = bytes.ok_or_else(|| {
                Error::internal(format!(
                    "the state {key} is gone; where the run is being written, another check tells"
                ))
            })?;
            serde_json::from_slice(&bytes).map_err(Error::internal)
        }
    }
}

fn read_chunk(record: &Value) -> Result<(u64, Vec<Event>)> {
    let first = record.get("first_event").and_then(Value::as_u64);
    let events = record.get("events").and_then(Value::as_str).unwrap_or_default();
    let events = serde_json::from_str(&stored_json::read(events.to_owned())?).map_err(Error::internal)?;
    first
        .map(|first| (first, events))
        .ok_or_else(|| Error::internal("it names no first event"))
}
