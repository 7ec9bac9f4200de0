//! Searches deliveries: chooses the indexes, and filters the rest one by one.

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use platform::auth::Viewer;
use platform::http::sent_size::{MAX_SENT_BYTES, sent_bytes};
use platform::page_token::{LOOKING_MS, PageTokens};
use platform::records::Order;
use platform::{Clock, Error, Result, Tenant, UtcTime, ids};
use serde::{Deserialize, Serialize};

use crate::records::deliveries::{
    Deliveries, DeliveryIndex, DeliveryRecord, DeliveryStatus, DeliverySummary,
};

/// Number of deliveries read from an index at a time.
const READ_AT_ONCE: usize = 200;
/// A page ends once it exceeds this size, below the limit of a response.
const MAX_PAGE_BYTES: usize = MAX_SENT_BYTES - 100_000;
/// Number of records read at a time.
const RECORDS_AT_ONCE: usize = 16;
/// Maximum age at which the search finds pending deliveries that wait for their first run, in milliseconds:
/// one day. A delivery waits that long only when all workers are down.
const PENDING_MS: i64 = 24 * 3_600 * 1_000;

/// Selection of deliveries; an empty or missing field selects all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeliverySelection {
    pub event_id: Option<String>,
    /// Resource id of the event.
    pub resource_id: Option<String>,
    pub subscription_id: Option<String>,
    /// Any of these statuses.
    pub status: Vec<DeliveryStatus>,
    /// Any of these target types.
    pub target_type: Vec<String>,
    /// Any of these categories of the event.
    pub event_category: Vec<String>,
    /// Any of these actions of the event.
    pub action: Vec<String>,
    /// Any of these resource types of the event.
    pub resource_type: Vec<String>,
    /// Any of these statuses of the receiver's answer to the last attempt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub response_status: Vec<u16>,
    /// Text that the last error contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Created at this time or later.
    pub from: Option<UtcTime>,
    /// Created at this time or earlier.
    pub to: Option<UtcTime>,
}

/// A part of a selection, read without a cursor.
#[derive(Debug)]
pub struct DeliveryPart {
    /// Newest first.
    pub deliveries: Vec<DeliveryRecord>,
    /// Position after which the rest begins; None after the last part.
    pub next: Option<Place>,
}

#[derive(Debug)]
pub struct DeliveryPage {
    /// Newest first.
    pub deliveries: Vec<DeliveryRecord>,
    /// Cursor of the next page; None after the last.
    pub next_cursor: Option<String>,
}

#[derive(Clone)]
pub struct DeliverySearch {
    deliveries: Deliveries,
    tokens: PageTokens,
}

/// Position in the list of deliveries, newest first.
pub type Place = (UtcTime, String);

impl DeliverySearch {
    pub fn new(deliveries: Deliveries, tokens: PageTokens) -> Self {
        Self { deliveries, tokens }
    }

    /// Returns a page of at most `limit` deliveries that the viewer may see. A page that is not the last may
    /// be short only where it is too large, or its deliveries take too long to find. Fails with 400 for a
    /// cursor of another search.
    pub async fn page(
        &self,
        (tenant, viewer): (&Tenant, &Viewer),
        selection: &DeliverySelection,
        limit: usize,
        cursor: Option<&str>,
        clock: &Clock,
    ) -> Result<DeliveryPage> {
        let search = (tenant.account(), tenant.project(), viewer, selection);
        let place: Option<Place> = match cursor {
            Some(cursor) => Some(self.tokens.read(&search, ("cursor", cursor)).await?),
            None => None,
        };
        let part = self
            .deliveries
            .select(
                (tenant, viewer),
                selection,
                (Order::Descending, limit),
                place,
                clock,
            )
            .await?;
        let next_cursor = match part.next {
            Some(place) => Some(self.tokens.issue(&search, &place).await?),
            None => None,
        };
        Ok(DeliveryPage {
            deliveries: part.deliveries,
            next_cursor,
        })
    }
}

impl Deliveries {
    /// Returns at most `limit` selected deliveries after a position that the viewer may see, by their
    /// creation; see [`DeliverySearch::page`].
    pub async fn select(
        &self,
        (tenant, viewer): (&Tenant, &Viewer),
        selection: &DeliverySelection,
        (order, limit): (Order, usize),
        mut place: Option<Place>,
        clock: &Clock,
    ) -> Result<DeliveryPart> {
        let named = [&selection.event_id, &selection.subscription_id];
        if !named.into_iter().flatten().all(|id| ids::is_id(id)) {
            // No record has such an id, and no index accepts a very long one.
            return Ok(DeliveryPart {
                deliveries: Vec::new(),
                next: None,
            });
        }
        let now = clock.now();
        let ends = now.plus_ms(LOOKING_MS);
        let indexes = selection.indexes(now);
        let (mut found, mut limit, mut bytes) = (Vec::new(), limit, 0);
        loop {
            let (batch, more) = self
                .read_indexes(tenant, &indexes, selection, (order, place.as_ref()))
                .await?;
            let wanted = batch.iter().filter(|summary| selection.takes(summary));
            let mut reads = Vec::new();
            for summary in wanted {
                reads.push(self.find_unexpired(tenant, &summary.id, now));
            }
            let records = stream::iter(reads).buffered(RECORDS_AT_ONCE);
            let records: Vec<_> = records.try_collect().await?;
            let visible = |record: &DeliveryRecord| viewer.sees(record.private_to.as_deref());
            for record in records.into_iter().flatten().filter(visible) {
                if selection.takes_outcome(&record) {
                    bytes += sent_bytes(&serde_json::to_vec(&record).map_err(Error::internal)?);
                    if bytes > MAX_PAGE_BYTES {
                        limit = limit.min(found.len().max(1));
                    }
                    found.push(record);
                }
            }
            place = batch
                .last()
                .map(|last| (last.created_at, last.id.clone()))
                .or(place);
            if found.len() > limit || !more || clock.now() >= ends {
                let is_over = !more && found.len() <= limit;
                if found.len() > limit {
                    found.truncate(limit);
                    place = found.last().map(|last| (last.created_at, last.id.clone()));
                }
                return Ok(DeliveryPart {
                    deliveries: found,
                    next: place.filter(|_| !is_over),
                });
            }
        }
    }

    /// Merges the deliveries of all indexes after a position, up to the point that every index was read to;
    /// returns them, and whether there are more.
    async fn read_indexes(
        &self,
        tenant: &Tenant,
        indexes: &[(DeliveryIndex, UtcTime)],
        selection: &DeliverySelection,
        (order, place): (Order, Option<&Place>),
    ) -> Result<(Vec<DeliverySummary>, bool)> {
        let latest = selection.to.unwrap_or(UtcTime::EPOCH.plus_ms(u64::MAX));
        let after = place.map(|(time, id)| (*time, Some(id.as_str())));
        let in_order = |one: &Place, other: &Place| match order {
            Order::Ascending => one.cmp(other),
            Order::Descending => other.cmp(one),
        };
        // Beyond this position an index may have unread deliveries.
        let mut read_to: Option<Place> = None;
        let mut all = Vec::new();
        for (index, from) in indexes {
            let (page, goes_on) = match order {
                Order::Descending => {
                    let until = after.unwrap_or((latest, None));
                    self.list(tenant, index, *from, until, READ_AT_ONCE).await?
                }
                Order::Ascending => {
                    let from = after.unwrap_or((*from, None));
                    self.list_oldest(tenant, index, from, latest, READ_AT_ONCE)
                        .await?
                }
            };
            if let Some(last) = page.last().filter(|_| goes_on) {
                let last = place_of(last);
                if read_to
                    .as_ref()
                    .is_none_or(|nearest| in_order(&last, nearest).is_lt())
                {
                    read_to = Some(last);
                }
            }
            all.extend(page);
        }
        let more = read_to.is_some();
        all.retain(|summary| {
            let own = place_of(summary);
            read_to.as_ref().is_none_or(|last| in_order(&own, last).is_le()) && place != Some(&own)
        });
        all.sort_by(|one, other| in_order(&place_of(one), &place_of(other)));
        all.dedup_by(|one, other| one.id == other.id);
        Ok((all, more))
    }
}

fn place_of(summary: &DeliverySummary) -> Place {
    (summary.created_at, summary.id.clone())
}

impl DeliverySelection {
    /// Returns the smallest indexes that contain all selected deliveries, each with its start time.
    fn indexes(&self, now: UtcTime) -> Vec<(DeliveryIndex, UtcTime)> {
        let from = self.from.unwrap_or(UtcTime::EPOCH);
        if let Some(event_id) = &self.event_id {
            return vec![(DeliveryIndex::Event(event_id.clone()), from)];
        }
        let of_any_status = match &self.subscription_id {
            Some(subscription_id) => DeliveryIndex::Subscription(subscription_id.clone()),
            None => DeliveryIndex::All,
        };
        // Most deliveries succeed, so the index by status leaves them out.
        if self.status.is_empty() || self.status.contains(&DeliveryStatus::Succeeded) {
            return vec![(of_any_status, from)];
        }
        let mut statuses = self.status.clone();
        statuses.sort_unstable();
        statuses.dedup();
        let mut indexes: Vec<_> = statuses
            .into_iter()
            .map(|status| (DeliveryIndex::Status(status), from))
            .collect();
        if self.status.contains(&DeliveryStatus::Pending) {
            let a_day_ago = UtcTime::from_millis(now.as_millis() - PENDING_MS);
            let from = self.from.or(a_day_ago).unwrap_or(UtcTime::EPOCH);
            indexes.push((of_any_status, from));
        }
        indexes
    }

    fn takes_outcome(&self, record: &DeliveryRecord) -> bool {
        let error = record.last_error.as_deref().unwrap_or_default();
        let response = record.attempts.last().and_then(|last| last.response_status);
        (self.status.is_empty() || self.status.contains(&record.status))
            && self.error.as_deref().is_none_or(|part| error.contains(part))
            && (self.response_status.is_empty()
                || response.is_some_and(|status| self.response_status.contains(&status)))
    }

    fn takes(&self, summary: &DeliverySummary) -> bool {
        let is = |wanted: &Option<String>, had: &str| wanted.as_deref().is_none_or(|wanted| wanted == had);
        let any = |wanted: &[String], had: &str| wanted.is_empty() || wanted.iter().any(|one| one == had);
        is(&self.event_id, &summary.event_id)
            && is(&self.resource_id, &summary.resource_id)
            && is(&self.subscription_id, &summary.subscription_id)
            && any(&self.target_type, &summary.target_type)
            && any(&self.event_category, &summary.event_category)
            && any(&self.action, &summary.action)
            && any(&self.resource_type, &summary.resource_type)
            && self.from.is_none_or(|from| summary.created_at >= from)
            && self.to.is_none_or(|to| summary.created_at <= to)
    }
}
