//! Every object key of a store, written once. No object but the list changes once it is written; a download can be
//! built again from the rest.
//!
//! | object | key |
//! |---|---|
//! | the manifest of a version | `stores/<account>/<project>/<store>/manifests/<version>.json` |
//! | a segment | `stores/<account>/<project>/<store>/segments/<segment>.parquet` |
//! | a version as a file | `stores/<account>/<project>/<store>/downloads/<version>.<extension>` |
//! | what the last collection found unreachable | `stores/<account>/<project>/<store>/garbage.json` |

use platform::Tenant;

/// The key of a version's manifest.
pub fn manifest_key(tenant: &Tenant, store: &str, version: &str) -> String {
    format!("{}/manifests/{version}.json", store_prefix(tenant, store))
}

/// The key of a segment.
pub fn segment_key(tenant: &Tenant, store: &str, segment: &str) -> String {
    format!("{}/segments/{segment}.parquet", store_prefix(tenant, store))
}

/// The key of a version as a file.
pub(super) fn download_key(tenant: &Tenant, store: &str, version: &str, extension: &str) -> String {
    format!("{}/downloads/{version}.{extension}", store_prefix(tenant, store))
}

/// What the keys of all stores begin with.
pub(super) const STORES: &str = "stores/";

/// What the keys of a store begin with.
pub(super) fn store_folder(tenant: &Tenant, store: &str) -> String {
    format!("{}/", store_prefix(tenant, store))
}

/// The key of the list of what is unreachable.
pub(super) fn garbage_key(tenant: &Tenant, store: &str) -> String {
    format!("{}/garbage.json", store_prefix(tenant, store))
}

fn store_prefix(tenant: &Tenant, store: &str) -> String {
    format!("{STORES}{}/{}/{store}", tenant.account(), tenant.project())
}
