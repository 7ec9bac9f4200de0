//! Caches the compiled subscriptions of projects with recent events.

use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;
use platform::{Error, Result, Tenant};
use tokio::sync::RwLock;

use super::{EventToMatch, Match, SubscriptionSet};
use crate::records::subscriptions::{MAX_BYTES, Subscriptions};

const MAX_PROJECTS: NonZeroUsize = NonZeroUsize::new(1_000).unwrap();
/// Number of attempts to read subscriptions that change meanwhile.
const MAX_READS: u32 = 16;
/// Subscriptions that one read asks for.
const READ_AT_ONCE: usize = 1_000;

/// The subscriptions of a project, as they were at a change.
#[derive(Default)]
struct Kept {
    change: Option<u64>,
    set: SubscriptionSet,
}

/// What matches an event, and the number of the project's listening runs.
pub struct Matches {
    pub matches: Vec<Match>,
    pub listeners: u64,
}

pub struct SubscriptionSets {
    subscriptions: Subscriptions,
    kept: Mutex<LruCache<Tenant, Arc<RwLock<Kept>>>>,
}

impl SubscriptionSets {
    pub fn new(subscriptions: Subscriptions) -> Self {
        Self {
            subscriptions,
            kept: Mutex::new(LruCache::new(MAX_PROJECTS)),
        }
    }

    /// Returns the current subscriptions of a project that match an event.
    pub async fn matches(&self, tenant: &Tenant, event: &EventToMatch<'_>) -> Result<Matches> {
        let state = self.subscriptions.state(tenant).await?;
        let project = {
            let mut all = self.kept.lock();
            Arc::clone(all.get_or_insert(tenant.clone(), Arc::default))
        };
        let mut current = project.read().await;
        if current.change != state.change {
            drop(current);
            let mut old = project.write().await;
            self.refresh(tenant, &mut old).await?;
            self.make_room(old.set.bytes());
            current = old.downgrade();
        }
        Ok(Matches {
            matches: current.set.matches(event)?,
            listeners: state.listeners,
        })
    }

    /// Reads what has changed, or all where too much has, until nothing changes meanwhile.
    async fn refresh(&self, tenant: &Tenant, kept: &mut Kept) -> Result<()> {
        for _ in 0..MAX_READS {
            let state = self.subscriptions.state(tenant).await?;
            if kept.change == state.change {
                return Ok(());
            }
            self.read(tenant, kept, state.change).await?;
            kept.change = state.change;
        }
        Err(Error::unavailable(
            "the subscriptions of a project change all the time",
        ))
    }

    async fn read(&self, tenant: &Tenant, kept: &mut Kept, change: Option<u64>) -> Result<()> {
        if let (Some(since), Some(until)) = (kept.change, change)
            && !kept.set.is_worn()
            && let Some(changed) = self.subscriptions.changed(tenant, since, until).await?
        {
            for (id, record) in changed {
                match record {
                    Some(record) => kept.set.put(&record),
                    None => drop(kept.set.remove(&id)),
                }
            }
            return Ok(());
        }
        *kept = Kept::default();
        let mut rows = self.subscriptions.rows(tenant, None, READ_AT_ONCE);
        while let Some(record) = rows.next().await? {
            kept.set.put(&record);
        }
        Ok(())
    }

    /// Drops the sets of the projects whose last event is longest ago, so that all sets together have at most
    /// the bytes of the largest. `bytes` are those of the set in use.
    fn make_room(&self, bytes: usize) {
        let mut all = self.kept.lock();
        let others = |kept: &Arc<RwLock<Kept>>| kept.try_read().map_or(0, |kept| kept.set.bytes());
        let mut sum = bytes + all.iter().map(|(_, kept)| others(kept)).sum::<usize>();
        while sum as u64 > MAX_BYTES && all.len() > 1 {
            let Some((_, oldest)) = all.pop_lru() else {
                return;
            };
            sum = sum.saturating_sub(others(&oldest));
        }
    }
}
