//! Stores which users are members of which projects.
//!
//! A membership is stored twice, in one transaction: with its project, for the list of members, and with its
//! user, for requests. A user's id is in keys as its SHA-256, because it may contain anything.

use platform::error::{Error, Result};
use platform::records::store::Key;
use platform::records::{Condition, Query, Rows, Table, keys};
use platform::tenant::Tenant;
use platform::{UtcTime, auth::Role};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Maximum number of projects of one user.
pub const MAX_PROJECTS: usize = 1_000;

/// A user as a member of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Id within the project, made of the user's.
    pub id: String,
    /// As `user:<id>` shows it elsewhere, without `user:`.
    pub user_id: String,
    pub account_id: String,
    pub project_id: String,
    pub roles: Vec<Role>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub version: u64,
    pub created_at: UtcTime,
    pub created_by: String,
    pub updated_at: UtcTime,
    pub updated_by: String,
}

impl Member {
    pub fn tenant(&self) -> Result<Tenant> {
        Tenant::new(&self.account_id, &self.project_id)
    }
}

/// Members of projects.
#[derive(Clone)]
pub struct Members {
    table: Table,
}

impl Members {
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    /// Returns the memberships of a user in every account.
    pub async fn of_user(&self, user_id: &str) -> Result<Vec<Member>> {
        let partition = keys::memberships(&member_id(user_id));
        let members: Vec<Member> = self.table.all(&Query::partition(partition)).await?;
        Ok(members
            .into_iter()
            .filter(|member| member.user_id == user_id)
            .collect())
    }

    /// Returns the members of a project.
    pub fn rows(&self, tenant: &Tenant, after: Option<&str>, read_at_once: usize) -> Rows<Member> {
        self.table
            .rows(Query::partition(keys::members(tenant)), after, read_at_once)
    }

    pub async fn find(&self, tenant: &Tenant, id: &str) -> Result<Option<Member>> {
        self.table.find(&keys::member(tenant, id)).await
    }

    /// 404 for a missing member.
    pub async fn get(&self, tenant: &Tenant, id: &str) -> Result<Member> {
        let member = self.find(tenant, id).await?;
        member.ok_or_else(|| Error::not_found("member", id))
    }

    /// 409 for a user who is a member already.
    pub async fn insert(&self, member: &Member) -> Result<()> {
        if self.of_user(&member.user_id).await?.len() >= MAX_PROJECTS {
            return Err(Error::conflict(format!(
                "The user '{}' is a member of {MAX_PROJECTS} projects, which is the most.",
                member.user_id
            )));
        }
        if self.put(member, &Condition::Absent).await? {
            return Ok(());
        }
        Err(Error::conflict(format!(
            "The user '{}' is a member already; change the roles by PUT /members/{}.",
            member.user_id, member.id
        )))
    }

    /// Replaces a member of the version before. 409 if another change was faster.
    pub async fn save(&self, member: &Member) -> Result<()> {
        let before = Condition::NumberIs("version", member.version - 1);
        if self.put(member, &before).await? {
            return Ok(());
        }
        Err(changed(member))
    }

    /// Removes a member as it was read. 409 if it was changed since.
    pub async fn remove(&self, member: &Member) -> Result<()> {
        let mut transaction = self.table.transaction();
        for key in places(&member.tenant()?, &member.id) {
            transaction = transaction.delete(&key, Condition::NumberIs("version", member.version))?;
        }
        match transaction.commit().await?.took_effect("a member")? {
            true => Ok(()),
            false => Err(changed(member)),
        }
    }

    async fn put(&self, member: &Member, condition: &Condition) -> Result<bool> {
        let mut transaction = self.table.transaction();
        for key in places(&member.tenant()?, &member.id) {
            transaction = transaction.put(&key, member, condition.clone())?;
        }
        transaction.commit().await?.took_effect("a member")
    }
}

/// Returns the id of a user as a member.
pub fn member_id(user_id: &str) -> String {
    let digest = Sha256::digest(user_id.as_bytes());
    hex::encode(digest.iter().take(16).copied().collect::<Vec<_>>())
}

fn changed(member: &Member) -> Error {
    Error::conflict(format!(
        "The member '{}' was changed at the same time; read it again.",
        member.id
    ))
}

fn places(tenant: &Tenant, id: &str) -> [Key; 2] {
    [keys::member(tenant, id), keys::membership(id, tenant)]
}
