//! Checks events and deliveries: the index finds each unmatched event, and a delivery's status agrees with
//! its run.

use std::collections::{BTreeMap, BTreeSet};

use events::records::deliveries::DeliveryRecord;
use platform::objects::Objects;
use platform::records::Key;
use platform::records::keys::EVENT_REMOVALS;
use platform::{Result, UtcTime};
use serde_json::Value;
use workflow::records::REMOVED;
use workflow::state::RunState;

use super::runs::read_state;

/// Adds a finding for each event or delivery that breaks an invariant. Returns the number of events.
pub async fn deliveries_agree_with_their_runs(
    records: &[(Key, Value)],
    of_runs: &[(Key, Value)],
    objects: &Objects,
    now: UtcTime,
    findings: &mut Vec<String>,
) -> Result<usize> {
    let events_there: BTreeSet<&str> = records
        .iter()
        .filter(|(key, record)| key.sk == "event" && !is_expired(record, now))
        .map(|(key, _)| key.pk.as_str())
        .collect();
    let states: BTreeMap<&str, &Value> = of_runs
        .iter()
        .filter(|(key, record)| {
            key.sk == "state" && record.get("status").and_then(Value::as_str) != Some(REMOVED)
        })
        .map(|(key, record)| (key.pk.as_str(), record))
        .collect();
    let mut events = 0;
    for (key, record) in records {
        if key.sk == "event" {
            events += 1;
            check_event(key, record, findings);
        }
        if key.sk != "delivery" || is_expired(record, now) {
            continue;
        }
        let tenant = key.pk.split("#delivery#").next().unwrap_or_default();
        let delivery = DeliveryRecord::from_stored(record.clone())?;
        let is_over = delivery.status.is_final();
        if !is_over && record.get("expires_at").is_some() {
            findings.push(format!("The delivery {} is open, and expires.", key.pk));
        }
        let event = format!("{tenant}#event#{}", delivery.event_id);
        if !is_over && !events_there.contains(event.as_str()) {
            findings.push(format!("The delivery {} is open and its event is gone.", key.pk));
        }
        let Some(run_id) = &delivery.workflow_run_id else {
            continue;
        };
        let place = format!("{tenant}#run#{run_id}");
        let state = match states.get(place.as_str()) {
            Some(record) => read_state(record, objects).await?,
            None => {
                findings.push(format!("The delivery {} names a run that there is not.", key.pk));
                continue;
            }
        };
        // A delivery that joined an existing run by workflow id does not follow that run's status.
        let is_carried_out = state.delivery.as_ref().is_some_and(|link| link.id == delivery.id);
        let status = delivery.status.as_str();
        if is_carried_out && !agrees(status, &state) {
            findings.push(format!(
                "The delivery {} is {status} and its run {} is {}.",
                key.pk,
                state.run_id,
                state.status.as_str()
            ));
        }
    }
    Ok(events)
}

/// Checks an event: it is in the index until it is matched, and expires only after it is matched and
/// archived. An event with details in the bucket is in the index with its time of removal instead.
fn check_event(key: &Key, record: &Value, findings: &mut Vec<String>) {
    let shard = record.get("due_shard").and_then(Value::as_str);
    let is_for_removal = shard == Some(EVENT_REMOVALS);
    let is_waiting = record.get("due_at").is_some() && !is_for_removal;
    let is_large = record.get("details_key").is_some();
    let mut claim = |holds: bool, what: &str| {
        if !holds {
            findings.push(format!("The event {} {what}.", key.pk));
        }
    };
    let is_matched = record.get("matched_at").is_some();
    claim(
        is_waiting != is_matched,
        "is not matched and nothing will find it, or is matched and looked for all the same",
    );
    let expires = record.get("expires_at").is_some();
    claim(
        !expires || (record.get("archived").is_some() && is_matched && !is_large),
        "expires, though it is not matched, not archived or has details in the bucket",
    );
    claim(
        !is_for_removal || is_large,
        "is to be removed with details that it does not have",
    );
}

/// True if DynamoDB may have removed the record by now.
pub(super) fn is_expired(record: &Value, now: UtcTime) -> bool {
    let at = record.get("expires_at").and_then(Value::as_i64);
    at.is_some_and(|at| at <= now.as_seconds())
}

/// True if the delivery has the status that its run implies; an open delivery has an open run.
fn agrees(status: &str, state: &RunState) -> bool {
    let expected = match state.status.as_str() {
        "COMPLETED" => "succeeded",
        "FAILED" | "TIMED_OUT" => "failed",
        "CANCELED" | "TERMINATED" => "cancelled",
        _ => return !state.is_closed() && ["pending", "running", "retrying"].contains(&status),
    };
    status == expected
}
