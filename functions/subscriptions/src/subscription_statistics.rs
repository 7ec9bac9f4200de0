//! `GET /events/subscriptions/{subscription_id}/statistics`: counts the deliveries of a subscription by hour.
//!
//! The numbers are counted from the records when they are requested: a counter that each delivery raised
//! would be a write more for each, all to the same record. So an answer counts 10,000 deliveries at most.

use std::collections::BTreeMap;

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use events::records::deliveries::{DeliveryIndex, DeliveryRecord, DeliveryStatus};
use platform::auth::Viewer;
use platform::auth::permission::ReadEvents;
use platform::http::{Call, Path, Query, Reply};
use platform::page_token::LOOKING_MS;
use platform::{Error, Result, Tenant, UtcTime, ids};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::App;
use crate::subscription_model::SubscriptionPath;

const HOUR_MS: u64 = 3_600_000;
/// Longest range, in milliseconds: 31 days.
const MAX_RANGE_MS: u64 = 31 * 24 * HOUR_MS;
/// Range where none is given, in milliseconds: a day.
const DEFAULT_RANGE_MS: u64 = 24 * HOUR_MS;
/// Most deliveries that an answer counts.
const MAX_COUNTED: usize = 10_000;
/// Number of deliveries read at a time.
const READ_AT_ONCE: usize = 500;

/// Range of the statistics.
#[derive(Deserialize, JsonSchema)]
pub struct StatisticsQuery {
    /// Earliest time of a delivery's creation. Default: a day before `to`.
    pub from: Option<UtcTime>,
    /// Latest time of a delivery's creation, at most 31 days after `from`. Default: now.
    pub to: Option<UtcTime>,
}

/// Deliveries of a subscription, by hour.
#[derive(Serialize, JsonSchema)]
pub struct Statistics {
    /// Earliest time of the range.
    pub from: UtcTime,
    /// Latest time of the range.
    pub to: UtcTime,
    /// Number of deliveries that were counted, at most 10,000.
    pub counted: usize,
    /// Whether all deliveries of the range were counted. If not, ask for a shorter range.
    pub is_complete: bool,
    /// Time back to which all deliveries were counted: `from` where the answer is complete.
    pub complete_from: UtcTime,
    /// The hours with deliveries, oldest first.
    pub hours: Vec<HourStatistics>,
}

/// Deliveries that were created within an hour.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct HourStatistics {
    /// Start of the hour, UTC.
    pub hour: UtcTime,
    /// Deliveries whose status is `succeeded`.
    pub delivered: u64,
    /// Deliveries whose status is `failed`.
    pub failed: u64,
    /// Deliveries whose status is `cancelled`.
    pub cancelled: u64,
    /// Deliveries that have not ended.
    pub open: u64,
    /// Attempts that have ended.
    pub attempts: u64,
    /// Median of the times from the acceptance of the event to the success of its delivery, in milliseconds;
    /// left out where none succeeded. A webhook's delivery succeeds with the receiver's answer, any other
    /// with the end of its run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_ms: Option<u64>,
    /// 95th percentile of these times, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_ms: Option<u64>,
    /// Verdicts of a semantic condition in the mode `shadow`; left out where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow: Option<ShadowVerdicts>,
}

/// Verdicts of a semantic condition that blocked nothing.
#[derive(Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ShadowVerdicts {
    /// Events that meet the condition.
    pub matched: u64,
    /// Events that do not.
    pub not_matched: u64,
    /// Evaluations that failed.
    pub error: u64,
}

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("getSubscriptionStatistics")
        .tag("subscriptions")
        .summary("Get statistics of a subscription")
        .description(
            "Counts the deliveries of a subscription by the hour of their creation: how many were delivered, how many failed, how long they \
             took, and what a semantic condition in the mode `shadow` would have decided. They are counted for this answer, newest first: at \
             most 10,000, for at most ten seconds. Where there are more, `is_complete` is false, and `complete_from` says how far back \
             the numbers are whole.\n\n\
             Limit: a range of 31 days.",
        )
        .response_with::<200, axum::Json<Statistics>, _>(|response| response.description("The statistics."))
}

async fn handler(
    call: Call<ReadEvents>,
    State(app): State<App>,
    Path(path): Path<SubscriptionPath>,
    Query(query): Query<StatisticsQuery>,
) -> Result<Reply<Statistics>> {
    let tenant = call.tenant()?;
    let to = query.to.unwrap_or(call.now);
    let from = query.from.unwrap_or_else(|| before(to, DEFAULT_RANGE_MS));
    if to < from {
        return Err(Error::invalid(
            "The query parameter 'to' must not be before 'from'.",
        ));
    }
    if to.millis_since(from) > MAX_RANGE_MS {
        return Err(Error::invalid(
            "The query parameters 'from' and 'to' must be at most 31 days apart.",
        ));
    }
    let id = app.subscriptions.get(&tenant, &path.subscription_id).await?.id;
    let viewer = Viewer::from_principal(&call.principal);
    count(&app, (&tenant, &viewer), &id, (from, to))
        .await
        .map(Reply::ok)
}

fn before(time: UtcTime, millis: u64) -> UtcTime {
    let millis = i64::try_from(millis).unwrap_or(i64::MAX);
    UtcTime::from_millis(time.as_millis().saturating_sub(millis)).unwrap_or(UtcTime::EPOCH)
}

async fn count(
    app: &App,
    (tenant, viewer): (&Tenant, &Viewer),
    subscription_id: &str,
    (from, to): (UtcTime, UtcTime),
) -> Result<Statistics> {
    let (deliveries, clock) = (&app.redelivery.parts.deliveries, &app.platform.clock);
    let now = clock.now();
    let index = DeliveryIndex::Subscription(subscription_id.to_owned());
    let mut hours = Hours::default();
    let mut until: (UtcTime, Option<String>) = (to, None);
    loop {
        let place = (until.0, until.1.as_deref());
        let most = READ_AT_ONCE.min(MAX_COUNTED + 1 - hours.counted);
        let (mut page, more) = deliveries.list(tenant, &index, from, place, most).await?;
        // The place itself is read again.
        page.retain(|summary| until.1.as_ref() != Some(&summary.id));
        let room = MAX_COUNTED - hours.counted;
        let is_cut = page.len() > room;
        page.truncate(room);
        let ids = page.iter().map(|summary| summary.id.as_str());
        for delivery in deliveries.find_all_unexpired(tenant, ids, now).await? {
            if viewer.sees(delivery.private_to.as_deref()) {
                hours.add(&delivery);
            }
        }
        if let Some(last) = page.last() {
            until = (last.created_at, Some(last.id.clone()));
        }
        let is_over = !more && !is_cut;
        if is_over || is_cut || page.is_empty() || clock.now() >= now.plus_ms(LOOKING_MS) {
            return Ok(Statistics {
                from,
                to,
                counted: hours.counted,
                is_complete: is_over,
                complete_from: if is_over { from } else { until.0 },
                hours: hours.statistics(),
            });
        }
    }
}

/// Counts deliveries by hour.
#[derive(Default)]
struct Hours {
    counted: usize,
    by_start: BTreeMap<UtcTime, Hour>,
}

struct Hour {
    statistics: HourStatistics,
    /// Times from event to success, in milliseconds.
    took_ms: Vec<u64>,
}

impl Hour {
    const fn new(hour: UtcTime) -> Self {
        Self {
            statistics: HourStatistics {
                hour,
                delivered: 0,
                failed: 0,
                cancelled: 0,
                open: 0,
                attempts: 0,
                p50_ms: None,
                p95_ms: None,
                shadow: None,
            },
            took_ms: Vec::new(),
        }
    }
}

impl Hours {
    fn add(&mut self, delivery: &DeliveryRecord) {
        self.counted += 1;
        let into_hour = delivery.created_at.as_millis().rem_euclid(HOUR_MS.cast_signed());
        let start = before(delivery.created_at, into_hour.unsigned_abs());
        let hour = self.by_start.entry(start).or_insert_with(|| Hour::new(start));
        let statistics = &mut hour.statistics;
        statistics.attempts += u64::from(delivery.attempt_count);
        match delivery.status {
            DeliveryStatus::Succeeded => {
                statistics.delivered += 1;
                hour.took_ms.extend(took_ms(delivery));
            }
            DeliveryStatus::Failed => statistics.failed += 1,
            DeliveryStatus::Cancelled => statistics.cancelled += 1,
            _ => statistics.open += 1,
        }
        if let Some(evaluation) = &delivery.semantic_evaluation
            && evaluation.mode == "shadow"
        {
            let shadow = statistics.shadow.get_or_insert_default();
            match evaluation.matched {
                Some(true) => shadow.matched += 1,
                Some(false) => shadow.not_matched += 1,
                None => shadow.error += 1,
            }
        }
    }

    fn statistics(self) -> Vec<HourStatistics> {
        let hours = self.by_start.into_values().map(|mut hour| {
            hour.took_ms.sort_unstable();
            HourStatistics {
                p50_ms: percentile(&hour.took_ms, 50),
                p95_ms: percentile(&hour.took_ms, 95),
                ..hour.statistics
            }
        });
        hours.collect()
    }
}

/// Returns the time from the acceptance of the event, which is in the delivery's id, to the success.
fn took_ms(delivery: &DeliveryRecord) -> Option<u64> {
    let accepted = ids::time_of(&delivery.id)?;
    let succeeded = match delivery.attempts.last() {
        Some(last) => last.started_at.plus_ms(last.duration_ms),
        None => delivery.updated_at,
    };
    Some(succeeded.millis_since(accepted))
}

/// Returns the nearest-rank percentile of sorted numbers; None without numbers.
fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentile_is_the_nearest_rank() {
        let numbers: Vec<u64> = (1..=20).collect();
        for (percent, expected) in [(50, 10), (95, 19), (100, 20)] {
            assert_eq!(percentile(&numbers, percent), Some(expected));
        }
        assert_eq!(percentile(&[7], 95), Some(7));
        assert_eq!(percentile(&[], 50), None);
    }
}
