//! Update messages: what a run tells those who follow it.

use platform::UtcTime;
use platform::records::runs::{Runs, UPDATE_RETENTION_DAYS, UpdateRecord, UpdatesHead, UpdatesWrite};
use platform::{Error, Result, Tenant};
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::payload::Payload;

/// Most messages of a run that are shown: the newest.
pub const MAX_UPDATES: i32 = 1_000;

/// An update message, as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UpdateMessage {
    /// When it was published, in milliseconds since the Unix epoch; later than the message before it.
    pub timestamp: i64,
    /// Its type, such as `PROGRESS`.
    #[serde(rename = "type")]
    pub kind: String,
    /// For people.
    pub message: String,
    /// For code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Payload>,
    /// Which part of the run it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workstream_id: Option<String>,
}

/// The messages as they follow those that there are. Each has a timestamp of its own, so that whoever asks for what came after
/// the last one that he has misses none and gets none twice.
pub(crate) fn numbered(
    run_id: &str,
    expected: UpdatesHead,
    messages: Vec<UpdateMessage>,
    now: UtcTime,
) -> Result<UpdatesWrite> {
    let mut head = expected;
    let expires_at = now.as_seconds() + UPDATE_RETENTION_DAYS * 24 * 3_600;
    let mut records = Vec::with_capacity(messages.len());
    for mut message in messages {
        head.last += 1;
        head.last_timestamp = now.as_millis().max(head.last_timestamp + 1);
        message.timestamp = head.last_timestamp;
        records.push(UpdateRecord {
            number: head.last,
            message: serde_json::to_string(&message).map_err(Error::internal)?,
            expires_at,
        });
    }
    Ok(UpdatesWrite {
        run_id: run_id.to_owned(),
        expected,
        messages: records,
        head,
    })
}

/// The newest messages of a run, oldest first, with their details at hand.
pub async fn newest_updates(
    engine: &Engine,
    runs: &Runs,
    tenant: &Tenant,
    run_id: &str,
) -> Result<Vec<UpdateMessage>> {
    let records = runs.updates(tenant, run_id, 0, MAX_UPDATES).await?;
    let messages = read(engine, records).await?;
    Ok(messages.into_iter().map(|(_, message)| message).collect())
}

/// The next messages of a run after the one of this number, oldest first, each with its number and with its details at hand. None
/// only where there are none: where there are many, they come in parts.
pub async fn next_updates(
    engine: &Engine,
    runs: &Runs,
    tenant: &Tenant,
    run_id: &str,
    number: u64,
) -> Result<Vec<(u64, UpdateMessage)>> {
    let records = runs.next_updates(tenant, run_id, number, MAX_UPDATES).await?;
    read(engine, records).await
}

async fn read(engine: &Engine, records: Vec<UpdateRecord>) -> Result<Vec<(u64, UpdateMessage)>> {
    let mut messages = Vec::with_capacity(records.len());
    for record in records {
        let mut message: UpdateMessage = serde_json::from_str(&record.message).map_err(Error::internal)?;
        if let Some(details) = &mut message.details {
            engine.fetch(details).await?;
        }
        messages.push((record.number, message));
    }
    Ok(messages)
}
