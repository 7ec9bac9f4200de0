//! Defines permissions, the roles that expand to them, and the marker types that state what a handler
//! requires.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Permission of a principal. Tokens and error messages contain its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permission {
    /// `interaction:read`: read prompt templates, their versions, forks, facets and interactions.
    InteractionRead,
    /// `interaction:write`: create, update and fork prompt templates.
    InteractionWrite,
    /// `interaction:delete`: delete prompt templates.
    InteractionDelete,
    /// `content:read`: read and query data stores.
    ContentRead,
    /// `content:write`: create and change data stores, import into them.
    ContentWrite,
    /// `content:delete`: archive data stores.
    ContentDelete,
    /// `project:admin`: administer the project of the token.
    ProjectAdmin,
    /// `account:admin`: administer every project of the account.
    AccountAdmin,
    /// `audit:read`: aggregate over events and meters.
    AuditRead,
    /// `workflow:run`: everything about workflow runs.
    WorkflowRun,
    /// `workflow:read`: read workflow types, subscriptions, channels and deliveries.
    WorkflowRead,
    /// `workflow:admin`: change subscriptions and channels.
    WorkflowAdmin,
    /// `workflow_superadmin`: see the private runs of all users. No role has it.
    WorkflowSuperadmin,
}

use Permission::*;

impl Permission {
    pub const ALL: [Self; 13] = [
        InteractionRead,
        InteractionWrite,
        InteractionDelete,
        ContentRead,
        ContentWrite,
        ContentDelete,
        ProjectAdmin,
        AccountAdmin,
        AuditRead,
        WorkflowRun,
        WorkflowRead,
        WorkflowAdmin,
        WorkflowSuperadmin,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            InteractionRead => "interaction:read",
            InteractionWrite => "interaction:write",
            InteractionDelete => "interaction:delete",
            ContentRead => "content:read",
            ContentWrite => "content:write",
            ContentDelete => "content:delete",
            ProjectAdmin => "project:admin",
            AccountAdmin => "account:admin",
            AuditRead => "audit:read",
            WorkflowRun => "workflow:run",
            WorkflowRead => "workflow:read",
            WorkflowAdmin => "workflow:admin",
            WorkflowSuperadmin => "workflow_superadmin",
        }
    }
}

impl JsonSchema for Permission {
    fn schema_name() -> Cow<'static, str> {
        "Permission".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "Permission of a caller.",
            "enum": Self::ALL.map(Self::as_str),
        })
    }
}

impl Serialize for Permission {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Permission {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL
            .into_iter()
            .find(|permission| permission.as_str() == text)
            .ok_or(())
    }
}

/// A named, fixed set of permissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Reads prompts, stores, subscriptions, deliveries and workflow types.
    Reader,
    /// A reader that also uses workflow runs.
    Executor,
    /// An executor that also writes stores and prompts.
    Automation,
    /// A developer: everything in a project except its administration.
    Developer,
    /// A developer who also administers the project: its audit trail, API keys and members.
    ProjectAdmin,
    /// Administers every project of an account.
    AccountAdmin,
}

impl Role {
    pub const ALL: [Self; 6] = [
        Self::Reader,
        Self::Executor,
        Self::Automation,
        Self::Developer,
        Self::ProjectAdmin,
        Self::AccountAdmin,
    ];

    /// Returns the name in a token's `roles`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Executor => "executor",
            Self::Automation => "automation",
            Self::Developer => "developer",
            Self::ProjectAdmin => "project_admin",
            Self::AccountAdmin => "account_admin",
        }
    }

    pub const fn permissions(self) -> &'static [Permission] {
        match self {
            Self::Reader => &[InteractionRead, ContentRead, WorkflowRead],
            Self::Executor => &[InteractionRead, ContentRead, WorkflowRead, WorkflowRun],
            Self::Automation => &[
                InteractionRead,
                InteractionWrite,
                ContentRead,
                ContentWrite,
                WorkflowRead,
                WorkflowRun,
            ],
            Self::Developer => &[
                InteractionRead,
                InteractionWrite,
                InteractionDelete,
                ContentRead,
                ContentWrite,
                ContentDelete,
                AuditRead,
                WorkflowRead,
                WorkflowRun,
                WorkflowAdmin,
            ],
            Self::ProjectAdmin => &[
                InteractionRead,
                InteractionWrite,
                InteractionDelete,
                ContentRead,
                ContentWrite,
                ContentDelete,
                ProjectAdmin,
                AuditRead,
                WorkflowRead,
                WorkflowRun,
                WorkflowAdmin,
            ],
            Self::AccountAdmin => &[
                InteractionRead,
                InteractionWrite,
                InteractionDelete,
                ContentRead,
                ContentWrite,
                ContentDelete,
                ProjectAdmin,
                AccountAdmin,
                AuditRead,
                WorkflowRead,
                WorkflowRun,
                WorkflowAdmin,
            ],
        }
    }
}

impl FromStr for Role {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|role| role.as_str() == text).ok_or(())
    }
}

/// Requirement of a handler: any one of the permissions is enough.
pub trait Required: Send + Sync + 'static {
    const ANY_OF: &'static [Permission];
}

/// Reading prompt templates needs `interaction:read`.
pub struct ReadPrompts;
/// Writing prompt templates needs `interaction:write`.
pub struct WritePrompts;
/// Deleting prompt templates needs `interaction:delete`.
pub struct DeletePrompts;
/// Reading data stores needs `content:read`.
pub struct ReadStores;
/// Writing data stores needs `content:write`.
pub struct WriteStores;
/// Archiving data stores needs `content:delete`.
pub struct DeleteStores;
/// Everything about workflow runs needs `workflow:run`.
pub struct UseRuns;
/// Reading the workflow types needs `workflow:read` or `workflow:run`.
pub struct ReadWorkflowTypes;
/// Reading subscriptions, channels and deliveries needs `workflow:read` or `workflow:run`.
pub struct ReadEvents;
/// Changing subscriptions and channels needs `workflow:admin`.
pub struct WriteEvents;
/// Reading the audit trail needs `project:admin` or `account:admin`.
pub struct ReadAuditTrail;
/// Administering API keys and members needs `project:admin`.
pub struct AdministerProject;
/// Aggregating over events needs `project:admin`, `account:admin` or `audit:read`.
pub struct AggregateEvents;

impl Required for ReadPrompts {
    const ANY_OF: &'static [Permission] = &[InteractionRead];
}
impl Required for WritePrompts {
    const ANY_OF: &'static [Permission] = &[InteractionWrite];
}
impl Required for DeletePrompts {
    const ANY_OF: &'static [Permission] = &[InteractionDelete];
}
impl Required for ReadStores {
    const ANY_OF: &'static [Permission] = &[ContentRead];
}
impl Required for WriteStores {
    const ANY_OF: &'static [Permission] = &[ContentWrite];
}
impl Required for DeleteStores {
    const ANY_OF: &'static [Permission] = &[ContentDelete];
}
impl Required for UseRuns {
    const ANY_OF: &'static [Permission] = &[WorkflowRun];
}
impl Required for ReadWorkflowTypes {
    const ANY_OF: &'static [Permission] = &[WorkflowRead, WorkflowRun];
}
impl Required for ReadEvents {
    const ANY_OF: &'static [Permission] = &[WorkflowRead, WorkflowRun];
}
impl Required for WriteEvents {
    const ANY_OF: &'static [Permission] = &[WorkflowAdmin];
}
impl Required for ReadAuditTrail {
    const ANY_OF: &'static [Permission] = &[ProjectAdmin, AccountAdmin];
}
impl Required for AdministerProject {
    const ANY_OF: &'static [Permission] = &[ProjectAdmin];
}
impl Required for AggregateEvents {
    const ANY_OF: &'static [Permission] = &[ProjectAdmin, AccountAdmin, AuditRead];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_read_back() {
        for permission in Permission::ALL {
            assert_eq!(permission.as_str().parse(), Ok(permission));
        }
        for role in Role::ALL {
            assert_eq!(role.as_str().parse(), Ok(role));
        }
        assert!("root".parse::<Role>().is_err());
    }

    #[test]
    fn no_role_sees_private_runs() {
        for role in Role::ALL {
            assert!(!role.permissions().contains(&WorkflowSuperadmin), "{role:?}");
        }
    }

    #[test]
    fn service_roles_never_administer_or_delete() {
        for role in [Role::Reader, Role::Executor, Role::Automation] {
            for permission in [
                ProjectAdmin,
                AccountAdmin,
                InteractionDelete,
                ContentDelete,
                WorkflowAdmin,
            ] {
                assert!(!role.permissions().contains(&permission), "{role:?} {permission}");
            }
        }
    }
}
