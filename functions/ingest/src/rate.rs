//! Limits the events that a channel may accept per second.
//!
//! The instances of the function share one count for each channel and window of ten seconds. An instance adds
//! its events to the shared count only when they reach its part of a quarter of the limit. So a slow channel
//! costs few writes, and a channel exceeds its limit by about a quarter.

use std::collections::HashMap;
use std::sync::Arc;

use events::records::ingest_counts::IngestCounts;
use parking_lot::Mutex;
use platform::config::{ConfigError, Environment, variables};
use platform::{Clock, Error, Result, Tenant};
use tracing::warn;

const WINDOW_SECONDS: i64 = 10;
/// Maximum number of channels whose counts an instance keeps.
const MAX_CHANNELS: usize = 1_024;
/// Maximum number of events that an instance accepts between two reads of the shared count.
const MAX_UNSHARED: u64 = 100;

/// Rate limit of each channel. Clones share their counts.
#[derive(Clone)]
pub struct ChannelRates {
    /// Events per window; None means no limit.
    most: Option<u64>,
    /// Events that an instance may accept before it updates the shared count.
    share: u64,
    counts: IngestCounts,
    clock: Clock,
    taken: Arc<Mutex<HashMap<(String, String), Taken>>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    window: i64,
    /// Events that this instance accepted and that the shared count lacks.
    unshared: u64,
    /// Last known shared count.
    shared: u64,
}

impl ChannelRates {
    /// Reads `MILLRACE_INGEST_CHANNEL_RATE`, events per second, and `MILLRACE_INGEST_CONCURRENCY`, the most
    /// instances.
    pub fn from_environment(
        environment: &Environment,
        counts: IngestCounts,
        clock: Clock,
    ) -> Result<Self, ConfigError> {
        let rate = environment.number(variables::INGEST_CHANNEL_RATE)?;
        let instances = environment.number(variables::INGEST_CONCURRENCY)?.max(1);
        let most = rate.saturating_mul(WINDOW_SECONDS.unsigned_abs());
        Ok(Self {
            most: (most > 0).then_some(most),
            share: most / instances / 4,
            counts,
            clock,
            taken: Arc::default(),
        })
    }

    /// Counts events of a channel. 429 with the seconds to wait where the channel has reached its limit.
    /// Accepts the events if the shared count cannot be read.
    pub async fn admit(&self, tenant: &Tenant, channel: &str, events: u64) -> Result<()> {
        let Some(most) = self.most else {
            return Ok(());
        };
        let now = self.clock.now().as_seconds();
        let window = now - now.rem_euclid(WINDOW_SECONDS);
        let name = (
            format!("{}#{}", tenant.account(), tenant.project()),
            channel.to_owned(),
        );
        let mut taken = self.count(&name, window, events);
        if taken.shared + taken.unshared <= most && taken.unshared > self.share.min(MAX_UNSHARED) {
            match self.counts.add(tenant, channel, window, taken.unshared).await {
                Ok(shared) => taken = self.share_count(&name, taken, shared),
                Err(cause) => warn!(channel_id = channel, %cause, "the rate of a channel is not known"),
            }
        }
        if taken.shared + taken.unshared <= most {
            return Ok(());
        }
        let wait_s = u64::try_from(window + WINDOW_SECONDS - now).unwrap_or(1).max(1);
        Err(Error::too_many_requests(
            format!(
                "The channel takes {most} events in {WINDOW_SECONDS} seconds and has taken them; repeat this one in {wait_s} seconds."
            ),
            wait_s,
        ))
    }

    fn count(&self, name: &(String, String), window: i64, events: u64) -> Taken {
        let mut all = self.taken.lock();
        if all.len() >= MAX_CHANNELS && !all.contains_key(name) {
            all.retain(|_, taken| taken.window == window);
            if all.len() >= MAX_CHANNELS {
                all.clear();
            }
        }
        let taken = all.entry(name.clone()).or_default();
        if taken.window != window {
            *taken = Taken {
                window,
                ..Taken::default()
            };
        }
        taken.unshared += events;
        *taken
    }

    /// Stores the shared count that the addition of `added` resulted in.
    fn share_count(&self, name: &(String, String), added: Taken, shared: u64) -> Taken {
        let mut all = self.taken.lock();
        let Some(taken) = all.get_mut(name).filter(|taken| taken.window == added.window) else {
            return Taken {
                shared,
                unshared: 0,
                ..added
            };
        };
        taken.unshared = taken.unshared.saturating_sub(added.unshared);
        taken.shared = taken.shared.max(shared);
        *taken
    }
}
