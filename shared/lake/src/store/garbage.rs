//! Collects garbage: removes objects that no version names, and versions past their retention.
//!
//! An unreachable object may become reachable again: an import uploads it before a version names it, and a
//! rollback may be about to name the objects of a version that was just removed. So an object is removed only
//! if an earlier collection found it unreachable too, at least a grace period ago, which is longer than any
//! request or import. A list beside the store's objects records when each was found. The importer function
//! collects daily, the local runner hourly.
//!
//! **Invariant:** an object that a kept version names is never removed.

use std::collections::{BTreeMap, HashSet};
use std::ops::AddAssign;
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use platform::config::{ConfigError, Environment, variables};
use platform::{Error, Result, Tenant, UtcTime};
use serde::{Deserialize, Serialize};

use super::steps::Step;
use super::{DataStores, keys};
use crate::schema::manifest::Manifest;

/// Concurrent reads of manifests and removals of objects.
const AT_A_TIME: usize = 8;

const FORMAT: u32 = 1;

/// Retention periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Retention of versions that are neither snapshots nor current; None keeps all.
    pub versions: Option<Duration>,
    /// Time that an object stays after it was found unreachable.
    pub grace: Duration,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Collected {
    pub removed_versions: u64,
    pub removed_objects: u64,
    pub removed_bytes: u64,
    /// Unreachable objects whose grace period has not ended.
    pub waiting_objects: u64,
}

impl Retention {
    /// Grace period of unreachable objects: longer than any import or request that may still name them.
    pub const GRACE: Duration = Duration::from_secs(24 * 3_600);

    /// Reads `MILLRACE_KEEP_VERSIONS_DAYS`; every version is kept if it is missing or 0.
    pub fn from_environment(environment: &Environment) -> Result<Self, ConfigError> {
        let days = environment.number(variables::KEEP_VERSIONS_DAYS)?;
        Ok(Self {
            versions: (days > 0).then(|| Duration::from_secs(days.saturating_mul(24 * 3_600))),
            grace: Self::GRACE,
        })
    }
}

impl AddAssign for Collected {
    fn add_assign(&mut self, other: Self) {
        self.removed_versions += other.removed_versions;
        self.removed_objects += other.removed_objects;
        self.removed_bytes += other.removed_bytes;
        self.waiting_objects += other.waiting_objects;
    }
}

/// Objects that were unreachable at the last collection.
#[derive(Debug, Serialize, Deserialize)]
struct GarbageList {
    format: u32,
    /// Time of the first finding, by key.
    unreachable: BTreeMap<String, UtcTime>,
}

impl DataStores {
    /// Collects the garbage of one store, active or archived. It can be repeated, interrupted, and run
    /// concurrently with any operation.
    pub async fn collect(&self, tenant: &Tenant, store: &str, retention: Retention) -> Result<Collected> {
        let now = self.inner.clock.now();
        let mut collected = Collected::default();
        // Listed before the reachable objects are computed: an object that a later version names is not in
        // this list, or was reachable before.
        let prefix = keys::store_folder(tenant, store);
        let objects = self.inner.objects.list(&prefix).await?;
        // Boxed, because the nested future type would exceed the compiler's recursion limit.
        let reachable = Box::pin(self.reachable(tenant, store, retention, now, &mut collected)).await?;

        let list_key = keys::garbage_key(tenant, store);
        let previous = self.garbage_list(&list_key).await?;
        let is_garbage = |key: &String| *key != list_key && !reachable.contains(key);
        let garbage: Vec<_> = objects
            .into_iter()
            .filter(|object| is_garbage(&object.key))
            .collect();
        let unreachable = garbage.iter().map(|object| {
            let first = previous.get(&object.key).copied();
            (object.key.clone(), first.unwrap_or(now))
        });
        let unreachable: BTreeMap<_, _> = unreachable.collect();
        if unreachable != previous {
            self.write_garbage_list(&list_key, &unreachable).await?;
            self.reached(Step::GarbageListed);
        }

        let is_over = |since: UtcTime| is_older(since, now, retention.grace);
        let (over, waiting): (Vec<_>, Vec<_>) = garbage.into_iter().partition(|object| {
            let first = unreachable.get(&object.key).copied();
            is_over(object.modified) && first.is_some_and(is_over)
        });
        collected.waiting_objects = waiting.len() as u64;
        let removals = over.iter().map(|object| async {
            self.inner.objects.remove(&object.key).await?;
            self.reached(Step::ObjectRemoved);
            Ok::<_, Error>(object.bytes)
        });
        let removals: Vec<_> = removals.collect();
        let removed: Vec<u64> = futures::stream::iter(removals)
            .buffer_unordered(AT_A_TIME)
            .try_collect()
            .await?;
        collected.removed_objects = removed.len() as u64;
        collected.removed_bytes = removed.iter().sum();
        Ok(collected)
    }

    /// Removes versions past their retention. Returns the keys of the objects that the other versions name.
    async fn reachable(
        &self,
        tenant: &Tenant,
        store: &str,
        retention: Retention,
        now: UtcTime,
        collected: &mut Collected,
    ) -> Result<HashSet<String>> {
        let records = &self.inner.records;
        let versions = records.versions(tenant, store).await?;
        // Read after the list: a version is current once, from its writing on, so no listed version can
        // become current after this read. The current version may be missing in the list.
        let current = records.find_any(tenant, store).await?.map(|head| head.version_id);
        let is_listed = |id: &String| versions.iter().any(|version| version.id == *id);
        let mut live: Vec<_> = current.iter().filter(|id| !is_listed(id)).cloned().collect();
        for version in versions {
            let is_old = retention
                .versions
                .is_some_and(|age| is_older(version.created_at, now, age));
            let may_go = is_old && !version.is_snapshot && current.as_ref() != Some(&version.id);
            if may_go && records.remove_version(tenant, store, &version.id).await? {
                self.reached(Step::VersionRemoved);
                collected.removed_versions += 1;
            } else {
                live.push(version.id);
            }
        }
        let names = live.into_iter().map(|version| async move {
            let key = keys::manifest_key(tenant, store, &version);
            let bytes = self.inner.objects.find(&key).await?;
            // Without this manifest, its segments are unknown.
            let bytes = bytes.ok_or_else(|| Error::internal(format!("the manifest {key} is missing")))?;
            let manifest = Manifest::from_json(&bytes)?;
            let segments = manifest.tables.iter().flat_map(|table| &table.segments);
            let names = segments.map(|segment| keys::segment_key(tenant, store, &segment.segment_id));
            Ok::<Vec<_>, Error>(names.chain([key]).collect())
        });
        let names: Vec<_> = names.collect();
        let names: Vec<Vec<String>> = futures::stream::iter(names)
            .buffer_unordered(AT_A_TIME)
            .try_collect()
            .await?;
        Ok(names.into_iter().flatten().collect())
    }

    async fn garbage_list(&self, key: &str) -> Result<BTreeMap<String, UtcTime>> {
        let Some(bytes) = self.inner.objects.find(key).await? else {
            return Ok(BTreeMap::new());
        };
        let list: GarbageList = serde_json::from_slice(&bytes).map_err(Error::internal)?;
        // A list of a newer program is unreadable here; its objects wait a whole grace period again.
        Ok(if list.format == FORMAT {
            list.unreachable
        } else {
            BTreeMap::new()
        })
    }

    async fn write_garbage_list(&self, key: &str, unreachable: &BTreeMap<String, UtcTime>) -> Result<()> {
        if unreachable.is_empty() {
            return self.inner.objects.remove(key).await;
        }
        let list = GarbageList {
            format: FORMAT,
            unreachable: unreachable.clone(),
        };
        let text = serde_json::to_vec(&list).map_err(Error::internal)?;
        self.inner.objects.put(key, text).await
    }

    /// Returns every store that has objects, with its tenant.
    pub async fn all_stores(&self) -> Result<Vec<(Tenant, String)>> {
        let objects = &self.inner.objects;
        let mut stores = Vec::new();
        for account in objects.folders(keys::STORES).await? {
            for project in objects.folders(&account).await? {
                for store in objects.folders(&project).await? {
                    let parts: Vec<_> = store.trim_end_matches('/').split('/').collect();
                    if let [_, account, project, store] = parts.as_slice() {
                        stores.push((Tenant::new(account, project)?, (*store).to_owned()));
                    }
                }
            }
        }
        Ok(stores)
    }
}

fn is_older(since: UtcTime, now: UtcTime, age: Duration) -> bool {
    let passed = now.as_millis().saturating_sub(since.as_millis());
    u128::try_from(passed).is_ok_and(|passed| passed >= age.as_millis())
}
