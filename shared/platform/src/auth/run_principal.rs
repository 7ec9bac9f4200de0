//! Describes the identity of a workflow run inside the platform.

use super::run_as_role::RunAsRole;
use crate::tenant::Tenant;

/// A workflow run as a caller of the platform's API, with one project and one role.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunPrincipal {
    pub tenant: Tenant,
    pub run_id: String,
    pub role: RunAsRole,
    /// Principal that started the run: `user:<id>`, or `unknown`. Grants nothing.
    pub initiated_by: String,
    /// Tenant in the events of the run's calls.
    pub tenant_id: Option<String>,
}
