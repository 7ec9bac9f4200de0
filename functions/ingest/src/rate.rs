//! How many events a channel may take in a second.
//!
//! The instances of the function share one count for each channel and window of ten seconds. An instance
//! adds what it took to it only once it took its part of a quarter of the limit, so a slow channel costs no
//! write, and a channel takes a quarter more than its limit at most.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use platform::config::{ConfigError, Environment};
use platform::records::ingest_counts::IngestCounts;
use platform::{Clock, Error, Result, Tenant, metrics};
use tracing::warn;

const WINDOW_SECONDS: i64 = 10;
/// Most channels whose counts an instance keeps.
const MAX_CHANNELS: usize = 1_024;
/// Most events that an instance takes between two looks at the shared count.
const MAX_UNSHARED: u64 = 100;

/// The limit of each channel. Clones share their counts.
#[derive(Clone)]
pub struct ChannelRates {
    /// Events of a window; none where there is no limit.
    most: Option<u64>,
    /// Events that an instance takes by itself.
    share: u64,
    counts: IngestCounts,
    clock: Clock,
    taken: Arc<Mutex<HashMap<(String, String), Taken>>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    window: i64,
    /// By this instance, and not in the shared count.
    unshared: u64,
    /// The shared count, as it was seen last.
    shared: u64,
}

impl ChannelRates {
    /// From `MILLRACE_INGEST_CHANNEL_RATE`, events in a second, and `MILLRACE_INGEST_CONCURRENCY`, the most
    /// instances.
    pub fn from_environment(
        environment: &Environment,
        counts: IngestCounts,
        clock: Clock,
    ) -> Result<Self, ConfigError> {
        let rate = environment.number("MILLRACE_INGEST_CHANNEL_RATE", 0)?;
        let instances = environment.number("MILLRACE_INGEST_CONCURRENCY", 1)?.max(1);
        let most = rate.saturating_mul(WINDOW_SECONDS.unsigned_abs());
        Ok(Self {
            most: (most > 0).then_some(most),
            share: most / instances / 4,
            counts,
            clock,
            taken: Arc::default(),
        })
    }

    /// Counts an event of a channel. 429 with the seconds to wait where the channel has taken what it may.
    /// Where the shared count cannot be read, an event is taken.
    pub async fn admit(&self, tenant: &Tenant, channel: &str) -> Result<()> {
        let Some(most) = self.most else {
            return Ok(());
        };
        let now = self.clock.now().as_seconds();
        let window = now - now.rem_euclid(WINDOW_SECONDS);
        let name = (
            format!("{}#{}", tenant.account(), tenant.project()),
            channel.to_owned(),
        );
        let mut taken = self.count(&name, window);
        if taken.shared + taken.unshared <= most && taken.unshared > self.share.min(MAX_UNSHARED) {
            match self.counts.add(tenant, channel, window, taken.unshared).await {
                Ok(shared) => taken = self.share_count(&name, taken, shared),
                Err(cause) => warn!(channel_id = channel, %cause, "the rate of a channel is not known"),
            }
        }
        if taken.shared + taken.unshared <= most {
            return Ok(());
        }
        metrics::ingest_rate_limited();
        let wait_s = u64::try_from(window + WINDOW_SECONDS - now).unwrap_or(1).max(1);
        Err(Error::too_many_requests(
            format!(
                "The channel takes {most} events in {WINDOW_SECONDS} seconds and has taken them; repeat this one in {wait_s} seconds."
            ),
            wait_s,
        ))
    }

    fn count(&self, name: &(String, String), window: i64) -> Taken {
        let mut all = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
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
        taken.unshared += 1;
        *taken
    }

    /// Takes over what became of the shared count after `added` was added to it.
    fn share_count(&self, name: &(String, String), added: Taken, shared: u64) -> Taken {
        let mut all = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
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
