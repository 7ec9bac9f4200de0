//! Events and deliveries: what was not matched is found by its time, and a delivery says what the run says that carries it out.

use std::collections::BTreeMap;

use platform::Result;
use platform::objects::Objects;
use platform::records::Key;
use serde_json::Value;
use workflow::state::RunState;

use super::runs::read_state;

/// Adds a finding for each event or delivery that breaks an invariant. How many events there are.
pub async fn deliveries_agree_with_their_runs(
    records: &[(Key, Value)],
    of_runs: &[(Key, Value)],
    objects: &Objects,
    findings: &mut Vec<String>,
) -> Result<usize> {
    let states: BTreeMap<&str, &Value> = of_runs
        .iter()
        .filter(|(key, _)| key.sk == "state")
        .map(|(key, record)| (key.pk.as_str(), record))
        .collect();
    let mut events = 0;
    for (key, record) in records {
        let text = |name: &str| record.get(name).and_then(Value::as_str).unwrap_or_default();
        if key.sk == "event" {
            events += 1;
            if record.get("due_at").is_some() == record.get("matched_at").is_some() {
                findings.push(format!(
                    "The event {} is not matched and nobody will find it, or is matched and looked for all the same.",
                    key.pk
                ));
            }
        }
        if key.sk != "delivery" || text("workflow_run_id").is_empty() {
            continue;
        }
        let tenant = key.pk.split("#delivery#").next().unwrap_or_default();
        let place = format!("{tenant}#run#{}", text("workflow_run_id"));
        let state = match states.get(place.as_str()) {
            Some(record) => read_state(record, objects).await?,
            None => {
                findings.push(format!("The delivery {} names a run that there is not.", key.pk));
                continue;
            }
        };
        if !agrees(text("status"), &state) {
            findings.push(format!(
                "The delivery {} is {} and its run {} is {}.",
                key.pk,
                text("status"),
                state.run_id,
                state.status.as_str()
            ));
        }
    }
    Ok(events)
}

/// Whether a delivery is over where its run is, and only there.
fn agrees(status: &str, state: &RunState) -> bool {
    let expected = match state.status.as_str() {
        "COMPLETED" => "succeeded",
        "FAILED" | "TIMED_OUT" => "failed",
        "CANCELED" | "TERMINATED" => "cancelled",
        _ => return !state.is_closed() && ["pending", "running", "retrying"].contains(&status),
    };
    status == expected
}
