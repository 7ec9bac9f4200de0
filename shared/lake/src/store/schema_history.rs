//! Lists the schema changes of a store, version by version.

use std::collections::HashMap;
use std::sync::Arc;

use futures::{Stream, StreamExt as _};
use platform::{Error, Result, Tenant};

use crate::records::stores::StoreVersion;

use super::{DataStores, keys};
use crate::schema::difference::schema_difference;
use crate::schema::manifest::Manifest;

/// Manifests of versions read at a time: each can have some megabytes.
const READ_AHEAD: usize = 4;

/// A version that changed the schema.
#[derive(Clone, Debug)]
pub struct SchemaChange {
    pub version: StoreVersion,
    /// One sentence per change.
    pub changes: Vec<String>,
}

impl DataStores {
    /// Returns the versions that changed the schema, newest first, on demand those before a version. The
    /// empty first version is no change. A reader that stops early reads few manifests.
    pub async fn schema_history<'a>(
        &'a self,
        tenant: &'a Tenant,
        store: &'a str,
        before: Option<&str>,
    ) -> Result<impl Stream<Item = Result<SchemaChange>> + use<'a>> {
        let head = self.inner.records.get(tenant, store).await?;
        let versions = self.inner.records.versions(tenant, store).await?;
        let changed = changed(versions, &head.version_id, before);
        let read = changed.into_iter().map(move |(version, parent)| async move {
            let manifest = self.read_manifest(tenant, store, &version.id).await?;
            let parent = self.read_manifest(tenant, store, &parent).await?;
            // If one of the two manifests is no longer kept, the changes are unknown.
            let changes = match (parent, manifest) {
                (Some(before), Some(after)) => schema_difference(&before, &after),
                _ => Vec::new(),
            };
            Ok::<_, Error>(SchemaChange { version, changes })
        });
        Ok(futures::stream::iter(read).buffered(READ_AHEAD))
    }

    /// Reads a manifest without adding it to the cache, because a long history would evict manifests in use.
    async fn read_manifest(
        &self,
        tenant: &Tenant,
        store: &str,
        version: &str,
    ) -> Result<Option<Arc<Manifest>>> {
        if let Some(manifest) = self.inner.manifests.find(version) {
            return Ok(Some(manifest));
        }
        let key = keys::manifest_key(tenant, store, version);
        let bytes = self.inner.objects.find(&key).await?;
        bytes
            .map(|bytes| Manifest::from_json(&bytes).map(Arc::new))
            .transpose()
    }
}

/// Returns the versions whose schema version differs from their parent's, newest first, with the parent's id;
/// on demand those before a version. The order follows the links to parents, because ids of one millisecond do not show the order
/// of creation.
fn changed(versions: Vec<StoreVersion>, head: &str, before: Option<&str>) -> Vec<(StoreVersion, String)> {
    let versions = versions.into_iter().map(|version| (version.id.clone(), version));
    let mut versions: HashMap<_, _> = versions.collect();
    let mut changed = Vec::new();
    let mut next = versions.remove(head);
    let mut is_passed = before.is_none();
    while let Some(version) = next {
        let Some(parent_id) = version.parent_version_id.clone() else {
            break;
        };
        let parent = versions.remove(&parent_id);
        let is_change = parent
            .as_ref()
            .is_none_or(|parent| parent.schema_version != version.schema_version);
        let is_last_passed = before == Some(version.id.as_str());
        if is_change && is_passed {
            changed.push((version, parent_id));
        }
        is_passed |= is_last_passed;
        next = parent;
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(id: &str, parent: Option<&str>, schema_version: u64) -> StoreVersion {
        StoreVersion {
            id: id.into(),
            message: String::new(),
            schema_version,
            is_snapshot: false,
            snapshot_name: None,
            created_at: "2026-01-02T03:04:05Z".parse().unwrap(),
            created_by: "user:ada".into(),
            parent_version_id: parent.map(str::to_owned),
        }
    }

    #[test]
    fn the_chain_gives_the_order_and_imports_are_left_out() {
        let versions = vec![
            version("a", None, 1),
            version("b", Some("d"), 3),
            version("c", Some("a"), 2),
            version("d", Some("c"), 2),
            version("e", Some("b"), 3),
        ];
        let ids = |head: &str, before: Option<&str>| -> Vec<_> {
            let changed = changed(versions.clone(), head, before);
            changed
                .into_iter()
                .map(|(version, parent)| (version.id, parent))
                .collect()
        };
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(ids("e", None), [pair("b", "d"), pair("c", "a")]);
        assert_eq!(ids("e", Some("b")), [pair("c", "a")]);
        assert_eq!(ids("e", Some("c")), []);
        assert_eq!(ids("e", Some("gone")), []);
        assert_eq!(ids("a", None), []);
        assert_eq!(ids("gone", None), []);
    }
}
