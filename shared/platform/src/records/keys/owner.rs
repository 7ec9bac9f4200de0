//! Decides which records belong to a project, for its export and its erasure.

use super::{NO_PROJECT, pk};
use crate::records::store::Key;
use crate::tenant::Tenant;

/// Whether a record belongs to a project: it is in a partition of the project, or its sort key names the
/// project in a partition of the account or of all accounts.
pub fn is_of(tenant: &Tenant, key: &Key) -> bool {
    let of_account = format!("{}#{NO_PROJECT}#", tenant.account());
    let of_all = format!("{NO_PROJECT}#{NO_PROJECT}#");
    key.pk.starts_with(&pk(tenant, ""))
        || key.pk.starts_with(&of_account) && key.sk == tenant.project()
        || key.pk.starts_with(&of_all) && key.sk == tenant.to_string()
}
