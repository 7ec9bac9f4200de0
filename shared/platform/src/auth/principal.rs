//! Describes the authenticated caller.

use std::collections::BTreeSet;

use crate::auth::permission::{Permission, Role};
use crate::auth::run_as_role::RunAsRole;
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

    /// Whether the principal administers every project of its account.
    pub fn administers_account(&self) -> bool {
        self.permissions.contains(&Permission::AccountAdmin)
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

    /// 403 unless the principal has every permission of the role that it lets runs work with: who may choose
    /// a role, or what is done with it, would else have the role's permissions.
    pub fn require_role(&self, role: RunAsRole) -> Result<()> {
        self.require_all_of(role.role())
    }

    /// Returns roles that the principal gives to another, each once. 400 for none, 403 unless the principal
    /// has every permission of each.
    pub fn grantable(&self, field: &str, roles: &[Role]) -> Result<Vec<Role>> {
        let mut distinct: Vec<Role> = Vec::new();
        for role in roles {
            self.require_all_of(*role)?;
            if !distinct.contains(role) {
                distinct.push(*role);
            }
        }
        if distinct.is_empty() {
            return Err(Error::invalid_field(field, "must name at least one role."));
        }
        Ok(distinct)
    }

    /// 403 for an API key that would make a credential with a later end than its own; None is no end.
    pub fn require_end(&self, end: Option<UtcTime>) -> Result<()> {
        match (&self.kind, self.valid_until) {
            (PrincipalKind::ApiKey(_), Some(own)) if end.is_none_or(|end| end > own) => {
                Err(Error::forbidden(format!(
                    "The API key of this request ends at {own}, so it makes no key that opens for longer."
                )))
            }
            _ => Ok(()),
        }
    }

    fn require_all_of(&self, role: Role) -> Result<()> {
        let needed = role.permissions().iter();
        let missing: Vec<_> = needed
            .filter(|permission| !self.permissions.contains(permission))
            .map(|permission| permission.as_str())
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(Error::forbidden(format!(
            "The role '{}' is for callers who have its permissions themselves; this needs also {}.",
            role.as_str(),
            missing.join(", ")
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn principal(roles: &[&str], permissions: &[&str]) -> Principal {
        let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        Principal {
            permissions: Principal::expand(&owned(roles), &owned(permissions)),
            ..Principal::system(&Tenant::new("acme", "demo").unwrap())
        }
    }

    #[test]
    fn role_with_a_permission_that_its_chooser_lacks_is_refused_by_name() {
        for (roles, permissions, role, missing) in [
            (&["developer"][..], &[][..], RunAsRole::Automation, None),
            (&["automation"], &["workflow:admin"], RunAsRole::Automation, None),
            (&["executor"], &[], RunAsRole::Reader, None),
            (
                &[],
                &["workflow:admin"],
                RunAsRole::Reader,
                Some("interaction:read, content:read, workflow:read"),
            ),
            (
                &["executor"],
                &["workflow:admin"],
                RunAsRole::Automation,
                Some("interaction:write, content:write"),
            ),
            (
                &["reader"],
                &["workflow:admin", "interaction:write", "content:write"],
                RunAsRole::Automation,
                Some("workflow:run"),
            ),
            (
                &["unknown"],
                &["project:admin", "account:admin"],
                RunAsRole::Executor,
                Some("workflow:run"),
            ),
        ] {
            let checked = principal(roles, permissions).require_role(role);
            match (missing, checked) {
                (None, Ok(())) => {}
                (Some(missing), Err(error)) => {
                    assert_eq!(error.status(), 403);
                    assert!(error.message().contains(missing), "{}", error.message());
                }
                (missing, checked) => panic!("{roles:?} {permissions:?} {role}: {missing:?} {checked:?}"),
            }
        }
    }
}
