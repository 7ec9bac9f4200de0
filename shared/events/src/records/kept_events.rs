//! Expires events, and removes those with details in the bucket.
//!
//! An event with a complete envelope expires by itself. One with details in the bucket gets a place in the
//! index `due` when it is matched, and the sweeper removes both: it hides the event, then removes the object,
//! then the record. So after a crash the next sweeper finds everything that remains.

use platform::clock::UtcTime;
use platform::error::Result;
use platform::records::logs::{ARCHIVED, LogId, LogKind};
use platform::records::schema::{DUE, EXPIRES_AT};
use platform::records::{Changes, Condition, keys};
use platform::tenant::Tenant;
use serde::Deserialize;

use crate::records::deliveries::{Deliveries, DeliveryIndex, DeliveryStatus};
use crate::records::events::{DueEvent, EventRecord, Events};

/// Number of open deliveries read at a time.
const DELIVERIES_AT_ONCE: usize = 500;
/// Delay before the sweeper looks again at an event that must stay, in milliseconds.
const NEXT_LOOK_MS: u64 = 24 * 3_600_000;

/// An event with its expiry.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct KeptEvent {
    #[serde(flatten)]
    pub record: EventRecord,
    /// Expiry, in Unix seconds.
    pub expires_at: Option<i64>,
    due_shard: Option<String>,
    due_at: Option<UtcTime>,
    #[serde(default)]
    archived: bool,
}

impl KeptEvent {
    /// Returns when the event is removed; None if that is not known yet.
    fn goes_at(&self) -> Option<UtcTime> {
        match self.is_for_sweeper() {
            true => self.due_at,
            false => UtcTime::from_millis(self.expires_at?.saturating_mul(1_000)),
        }
    }

    fn is_for_sweeper(&self) -> bool {
        self.due_shard.as_deref() == Some(keys::EVENT_REMOVALS)
    }
}

impl Events {
    /// Marks an event as matched: it is no longer due, and expires if it is already archived. Otherwise its
    /// expiry is set when it is archived.
    pub async fn matched(&self, tenant: &Tenant, event: &EventRecord, at: UtcTime) -> Result<()> {
        let until = self.retention.event_until(at);
        let changes = Changes::default().set("matched_at", &at)?;
        if event.details_key.is_some() {
            let changes = changes.place(DUE, keys::EVENT_REMOVALS.to_owned(), until.to_string());
            self.update(tenant, &event.id, &changes, Condition::Present)
                .await?;
            return Ok(());
        }
        let changes = changes.not_due();
        let unarchived = Condition::Lacks(ARCHIVED);
        if !self.update(tenant, &event.id, &changes, unarchived).await? {
            let changes = changes.set(EXPIRES_AT, &until.as_seconds())?;
            self.update(tenant, &event.id, &changes, Condition::Present)
                .await?;
        }
        Ok(())
    }

    async fn update(
        &self,
        tenant: &Tenant,
        id: &str,
        changes: &Changes,
        condition: Condition,
    ) -> Result<bool> {
        self.table
            .update(&keys::event(tenant, id), changes, condition)
            .await?
            .took_effect("an event")
    }

    pub async fn find_kept(&self, tenant: &Tenant, id: &str) -> Result<Option<KeptEvent>> {
        self.table.find(&keys::event(tenant, id)).await
    }

    /// Keeps an event for as long as one that is archived now. False if it no longer exists.
    pub async fn keep(&self, tenant: &Tenant, record: &EventRecord, now: UtcTime) -> Result<bool> {
        self.keep_until(tenant, record, self.retention.event_until(now))
            .await
    }

    async fn keep_until(&self, tenant: &Tenant, record: &EventRecord, until: UtcTime) -> Result<bool> {
        let (changes, condition) = match record.details_key {
            Some(_) => (
                Changes::default().set("due_at", &until)?,
                Condition::TextIs("due_shard", keys::EVENT_REMOVALS.to_owned()),
            ),
            None => (
                Changes::default().set(EXPIRES_AT, &until.as_seconds())?,
                Condition::Has(EXPIRES_AT),
            ),
        };
        // Refused: the event has no expiry yet, or no longer exists.
        Ok(self.update(tenant, &record.id, &changes, condition).await?
            || self.find(tenant, &record.id).await?.is_some())
    }

    /// Lists up to `most` events with details in the bucket whose retention has ended.
    pub async fn removals(&self, by: UtcTime, most: usize) -> Result<Vec<DueEvent>> {
        self.due_in([keys::EVENT_REMOVALS.to_owned()], by, Some(most))
            .await
    }

    /// Hides an expired event, so that its details can be removed, and returns their object key. None if the
    /// event must stay, because it is not archived or an open delivery refers to it, or if it no longer
    /// exists.
    pub async fn begin_removal(
        &self,
        deliveries: &Deliveries,
        event: &DueEvent,
        now: UtcTime,
    ) -> Result<Option<String>> {
        let tenant = &event.tenant;
        let Some(kept) = self.find_kept(tenant, &event.event_id).await? else {
            return Ok(None);
        };
        let due_at = kept.due_at.filter(|at| kept.is_for_sweeper() && *at <= now);
        let (Some(due_at), Some(details_key)) = (due_at, &kept.record.details_key) else {
            return Ok(None);
        };
        if kept.record.is_hidden() {
            return Ok(Some(details_key.clone()));
        }
        if !kept.archived || deliveries.is_named(tenant, &event.event_id).await? {
            self.keep_until(tenant, &kept.record, now.plus_ms(NEXT_LOOK_MS))
                .await?;
            return Ok(None);
        }
        let changes = Changes::default().set("envelope", &"")?;
        // Refused if its retention was extended meanwhile.
        let unchanged = Condition::TextIs("due_at", due_at.to_string());
        let hidden = self.update(tenant, &event.event_id, &changes, unchanged).await?;
        Ok(hidden.then(|| details_key.clone()))
    }

    pub async fn end_removal(&self, event: &DueEvent) -> Result<()> {
        let key = keys::event(&event.tenant, &event.event_id);
        let is_hidden = Condition::TextIs("envelope", String::new());
        self.table
            .delete(&key, is_hidden)
            .await?
            .took_effect("an event")
            .map(drop)
    }

    /// Extends the retention of a log's events that open deliveries refer to, if less than half of it is
    /// left. Returns the number of extended events.
    pub async fn keep_named(&self, log: &LogId, now: UtcTime) -> Result<u64> {
        let (LogKind::Events, Some(project)) = (log.kind, &log.project) else {
            return Ok(0);
        };
        let tenant = Tenant::new(&log.account, project)?;
        let deliveries = Deliveries::new(self.table.clone());
        let half_ms =
            i64::try_from(self.retention.event_until(now).millis_since(now) / 2).unwrap_or(i64::MAX);
        let half_ago = now.as_millis().saturating_sub(half_ms);
        let Some(half_ago) = UtcTime::from_millis(half_ago) else {
            return Ok(0);
        };
        let mut kept = 0;
        for status in DeliveryStatus::ALL
            .into_iter()
            .filter(|status| !status.is_final())
        {
            let index = DeliveryIndex::Status(status);
            let mut before: (UtcTime, Option<String>) = (half_ago, None);
            loop {
                let until = (before.0, before.1.as_deref());
                let (page, more) = deliveries
                    .list(&tenant, &index, UtcTime::EPOCH, until, DELIVERIES_AT_ONCE)
                    .await?;
                for summary in &page {
                    let Some(event) = self.find_kept(&tenant, &summary.event_id).await? else {
                        continue;
                    };
                    let is_soon = |at: UtcTime| at.as_millis() < now.as_millis().saturating_add(half_ms);
                    if event.goes_at().is_some_and(is_soon) && self.keep(&tenant, &event.record, now).await? {
                        kept += 1;
                    }
                }
                match page.last() {
                    Some(last) if more && before.1.as_ref() != Some(&last.id) => {
                        before = (last.created_at, Some(last.id.clone()));
                    }
                    _ => break,
                }
            }
        }
        Ok(kept)
    }
}

impl Deliveries {
    /// Whether an open delivery refers to an event.
    async fn is_named(&self, tenant: &Tenant, event_id: &str) -> Result<bool> {
        let index = DeliveryIndex::Event(event_id.to_owned());
        let latest = UtcTime::EPOCH.plus_ms(u64::MAX);
        let mut before: (UtcTime, Option<String>) = (latest, None);
        loop {
            let until = (before.0, before.1.as_deref());
            let (page, more) = self
                .list(tenant, &index, UtcTime::EPOCH, until, DELIVERIES_AT_ONCE)
                .await?;
            for summary in &page {
                let found = self.find(tenant, &summary.id).await?;
                if found.is_some_and(|delivery| !delivery.status.is_final()) {
                    return Ok(true);
                }
            }
            match page.last() {
                Some(last) if more && before.1.as_ref() != Some(&last.id) => {
                    before = (last.created_at, Some(last.id.clone()));
                }
                _ => return Ok(false),
            }
        }
    }
}
