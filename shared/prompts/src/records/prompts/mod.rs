//! Stores prompt templates and their versions.
//!
//! The head of a template is its whole current version, so one read is enough. All versions are stored beside
//! it. An update writes both in one transaction that requires the head that was read, so version numbers have
//! no gaps and concurrent writers lose no content. The record of the current version is always equal to the
//! head, so that a deleted template still says which of its versions is published.

mod published;

use platform::clock::UtcTime;
use platform::error::{Error, Result};
use platform::records::{Condition, Order, Outcome, Query, Rows, Table, Written, json_text, keys};
use platform::tenant::Tenant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use published::PromptInUse;

/// Label of the step that checks the parent of a fork.
const PARENT: &str = "parent";

/// Language of a prompt template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ContentType {
    /// Handlebars: `{{variable}}`. Recommended.
    Handlebars,
    /// JavaScript template literals: `${variable}`.
    Jst,
    /// Static text, without variables.
    Text,
}

/// Status of a version of a prompt template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PromptStatus {
    /// Created by a caller; every update creates a draft.
    Draft,
    /// The version that interactions use; a template has at most one.
    Published,
}

/// A complete version of a template.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PromptRecord {
    /// Id of the template, the same for all versions.
    pub id: String,
    pub name: String,
    /// Role of the message: `user`, `assistant`, `system`, ….
    pub role: String,
    pub status: PromptStatus,
    /// 1 for the first version, increasing by one.
    pub version: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Language of the content.
    pub content_type: ContentType,
    pub content: String,
    /// Example values of the variables.
    #[serde(default, with = "json_text")]
    pub test_data: Option<Value>,
    /// JSON Schema of the variables.
    #[serde(default, with = "json_text")]
    pub input_schema: Option<Value>,
    pub tags: Vec<String>,
    /// Template that a fork was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Author of the template.
    pub created_by: String,
    /// Author of this version.
    pub updated_by: String,
    /// Creation time of the template.
    pub created_at: UtcTime,
    /// Time at which this version was created or published.
    pub updated_at: UtcTime,
    /// What the author says about this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// In the current version: number of the published version; 0 where none is.
    pub published_version: u64,
    /// In the current version: number of changes of the template, which a publication is too. A change
    /// requires the number that it read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub revision: u64,
}

impl PromptRecord {
    /// Returns the condition that the template is as it was read.
    fn is_unchanged(&self) -> Condition {
        match self.revision {
            0 => Condition::Lacks("revision"),
            revision => Condition::NumberIs("revision", revision),
        }
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[derive(Serialize, Deserialize)]
struct ForkRecord {
    project_id: String,
    prompt_id: String,
}

/// The forks of a template, read lazily.
pub struct Forks<'a> {
    prompts: &'a Prompts,
    tenant: Tenant,
    links: Rows<ForkRecord>,
}

impl Forks<'_> {
    /// Returns the next fork that is not deleted; None at the end.
    pub async fn next(&mut self) -> Result<Option<PromptRecord>> {
        while let Some(link) = self.links.next().await? {
            if link.project_id != self.tenant.project() {
                continue;
            }
            let key = keys::prompt(&self.tenant, &link.prompt_id);
            if let Some(fork) = self.prompts.table.find(&key).await? {
                return Ok(Some(fork));
            }
        }
        Ok(None)
    }
}

#[derive(Clone)]
pub struct Prompts {
    table: Table,
}

impl Prompts {
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    /// Returns the current version; 404 for a missing template.
    pub async fn get(&self, tenant: &Tenant, id: &str) -> Result<PromptRecord> {
        let found = self.table.find(&keys::prompt(tenant, id)).await?;
        found.ok_or_else(|| Error::not_found("prompt template", id))
    }

    /// Returns a version of a template, or the current one. 404 for a missing version or a deleted template.
    pub async fn version(&self, tenant: &Tenant, id: &str, version: Option<u64>) -> Result<PromptRecord> {
        let head = self.get(tenant, id).await?;
        let Some(number) = version.filter(|number| *number != head.version) else {
            return Ok(head);
        };
        let found = self.table.find(&keys::prompt_version(tenant, id, number)).await?;
        found.ok_or_else(|| Error::not_found("prompt version", &number.to_string()))
    }

    /// Lists the current versions of all templates of a project, oldest template first.
    pub async fn list(&self, tenant: &Tenant) -> Result<Vec<PromptRecord>> {
        self.table.all(&Query::partition(keys::prompts(tenant))).await
    }

    /// Returns the current versions of the templates after the one with the id `after`, oldest template
    /// first, read lazily.
    pub fn rows(&self, tenant: &Tenant, after: Option<&str>, read_at_once: usize) -> Rows<PromptRecord> {
        let query = Query::partition(keys::prompts(tenant));
        self.table.rows(query, after, read_at_once)
    }

    /// Returns the versions of a template before the version `before`, newest first, read lazily.
    pub fn versions(
        &self,
        tenant: &Tenant,
        id: &str,
        before: Option<u64>,
        read_at_once: usize,
    ) -> Rows<PromptRecord> {
        let query = Query::partition(keys::prompt_parts(tenant, id)).prefix(keys::PROMPT_VERSION);
        let before = before.map(|version| keys::prompt_version(tenant, id, version).sk);
        self.table
            .rows(query.order(Order::Descending), before.as_deref(), read_at_once)
    }

    /// Returns the forks of a template in the same project, after the one with the id `after`, oldest first.
    pub fn forks(&self, tenant: &Tenant, id: &str, after: Option<&str>, read_at_once: usize) -> Forks<'_> {
        let query = Query::partition(keys::prompt_parts(tenant, id)).prefix(keys::PROMPT_FORK);
        let after = after.map(|fork| keys::prompt_fork(tenant, id, fork).sk);
        Forks {
            prompts: self,
            tenant: tenant.clone(),
            links: self.table.rows(query, after.as_deref(), read_at_once),
        }
    }

    pub async fn insert(&self, tenant: &Tenant, prompt: &PromptRecord) -> Result<()> {
        let transaction = self.with_new(tenant, prompt)?;
        done(transaction.commit_labelled().await?, &prompt.id)
    }

    /// Adds a template to the project of `target` as a fork of `prompt.parent`, which is in the project of
    /// `tenant`.
    pub async fn insert_fork(&self, tenant: &Tenant, target: &Tenant, prompt: &PromptRecord) -> Result<()> {
        let parent = prompt.parent.as_deref().unwrap_or_default();
        let link = ForkRecord {
            project_id: target.project().to_owned(),
            prompt_id: prompt.id.clone(),
        };
        let transaction = self
            .with_new(target, prompt)?
            .put(
                &keys::prompt_fork(tenant, parent, &prompt.id),
                &link,
                Condition::Absent,
            )?
            .check(&keys::prompt(tenant, parent), Condition::Present)?
            .labelled(PARENT);
        match transaction.commit_labelled().await? {
            Outcome::Refused(Some(PARENT)) => Err(Error::not_found("prompt template", parent)),
            outcome => done(outcome, &prompt.id),
        }
    }

    fn with_new(&self, tenant: &Tenant, prompt: &PromptRecord) -> Result<platform::records::Transaction<'_>> {
        self.table
            .transaction()
            .put(&keys::prompt(tenant, &prompt.id), prompt, Condition::Absent)?
            .put(
                &keys::prompt_version(tenant, &prompt.id, prompt.version),
                prompt,
                Condition::Absent,
            )
    }

    /// Makes `next` the current version if it directly follows the one that it was made from, and the
    /// template did not change since. Otherwise nothing changes, the result names the reason, and the caller
    /// must read again.
    pub async fn save(&self, tenant: &Tenant, next: &mut PromptRecord) -> Result<Written> {
        let is_unchanged = next.is_unchanged();
        next.revision += 1;
        let next = &*next;
        self.table
            .transaction()
            .put(&keys::prompt(tenant, &next.id), next, is_unchanged)?
            .put(
                &keys::prompt_version(tenant, &next.id, next.version),
                next,
                Condition::Absent,
            )?
            .commit()
            .await
    }

    /// Hides a template from every read; its versions stay. `version` is the required current version, if the
    /// caller gave one.
    pub async fn remove(&self, tenant: &Tenant, id: &str, version: Option<u64>) -> Result<Written> {
        let condition = version.map_or(Condition::Present, |version| {
            Condition::NumberIs("version", version)
        });
        self.table.delete(&keys::prompt(tenant, id), condition).await
    }
}

fn done(outcome: Outcome, id: &str) -> Result<()> {
    match outcome {
        Outcome::Done => Ok(()),
        Outcome::Contended => Err(Error::unavailable("a prompt template is contended")),
        Outcome::Refused(_) => Err(Error::conflict(format!(
            "The prompt template '{id}' exists already."
        ))),
    }
}
