//! Describes the authenticated caller.

use std::collections::BTreeSet;

use crate::auth::permission::{Permission, Role};
use crate::clock::UtcTime;
use crate::error::{Error, Result};
use crate::tenant::Tenant;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrincipalKind {
    /// A person; contains the user id.
    User(String),
    /// Contains the key's id.
    ApiKey(String),
    /// Contains the run's id.
    Run(String),
    /// The operator command or the platform itself.
    System,
}

/// The authenticated caller, its account and project, and its permissions.
#[derive(Clone, Debug)]
pub struct Principal {
    pub kind: PrincipalKind,
    /// Account of everything that the principal does.
    pub account_id: String,
    /// None for an account-scoped principal.
    pub project_id: Option<String>,
    /// Tenant in the token, if any.
    pub tenant_id: Option<String>,
    /// Readable name.
    pub account_name: Option<String>,
    /// Readable name.
    pub project_name: Option<String>,
    /// Roles as given; an unknown role grants nothing.
    pub roles: Vec<String>,
    /// Permissions of the roles and those granted individually.
    pub permissions: BTreeSet<Permission>,
    /// Time at which the credentials end; None where they have no end.
    pub valid_until: Option<UtcTime>,
}

impl Principal {
    /// The operator command or the platform itself, working in a project. It bypasses permission checks and
    /// has no permissions.
    pub fn system(tenant: &Tenant) -> Self {
        Self {
            kind: PrincipalKind::System,
            account_id: tenant.account().to_owned(),
            project_id: Some(tenant.project().to_owned()),
            tenant_id: None,
            account_name: None,
            project_name: None,
            roles: Vec::new(),
            permissions: BTreeSet::new(),
            valid_until: None,
        }
    }

    /// Expands roles and individual permissions; unknown names grant nothing.
    pub fn expand(roles: &[String], permissions: &[String]) -> BTreeSet<Permission> {
        let of_roles = roles
            .iter()
            .filter_map(|role| role.parse::<Role>().ok())
            .flat_map(|role| role.permissions());
        of_roles
            .copied()
            .chain(permissions.iter().filter_map(|text| text.parse().ok()))
            .collect()
    }

    /// Formats the principal as in `created_by` and `initiated_by`: `user:<id>`, `apikey:<id>`, `run:<id>` or
    /// `system`.
    pub fn reference(&self) -> String {
        match &self.kind {
            PrincipalKind::User(id) => format!("user:{id}"),
            PrincipalKind::ApiKey(id) => format!("apikey:{id}"),
            PrincipalKind::Run(id) => format!("run:{id}"),
            PrincipalKind::System => "system".to_owned(),
        }
    }

    /// Returns the principal's account and project. 403 for an account-scoped principal, which has no
    /// project.
    pub fn tenant(&self) -> Result<Tenant> {
        match &self.project_id {
            Some(project) => Tenant::new(&self.account_id, project),
            None => Err(Error::forbidden(
                "The token is for a whole account; this needs one that names a project.",
            )),
        }
    }

    /// 403 unless the principal has one of `any_of`.
    pub fn require(&self, any_of: &[Permission]) -> Result<()> {
        if any_of
            .iter()
            .any(|permission| self.permissions.contains(permission))
        {
            return Ok(());
        }
        let names: Vec<_> = any_of.iter().map(|permission| permission.as_str()).collect();
        Err(Error::forbidden(format!(
            "This needs the permission {}.",
            names.join(" or ")
        )))
    }
}
