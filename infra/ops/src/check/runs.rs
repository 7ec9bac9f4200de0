//! Workflow runs: a history is dense and ends once, the state says what the history says, and what is unfinished is found by its time.

use std::collections::BTreeMap;

use platform::objects::Objects;
use platform::records::Key;
use platform::{Error, Result};
use serde_json::Value;
use workflow::event::Event;
use workflow::state::RunState;
use workflow::table::ELSEWHERE;

/// What the records of one run are.
#[derive(Default)]
struct Kept {
    state: Option<RunState>,
    is_due: bool,
    /// Events that the state no longer holds, by the first of each record.
    chunks: BTreeMap<u64, Vec<Event>>,
}

/// Adds a finding for each run that breaks an invariant. How many runs there are.
pub async fn histories_are_whole(
    records: &[(Key, Value)],
    objects: &Objects,
    findings: &mut Vec<String>,
) -> Result<usize> {
    let mut runs: BTreeMap<&str, Kept> = BTreeMap::new();
    for (key, record) in records.iter().filter(|(key, _)| key.pk.contains("#run#")) {
        let kept = runs.entry(&key.pk).or_default();
        let read = match key.sk.split_once('#') {
            None if key.sk == "state" => {
                kept.is_due = record.get("due_at").is_some();
                read_state(record, objects)
                    .await
                    .map(|state| kept.state = Some(state))
            }
            Some(("history", _)) => {
                read_chunk(record).map(|(first, events)| drop(kept.chunks.insert(first, events)))
            }
            _ => Ok(()),
        };
        if let Err(cause) = read {
            findings.push(format!(
                "The record {} / {} cannot be read: {cause}.",
                key.pk, key.sk
            ));
        }
    }
    for (pk, kept) in &runs {
        match &kept.state {
            Some(state) => check(state, kept, findings),
            None => findings.push(format!("The run {pk} has records and no state.")),
        }
    }
    Ok(runs.len())
}

fn check(state: &RunState, kept: &Kept, findings: &mut Vec<String>) {
    let mut claim = |holds: bool, what: &str| {
        if !holds {
            findings.push(format!("The run {} {what}.", state.run_id));
        }
    };
    let history: Vec<_> = kept.chunks.values().flatten().chain(&state.tail).collect();
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
    claim(kept.is_due || !waits, "is unfinished, and nobody will find it");
    claim(
        !kept.is_due || !state.is_closed() || !state.outbox.is_empty(),
        "has ended, and is looked for all the same",
    );
}

pub(super) async fn read_state(record: &Value, objects: &Objects) -> Result<RunState> {
    let text = record.get("state").and_then(Value::as_str).unwrap_or_default();
    match text.strip_prefix(ELSEWHERE) {
        None => serde_json::from_str(text).map_err(Error::internal),
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
    let events = serde_json::from_str(events).map_err(Error::internal)?;
    first
        .map(|first| (first, events))
        .ok_or_else(|| Error::internal("it names no first event"))
}
