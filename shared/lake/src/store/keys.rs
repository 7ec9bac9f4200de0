//! Every object key of a store, written once. Both kinds of object never change once they are written.
//!
//! | object | key |
//! |---|---|
//! | the manifest of a version | `stores/<account>/<project>/<store>/manifests/<version>.json` |
//! | a segment | `stores/<account>/<project>/<store>/segments/<segment>.parquet` |

use platform::Tenant;

/// The key of a version's manifest.
pub fn manifest_key(tenant: &Tenant, store: &str, version: &str) -> String {
    format!("{}/manifests/{version}.json", store_prefix(tenant, store))
}

/// The key of a segment.
pub fn segment_key(tenant: &Tenant, store: &str, segment: &str) -> String {
    format!("{}/segments/{segment}.parquet", store_prefix(tenant, store))
}

fn store_prefix(tenant: &Tenant, store: &str) -> String {
    format!("stores/{}/{}/{store}", tenant.account(), tenant.project())
}
