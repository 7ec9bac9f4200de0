//! Records what a channel refused, for its owner.
//!
//! An attacker must not cause a write for each request: an instance writes at most ten times in ten seconds
//! for one channel, and counts the others until the next write. Refusals by missing channels are written too,
//! where no owner sees them: a faster response would reveal that the channel is missing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use events::records::refusals::{Refusals, RefusedRequest};
use parking_lot::Mutex;
use platform::Tenant;
use tokio::time::Instant;
use tracing::warn;

const WINDOW: Duration = Duration::from_secs(10);
/// Writes of an instance in a window, for one channel.
const MAX_WRITES: u32 = 10;
/// Most channels whose refusals an instance counts.
const MAX_CHANNELS: usize = 1_024;
/// Most refusals of a channel that wait for a write.
const MAX_WAITING: usize = 100;

#[derive(Clone)]
pub struct RefusalLog {
    refusals: Refusals,
    channels: Arc<Mutex<HashMap<String, Waiting>>>,
}

struct Waiting {
    since: Instant,
    writes: u32,
    requests: Vec<RefusedRequest>,
}

impl RefusalLog {
    pub fn new(refusals: Refusals) -> Self {
        Self {
            refusals,
            channels: Arc::default(),
        }
    }

    /// Records a refused request. Returns whether the owner is to be told by an event.
    pub async fn add(&self, tenant: &Tenant, channel: &str, request: RefusedRequest) -> bool {
        let Some(requests) = self.due(&format!("{tenant}/{channel}"), request) else {
            return false;
        };
        let is_due = self.refusals.add(tenant, channel, &requests).await;
        is_due.unwrap_or_else(|cause| {
            warn!(channel_id = channel, %cause, "refusals of a channel are not recorded");
            false
        })
    }

    /// Records a request to the path of a missing channel.
    pub async fn add_nowhere(&self, path: &str, request: RefusedRequest) {
        if let Some(requests) = self.due(path, request)
            && let Err(cause) = self.refusals.add_nowhere(path, &requests).await
        {
            warn!(%cause, "a refusal is not recorded");
        }
    }

    /// Returns the refusals to write now; None if they wait.
    fn due(&self, name: &str, request: RefusedRequest) -> Option<Vec<RefusedRequest>> {
        let mut channels = self.channels.lock();
        if channels.len() >= MAX_CHANNELS && !channels.contains_key(name) {
            channels.clear();
        }
        let waiting = channels.entry(name.to_owned()).or_insert_with(|| Waiting {
            since: Instant::now(),
            writes: 0,
            requests: Vec::new(),
        });
        if waiting.since.elapsed() >= WINDOW {
            waiting.since = Instant::now();
            waiting.writes = 0;
        }
        if waiting.requests.len() < MAX_WAITING {
            waiting.requests.push(request);
        }
        (waiting.writes < MAX_WRITES).then(|| {
            waiting.writes += 1;
            std::mem::take(&mut waiting.requests)
        })
    }
}
