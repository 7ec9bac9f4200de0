//! Names the objects of runs in the bucket: states and payloads.

use platform::Tenant;

/// Prefix of the key of a state in the bucket, in the record that has the key; no JSON starts with it.
pub const ELSEWHERE: &str = "@";
/// Prefix of the details of updates, for all tenants, because a lifecycle rule of the bucket names one
/// prefix. No account can have this name.
pub(crate) const UPDATE_DETAILS: &str = "payloads/~updates/";

/// Prefix of a run's states in the bucket.
pub(crate) fn state_folder(tenant: &Tenant, run_id: &str) -> String {
    format!("states/{}/{}/{run_id}/", tenant.account(), tenant.project())
}

pub(crate) fn state_key(tenant: &Tenant, run_id: &str, version: u64, commit_id: &str) -> String {
    format!("{}{version}-{commit_id}", state_folder(tenant, run_id))
}

pub(crate) fn payload_folder(tenant: &Tenant, run_id: &str) -> String {
    format!("payloads/{}/{}/{run_id}/", tenant.account(), tenant.project())
}

pub(crate) fn update_folder(tenant: &Tenant, run_id: &str) -> String {
    format!(
        "{UPDATE_DETAILS}{}/{}/{run_id}/",
        tenant.account(),
        tenant.project()
    )
}
