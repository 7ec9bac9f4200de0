//! The identity that a workflow run has inside the platform.

use super::run_as_role::RunAsRole;
use crate::tenant::Tenant;

/// A workflow run as a caller of the platform's API: one project, one role.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunPrincipal {
    /// The account and project.
    pub tenant: Tenant,
    /// The run's id.
    pub run_id: String,
    /// The only role that it has.
    pub role: RunAsRole,
    /// Who started the run: `user:<id>`, or `unknown`. Grants nothing.
    pub initiated_by: String,
    /// Tenant that the events of its calls carry.
    pub tenant_id: Option<String>,
}
