//! Defines every object key of a store in one place.
//!
//! Only the list of unreachable objects changes after it is written. A download can be built again from the
//! other objects.
//!
//! | object | key |
//! |---|---|
//! | the manifest of a version | `stores/<account>/<project>/<store>/manifests/<version>.json` |
//! | a segment | `stores/<account>/<project>/<store>/segments/<segment>.parquet` |
//! | a version as a file | `stores/<account>/<project>/<store>/downloads/<version>.<extension>` |
//! | objects that the last collection found unreachable | `stores/<account>/<project>/<store>/garbage.json` |

use platform::Tenant;

pub fn manifest_key(tenant: &Tenant, store: &str, version: &str) -> String {
    format!("{}/manifests/{version}.json", store_prefix(tenant, store))
}

pub fn segment_key(tenant: &Tenant, store: &str, segment: &str) -> String {
    format!("{}/segments/{segment}.parquet", store_prefix(tenant, store))
}

/// Returns the key of a version's download.
pub(super) fn download_key(tenant: &Tenant, store: &str, version: &str, extension: &str) -> String {
    format!("{}/downloads/{version}.{extension}", store_prefix(tenant, store))
}

/// Prefix of the keys of all stores.
pub(super) const STORES: &str = "stores/";

/// Returns the prefix of a store's keys.
pub(super) fn store_folder(tenant: &Tenant, store: &str) -> String {
    format!("{}/", store_prefix(tenant, store))
}

/// Returns the key of the list of unreachable objects.
pub(super) fn garbage_key(tenant: &Tenant, store: &str) -> String {
    format!("{}/garbage.json", store_prefix(tenant, store))
}

fn store_prefix(tenant: &Tenant, store: &str) -> String {
    format!("{STORES}{}/{}/{store}", tenant.account(), tenant.project())
}
