//! Stores lanes: for each subscription and key, the deliveries that wait for each other, by the arrival of
//! their events.
//!
//! The matcher enters a delivery before it starts its run, so whatever process dies, a place is there before
//! the delivery is. The run leaves the lane before it ends. A place whose run was terminated is removed by
//! the next delivery of the lane, which reads the record of the delivery in front of it.

use platform::clock::UtcTime;
use platform::error::Result;
use platform::records::{Condition, Query, Table, keys};
use platform::tenant::Tenant;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::records::events::EventRecord;

/// How long a place is kept that nothing removes, in seconds: longer than any delivery takes.
const LIFE_SECONDS: i64 = 90 * 24 * 3_600;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LanePlace {
    /// Subscription, and the hash of the key.
    pub lane: String,
    pub event_id: String,
    /// Arrival of the event.
    pub received_at: UtcTime,
}

impl LanePlace {
    pub fn new(subscription_id: &str, key: &str, event: &EventRecord) -> Self {
        Self {
            lane: format!("{subscription_id}#{}", hex::encode(Sha256::digest(key))),
            event_id: event.id.clone(),
            received_at: event.received_at,
        }
    }

    pub fn subscription_id(&self) -> &str {
        self.lane.split_once('#').map_or("", |(id, _)| id)
    }

    fn sort(&self) -> String {
        format!("{}#{}", self.received_at, self.event_id)
    }

    /// Whether this place comes before another one of the lane.
    pub fn is_before(&self, other: &Self) -> bool {
        (self.received_at, &self.event_id) < (other.received_at, &other.event_id)
    }
}

/// A delivery in its lane.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Waiting {
    #[serde(flatten)]
    pub place: LanePlace,
    pub delivery_id: String,
    /// In Unix seconds.
    expires_at: i64,
}

#[derive(Clone)]
pub struct Lanes {
    table: Table,
}

impl Lanes {
    /// Stores lanes in the table of events.
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    /// Adds a delivery to its lane; does nothing where it is there.
    pub async fn enter(&self, tenant: &Tenant, place: &LanePlace, delivery_id: &str) -> Result<()> {
        let waiting = Waiting {
            place: place.clone(),
            delivery_id: delivery_id.to_owned(),
            expires_at: place.received_at.as_seconds() + LIFE_SECONDS,
        };
        let key = keys::lane_place(tenant, &place.lane, &place.sort());
        let outcome = self.table.put(&key, &waiting, Condition::Absent).await?;
        outcome.took_effect("a place in a lane").map(drop)
    }

    /// Returns the first delivery of a lane.
    pub async fn first(&self, tenant: &Tenant, lane: &str) -> Result<Option<Waiting>> {
        let query = Query::partition(keys::lane(tenant, lane));
        let (first, _) = self.table.page(&query, 1, None).await?;
        Ok(first.into_iter().next())
    }

    /// Removes a delivery from its lane; does nothing where it is not there.
    pub async fn leave(&self, tenant: &Tenant, place: &LanePlace) -> Result<()> {
        let key = keys::lane_place(tenant, &place.lane, &place.sort());
        let outcome = self.table.delete(&key, Condition::Present).await?;
        outcome.took_effect("a place in a lane").map(drop)
    }
}
