//! The authenticated caller.

use std::collections::BTreeSet;

use crate::auth::permission::{Permission, Role};
use crate::error::{Error, Result};
use crate::tenant::Tenant;

/// What kind of caller a principal is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrincipalKind {
    /// A person, by user id.
    User(String),
    /// An API key, by its id.
    ApiKey(String),
    /// A workflow run, by its id.
    Run(String),
    /// The operator command or the platform itself.
    System,
}

/// The authenticated caller: who, for which account and project, with which permissions.
#[derive(Clone, Debug)]
pub struct Principal {
    /// Who it is.
    pub kind: PrincipalKind,
    /// The account that everything it does belongs to.
    pub account_id: String,
    /// Its project; none for an account-scoped principal.
    pub project_id: Option<String>,
    /// The tenant that the token names, where it names one.
    pub tenant_id: Option<String>,
    /// The account's readable name.
    pub account_name: Option<String>,
    /// The project's readable name.
    pub project_name: Option<String>,
    /// Its roles, as given; an unknown one grants nothing.
    pub roles: Vec<String>,
    /// Permissions: those of its roles and those named one by one.
    pub permissions: BTreeSet<Permission>,
}

impl Principal {
    /// The operator command or the platform itself, at work in a project. It asks nobody for permission, and has none.
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
        }
    }

    /// Expands roles and single permissions; unknown texts of either grant nothing.
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

    /// The form that `created_by` and `initiated_by` carry: `user:<id>`, `apikey:<id>`, `run:<id>` or `system`.
    pub fn reference(&self) -> String {
        match &self.kind {
            PrincipalKind::User(id) => format!("user:{id}"),
            PrincipalKind::ApiKey(id) => format!("apikey:{id}"),
            PrincipalKind::Run(id) => format!("run:{id}"),
            PrincipalKind::System => "system".to_owned(),
        }
    }

    /// The principal's account and project. 403 for an account-scoped principal, which has no project.
    pub fn tenant(&self) -> Result<Tenant> {
        match &self.project_id {
            Some(project) => Tenant::new(&self.account_id, project),
            None => Err(Error::forbidden(
                "The token is for a whole account; this needs one that names a project.",
            )),
        }
    }

    /// Refuses with 403 unless the principal has one of `any_of`.
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
