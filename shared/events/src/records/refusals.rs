//! Stores what a channel refused, for its owner: a count by reason, and the last requests.

use std::collections::BTreeMap;

use platform::clock::UtcTime;
use platform::error::Result;
use platform::records::{Condition, Table, Written, keys};
use platform::tenant::Tenant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tracing::warn;

use crate::sender::RefusalReason;

/// Most requests that are kept.
const MAX_KEPT: usize = 20;
/// How long refusals are kept after the last one, in seconds.
const LIFE_SECONDS: i64 = 30 * 24 * 3_600;
/// How long the record of a missing channel is kept, in seconds.
const NOWHERE_SECONDS: i64 = 3_600;
/// Attempts to write while others write too.
const TRIES: usize = 3;

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedRequest {
    /// Time of arrival.
    pub at: UtcTime,
    /// Why it was refused.
    pub reason: RefusalReason,
    /// What was expected, or what was wrong; without secrets.
    pub detail: String,
    /// First 200 bytes of the body, where the channel keeps them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// What a channel refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelRefusals {
    /// Number of refused requests by reason, since the first of them. Under an attack fewer may be counted.
    pub counts: BTreeMap<RefusalReason, u64>,
    /// The last refused requests, newest first; at most 20.
    pub last: Vec<RefusedRequest>,
}

#[derive(Default, Serialize, Deserialize)]
struct StoredRefusals {
    revision: u64,
    #[serde(flatten)]
    refusals: ChannelRefusals,
    /// Time of the last system event about the channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reported_at: Option<UtcTime>,
    /// Refusals since that time.
    #[serde(default)]
    unreported: u64,
    /// In Unix seconds.
    expires_at: i64,
}

/// Refusals that a system event reports.
const REPORTED_FROM: u64 = 10;
/// Least time between two system events about a channel, in milliseconds.
const REPORT_PAUSE_MS: u64 = 3_600_000;

#[derive(Clone)]
pub struct Refusals {
    table: Table,
}

impl Refusals {
    /// Stores refusals in the table of events.
    pub const fn new(table: Table) -> Self {
        Self { table }
    }

    pub async fn find(&self, tenant: &Tenant, channel: &str) -> Result<ChannelRefusals> {
        let key = keys::channel_refusals(tenant, channel);
        let stored: Option<StoredRefusals> = self.table.find(&key).await?;
        Ok(stored.unwrap_or_default().refusals)
    }

    /// Does the reads and writes of [`Self::add`] for the path of a missing channel: a faster response would
    /// reveal that it is missing.
    pub async fn add_nowhere(&self, path: &str, requests: &[RefusedRequest]) -> Result<()> {
        let key = keys::nowhere_refusals(path);
        let _: Option<StoredRefusals> = self.table.find(&key).await?;
        let Some(last) = requests.last() else {
            return Ok(());
        };
        let stored = StoredRefusals {
            expires_at: last.at.as_seconds() + NOWHERE_SECONDS,
            ..StoredRefusals::default()
        };
        self.table
            .put(&key, &stored, Condition::AbsentOrExpired(i64::MAX))
            .await
            .map(drop)
    }

    /// Adds refused requests, oldest first. Returns whether so many were refused that a system event is due,
    /// which is then recorded as published.
    pub async fn add(&self, tenant: &Tenant, channel: &str, requests: &[RefusedRequest]) -> Result<bool> {
        let key = keys::channel_refusals(tenant, channel);
        let Some(now) = requests.last().map(|request| request.at) else {
            return Ok(false);
        };
        for _ in 0..TRIES {
            let current: Option<StoredRefusals> = self.table.find(&key).await?;
            let condition = match &current {
                None => Condition::Absent,
                Some(stored) => Condition::NumberIs("revision", stored.revision),
            };
            let mut stored = current.unwrap_or_default();
            for request in requests {
                *stored.refusals.counts.entry(request.reason).or_default() += 1;
                stored.refusals.last.insert(0, request.clone());
            }
            stored.refusals.last.truncate(MAX_KEPT);
            stored.revision += 1;
            stored.unreported += requests.len() as u64;
            stored.expires_at = now.as_seconds() + LIFE_SECONDS;
            let is_due = stored.unreported >= REPORTED_FROM
                && stored
                    .reported_at
                    .is_none_or(|at| now >= at.plus_ms(REPORT_PAUSE_MS));
            if is_due {
                stored.reported_at = Some(now);
                stored.unreported = 0;
            }
            if self.table.put(&key, &stored, condition).await? == Written::Done {
                return Ok(is_due);
            }
        }
        warn!(
            channel_id = channel,
            "refusals of a channel are not recorded: too many at once"
        );
        Ok(false)
    }
}
