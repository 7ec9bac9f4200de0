//! Decides who sees what belongs to a private run: the run itself, its events, deliveries and audit records.

use serde::Serialize;

use crate::auth::permission::Permission;
use crate::auth::principal::Principal;

/// Caller, and whether it sees what is private to others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Viewer {
    /// Reference as runs store their starter: `user:<id>`.
    pub reference: String,
    /// Whether private runs of others are visible.
    pub sees_all: bool,
}

impl Viewer {
    /// `workflow_superadmin` sees everything.
    pub fn from_principal(principal: &Principal) -> Self {
        Self {
            reference: principal.reference(),
            sees_all: principal.require(&[Permission::WorkflowSuperadmin]).is_ok(),
        }
    }

    /// The operator command, which reads the records themselves.
    pub fn operator() -> Self {
        Self {
            reference: "user:ops".to_owned(),
            sees_all: true,
        }
    }

    /// A reader of what is private to no one.
    pub fn of_project() -> Self {
        Self {
            reference: String::new(),
            sees_all: false,
        }
    }

    /// Whether something is visible that is private to a principal, or to no one.
    pub fn sees(&self, private_to: Option<&str>) -> bool {
        self.sees_all || private_to.is_none_or(|owner| owner == self.reference)
    }
}
