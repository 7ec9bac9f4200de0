//! Stores runs in their table and payloads in the bucket.

use async_trait::async_trait;
use events::records::deliveries::DeliveryRecord;
use platform::objects::Objects;
use platform::{Error, Result, Tenant, UtcTime, stored_json};
use serde_json::value::RawValue;
use tracing::warn;

use crate::draft::Draft;
use crate::event::Event;
use crate::object_keys::{ELSEWHERE, state_key};
use crate::records::{DueRun, HistoryChunk, RunPlace, RunRecord, RunWrite, Runs, UpdatesHead, UpdatesWrite};
use crate::removal_plan::{self, Removal};
use crate::state::RunState;
use crate::store::{Commit, Committed, Store};
use crate::summary::RunSummary;

/// A larger state is kept in the bucket, and its record has the key.
const MAX_STATE_BYTES: usize = 300_000;
/// Reads of a state whose object is missing, because a newer state replaced it.
const MAX_READS: u32 = 8;
/// Maximum number of runs that one query returns from each part of the index.
const DUE_AT_ONCE: usize = 2_000;

#[derive(Clone)]
pub struct TableStore {
    pub(crate) runs: Runs,
    pub(crate) objects: Objects,
}

impl TableStore {
    pub fn new(runs: Runs, objects: Objects) -> Self {
        Self { runs, objects }
    }

    /// Returns the state of a record; None if it was in the bucket and a newer one has replaced it.
    pub(crate) async fn read_state(&self, record: RunRecord) -> Result<Option<RunState>> {
        let state = match record.state.strip_prefix(ELSEWHERE) {
            None => stored_json::read(record.state)?,
            Some(key) => match self.objects.find(key).await? {
                Some(bytes) => String::from_utf8(bytes).map_err(Error::internal)?,
                None => return Ok(None),
            },
        };
        serde_json::from_str(&state).map(Some).map_err(Error::internal)
    }

    /// Removes the state in the bucket that a new one replaced. An object that is missed costs only its
    /// storage.
    async fn remove_superseded(&self, tenant: &Tenant, draft: &Draft) {
        let state = &draft.state;
        let before = state.commits.iter().rev().nth(1);
        let (Some(version), Some(commit_id)) = (draft.expected, before) else {
            return;
        };
        let key = state_key(tenant, &state.run_id, version, commit_id);
        if let Err(cause) = self.objects.remove(&key).await {
            warn!(run_id = state.run_id, %cause, "an old state was not removed");
        }
    }

    async fn write_of(&self, tenant: &Tenant, draft: &Draft) -> Result<RunWrite> {
        let state = &draft.state;
        let mut json = serde_json::to_string(state).map_err(Error::internal)?;
        if json.len() > MAX_STATE_BYTES {
            let last_commit = state.commits.last().map_or("", String::as_str);
            let key = state_key(tenant, &state.run_id, state.version, last_commit);
            self.objects.put(&key, json.into_bytes()).await?;
            json = format!("{ELSEWHERE}{key}");
        } else {
            json = stored_json::write(&json)?;
        }
        let chunks = draft.chunks.iter().map(|events| {
            Ok(HistoryChunk {
                first_event: events.first().map_or(0, |event| event.id),
                events: stored_json::write(&serde_json::to_string(events).map_err(Error::internal)?)?,
            })
        });
        let summary = serde_json::to_string(&RunSummary::from_state(state)).map_err(Error::internal)?;
        let due_at = draft.due_at();
        let planned = removal_plan::plan(state, removal_plan::has_more(draft, &json), self.runs.retention());
        let removal = planned.filter(|_| due_at.is_none());
        Ok(RunWrite {
            expected: draft.expected,
            record: RunRecord {
                status: state.status.as_str().to_owned(),
                version: state.version,
                state: json,
                summary: stored_json::write(&summary)?,
                closed_at: state.closed_at,
                expires_at: match removal {
                    Some(Removal::Expires(at)) => Some(at.as_seconds()),
                    Some(Removal::InSteps(_)) | None => None,
                },
            },
            place: RunPlace {
                run_id: state.run_id.clone(),
                started_at: state.started_at,
                status: state.status.as_str().to_owned(),
                workflow_type: state.workflow_type.clone(),
                document_id: state.about.document_id.clone(),
                rule_id: state.about.rule_id.clone(),
                priority: state.about.priority,
                due_at,
                removed_at: match removal {
                    Some(Removal::InSteps(at)) => Some(at),
                    Some(Removal::Expires(_)) | None => None,
                },
            },
            chunks: chunks.collect::<Result<_>>()?,
        })
    }
}

fn events(chunk: HistoryChunk) -> Result<Vec<Event>> {
    serde_json::from_str(&stored_json::read(chunk.events)?).map_err(Error::internal)
}

#[async_trait]
impl Store for TableStore {
    async fn find(&self, tenant: &Tenant, run_id: &str) -> Result<Option<RunState>> {
        for _ in 0..MAX_READS {
            let Some(record) = self.runs.find(tenant, run_id).await? else {
                return Ok(None);
            };
            if let Some(state) = self.read_state(record).await? {
                return Ok(Some(state));
            }
        }
        Err(Error::unavailable(format!(
            "the state of run {run_id} is not there"
        )))
    }

    async fn find_current(&self, tenant: &Tenant, workflow_id: &str) -> Result<Option<String>> {
        self.runs.find_current(tenant, workflow_id).await
    }

    async fn history(&self, tenant: &Tenant, run_id: &str) -> Result<Vec<Event>> {
        let mut all = Vec::new();
        for chunk in self.runs.history(tenant, run_id).await? {
            all.extend(events(chunk)?);
        }
        Ok(all)
    }

    async fn event(&self, tenant: &Tenant, run_id: &str, event: u64) -> Result<Option<Event>> {
        let Some(chunk) = self.runs.history_with(tenant, run_id, event).await? else {
            return Ok(None);
        };
        Ok(events(chunk)?.into_iter().find(|found| found.id == event))
    }

    async fn find_delivery(&self, tenant: &Tenant, id: &str) -> Result<Option<DeliveryRecord>> {
        self.runs.find_delivery(tenant, id).await
    }

    async fn commit(&self, tenant: &Tenant, commit: &Commit) -> Result<Committed> {
        let mut runs = Vec::with_capacity(commit.runs.len());
        for draft in &commit.runs {
            runs.push(self.write_of(tenant, draft).await?);
        }
        let committed = self.runs.commit(tenant, commit, &runs).await?;
        if committed == Committed::Done {
            for (draft, run) in commit.runs.iter().zip(&runs) {
                if run.record.state.starts_with(ELSEWHERE) {
                    self.remove_superseded(tenant, draft).await;
                }
            }
        }
        Ok(committed)
    }

    async fn due(&self, by: UtcTime, all: bool) -> Result<Vec<DueRun>> {
        self.runs.due(by, (!all).then_some(DUE_AT_ONCE)).await
    }

    async fn removals(&self, by: UtcTime) -> Result<Vec<DueRun>> {
        self.runs.removals(by, DUE_AT_ONCE).await
    }

    async fn remove(&self, tenant: &Tenant, run_id: &str, now: UtcTime) -> Result<()> {
        self.remove_run(tenant, run_id, now).await
    }

    async fn updates_head(&self, tenant: &Tenant, run_id: &str) -> Result<UpdatesHead> {
        self.runs.updates_head(tenant, run_id).await
    }

    async fn has_updates(&self, tenant: &Tenant, updates: &UpdatesWrite) -> Result<bool> {
        self.runs.has_updates(tenant, updates).await
    }

    async fn put_payload(&self, key: &str, json: &str) -> Result<()> {
        self.objects.put(key, json.as_bytes().to_vec()).await
    }

    async fn remove_payload(&self, key: &str) -> Result<()> {
        self.objects.remove(key).await
    }

    async fn find_payload(&self, key: &str) -> Result<Option<Box<RawValue>>> {
        let Some(bytes) = self.objects.find(key).await? else {
            return Ok(None);
        };
        let text = String::from_utf8(bytes).map_err(Error::internal)?;
        RawValue::from_string(text).map(Some).map_err(Error::internal)
    }
}
