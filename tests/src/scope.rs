//! Provides callers: an account and a project of one test, and the personas in and around it.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::operator::Operator;
use crate::runs::WITHIN;
use crate::unique;

/// Pause between two checks of the stored data.
const CHECK_PAUSE: Duration = Duration::from_secs(1);

/// Caller with certain permissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persona {
    /// Builds in the project and administers it.
    Developer,
    /// May only read in the project.
    Reader,
    /// Belongs to the project and has no permission.
    Nobody,
    /// A developer of another project of the account.
    OtherProject,
    /// A developer of another account, whose project has the same name.
    OtherAccount,
    /// Administers the account, with a token of the project.
    AccountAdmin,
    /// Administers the account, with a token that names no project.
    WholeAccount,
}

impl Persona {
    fn roles(self) -> &'static str {
        match self {
            Self::Developer | Self::OtherProject | Self::OtherAccount => "developer,project_admin",
            Self::Reader => "reader",
            Self::Nobody => "",
            Self::AccountAdmin | Self::WholeAccount => "account_admin",
        }
    }

    fn user(self) -> &'static str {
        match self {
            Self::Developer => "developer",
            Self::Reader => "reader",
            Self::Nobody => "nobody",
            Self::OtherProject => "other-project",
            Self::OtherAccount => "other-account",
            Self::AccountAdmin | Self::WholeAccount => "account-admin",
        }
    }
}

/// Account and project, and tokens for them.
#[derive(Clone, Debug)]
pub struct Scope {
    pub account: String,
    pub project: String,
    operator: Operator,
}

impl Scope {
    /// Returns a new account and project of the operator's service.
    pub fn new(operator: Operator) -> Self {
        Self {
            account: unique("account"),
            project: unique("project"),
            operator,
        }
    }

    /// Returns the name of the account's other project.
    pub fn other_project(&self) -> String {
        format!("{}-other", self.project)
    }

    #[track_caller]
    pub fn token(&self, persona: Persona) -> String {
        let (account, project) = match persona {
            Persona::OtherProject => (self.account.clone(), self.other_project()),
            Persona::OtherAccount => (format!("{}-other", self.account), self.project.clone()),
            _ => (self.account.clone(), self.project.clone()),
        };
        let mut arguments = vec!["--account", &account, "--project", &project];
        arguments.extend(["--user-id", persona.user(), "--roles", persona.roles()]);
        if persona == Persona::WholeAccount {
            arguments.push("--whole-account");
        }
        self.operator.token(&arguments)
    }

    /// Returns a token of the project with other arguments of `ops token`.
    #[track_caller]
    pub fn token_with(&self, arguments: &[&str]) -> String {
        let mut all = vec!["--account", &self.account, "--project", &self.project];
        all.extend(arguments);
        self.operator.token(&all)
    }

    /// Runs the operator command in this account and project.
    #[track_caller]
    pub fn ops(&self, arguments: &[&str]) -> crate::Finished {
        self.ops_with(arguments, &[])
    }

    /// Runs the operator command in this account and project, with variables in its environment.
    pub fn ops_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> crate::Finished {
        let mut all = arguments.to_vec();
        all.extend(["--account", &self.account, "--project", &self.project]);
        self.operator.run_with(&all, variables)
    }

    /// Asserts that the stored data satisfies every invariant, and retries while writes are in progress.
    pub async fn check(&self) {
        let deadline = Instant::now() + WITHIN;
        loop {
            let report = self.ops(&["check"]);
            if report.code == Some(0) {
                return;
            }
            assert!(Instant::now() < deadline, "{report:?}");
            tokio::time::sleep(CHECK_PAUSE).await;
        }
    }

    /// Runs the command with `--json` in this account and project. Returns the one JSON value that it prints.
    #[track_caller]
    pub fn ops_json(&self, arguments: &[&str]) -> Value {
        let mut all = arguments.to_vec();
        all.extend(["--account", &self.account, "--project", &self.project]);
        self.operator.json(&all)
    }
}
