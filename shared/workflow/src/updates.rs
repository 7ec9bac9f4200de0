//! Stores the updates of a run for its followers.

use futures::stream::{self, TryStreamExt as _};
use platform::UtcTime;
use platform::http::sent_size::{MAX_SENT_BYTES, sent_bytes};
use platform::{Error, Result, Tenant};
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::failure::{Failure, shorten};
use crate::payload::Payload;
use crate::records::{Runs, UPDATE_RETENTION_DAYS, UpdatesHead, UpdatesRecord, UpdatesWrite};
use crate::turn::NewUpdate;

/// Newest updates of a run that are kept and shown.
pub const MAX_UPDATES: u64 = 1_000;
pub const MAX_MESSAGE_CHARACTERS: usize = 10_000;
/// Limit of a type, and of the name of a workstream.
const MAX_NAME_CHARACTERS: usize = 200;
/// Upper limit of one answer, as it is sent.
const MAX_SHOWN_BYTES: usize = MAX_SENT_BYTES - 100_000;
/// Upper limit of one record of updates: an item of the table has at most 400 KB.
const MAX_RECORD_BYTES: usize = 250_000;
/// Upper limit of one read of a follower, in bytes of JSON.
const MAX_NEXT_BYTES: usize = 1_000_000;
/// Upper limit of an update's JSON without its text and its details.
const MESSAGE_OVERHEAD_BYTES: usize = 500;
/// Details that are fetched concurrently.
const FETCHED_AT_ONCE: usize = 32;
const UPDATE_RETENTION_SECONDS: i64 = UPDATE_RETENTION_DAYS * 24 * 3_600;
/// Records of one read of a follower: a page of the table ends at 1 MB anyway.
const RECORDS_AT_ONCE: usize = 100;

/// Stored form of an update.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UpdateMessage {
    /// Milliseconds since the Unix epoch; later than the previous update.
    pub timestamp: i64,
    /// Such as `PROGRESS`.
    #[serde(rename = "type")]
    pub kind: String,
    /// For people.
    pub message: String,
    /// For programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Payload>,
    /// Part of the run that the update is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workstream_id: Option<String>,
}

impl UpdateMessage {
    /// Converts an update of the code, without a time. Fails if the details exceed a payload.
    pub fn from_new(update: NewUpdate) -> Result<Self, Failure> {
        Ok(Self {
            timestamp: 0,
            kind: update.kind,
            message: update.message,
            details: update.details.as_ref().map(Payload::from_value).transpose()?,
            workstream_id: update.workstream_id,
        })
    }

    /// Cuts the texts to the limits of a record.
    pub(crate) fn shorten(&mut self) {
        shorten(&mut self.message, MAX_MESSAGE_CHARACTERS);
        shorten(&mut self.kind, MAX_NAME_CHARACTERS);
        if let Some(workstream_id) = &mut self.workstream_id {
            shorten(workstream_id, MAX_NAME_CHARACTERS);
        }
    }
}

/// Numbers updates after the existing ones. Each timestamp is unique, so that a follower that asks for
/// updates after its last one misses none and gets none twice. If there are more than are kept, only the
/// newest are written.
pub(crate) fn numbered(
    (run_id, started_at): (&str, UtcTime),
    expected: UpdatesHead,
    messages: Vec<UpdateMessage>,
    now: UtcTime,
) -> Result<UpdatesWrite> {
    let mut head = expected;
    let expires_at = now.as_seconds() + UPDATE_RETENTION_SECONDS;
    head.expires_at = Some(expires_at);
    if head.last == 0 && now.as_seconds() - started_at.as_seconds() >= UPDATE_RETENTION_SECONDS {
        // The numbers of earlier updates may have expired; the next ones must be higher.
        head.last = now.as_seconds().unsigned_abs();
    }
    let mut records: Vec<UpdatesRecord> = Vec::new();
    let unkept = messages.len().saturating_sub(MAX_UPDATES as usize);
    for (place, mut message) in messages.into_iter().enumerate() {
        head.last += 1;
        head.last_timestamp = now.as_millis().max(head.last_timestamp + 1);
        message.timestamp = head.last_timestamp;
        if place < unkept {
            continue;
        }
        let json = serde_json::to_string(&message).map_err(Error::internal)?;
        match records.last_mut() {
            Some(record) if record.messages.len() + json.len() < MAX_RECORD_BYTES => {
                record.last = head.last;
                record.messages.push(',');
                record.messages.push_str(&json);
            }
            _ => records.push(UpdatesRecord {
                first: head.last,
                last: head.last,
                messages: format!("[{json}"),
                expires_at,
            }),
        }
    }
    for record in &mut records {
        record.messages.push(']');
    }
    Ok(UpdatesWrite {
        run_id: run_id.to_owned(),
        expected,
        records,
        head,
    })
}

/// Returns the kept updates of a run after a timestamp, oldest first, with their details, and whether more
/// follow that do not fit into one answer.
pub async fn updates_since(
    engine: &Engine,
    runs: &Runs,
    tenant: &Tenant,
    run_id: &str,
    since: i64,
) -> Result<(Vec<UpdateMessage>, bool)> {
    let records = runs.newest_updates(tenant, run_id, MAX_UPDATES).await?;
    let newest = read(records)?.into_iter().rev().take(MAX_UPDATES as usize);
    let mut messages: Vec<_> = newest
        .take_while(|(_, message)| message.timestamp > since)
        .collect();
    messages.reverse();
    let fitting = fitting(&messages, MAX_SHOWN_BYTES);
    let has_more = fitting < messages.len();
    messages.truncate(fitting);
    engine.fetch_details(&mut messages).await?;
    Ok((
        messages.into_iter().map(|(_, message)| message).collect(),
        has_more,
    ))
}

/// Returns the next updates of a run after a number, oldest first, each with its number and its details. Many
/// updates come in parts; the result is empty only if there are none.
pub async fn next_updates(
    engine: &Engine,
    runs: &Runs,
    tenant: &Tenant,
    run_id: &str,
    number: u64,
) -> Result<Vec<(u64, UpdateMessage)>> {
    let records = runs.next_updates(tenant, run_id, number, RECORDS_AT_ONCE).await?;
    let mut next = read(records)?;
    next.retain(|(found, _)| *found > number);
    next.truncate(fitting(&next, MAX_NEXT_BYTES).max(1));
    engine.fetch_details(&mut next).await?;
    Ok(next)
}

/// Returns how many of the first updates fit into `most` bytes of JSON.
fn fitting(messages: &[(u64, UpdateMessage)], most: usize) -> usize {
    let mut bytes = 0;
    let fits = messages.iter().take_while(|(_, message)| {
        let text = serde_json::to_string(&message.message).map_or(0, |json| sent_bytes(json.as_bytes()));
        // Only the length of details in the bucket is known. The estimate assumes that each byte is a quote.
        let details = message.details.as_ref().map_or(0, |details| details.bytes() * 2);
        bytes += text + details + MESSAGE_OVERHEAD_BYTES;
        bytes <= most
    });
    fits.count()
}

fn read(records: Vec<UpdatesRecord>) -> Result<Vec<(u64, UpdateMessage)>> {
    let mut messages = Vec::new();
    for record in records {
        let of_record: Vec<UpdateMessage> =
            serde_json::from_str(&record.messages).map_err(Error::internal)?;
        messages.extend((record.first..).zip(of_record));
    }
    Ok(messages)
}

impl Engine {
    async fn fetch_details(&self, messages: &mut [(u64, UpdateMessage)]) -> Result<()> {
        let details = messages
            .iter_mut()
            .filter_map(|(_, message)| message.details.as_mut());
        stream::iter(details.map(Ok))
            .try_for_each_concurrent(FETCHED_AT_ONCE, |details| self.fetch(details))
            .await
    }
}
