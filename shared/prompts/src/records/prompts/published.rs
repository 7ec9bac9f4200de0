//! Publishes a version of a template, and finds the version that interactions use.
//!
//! A draft is never used while a version is published: authors save unfinished work in drafts.

use platform::clock::UtcTime;
use platform::error::{Error, Result};
use platform::races::{RacePolicy, Races};
use platform::records::{Condition, Written, keys};
use platform::tenant::Tenant;

use super::{PromptRecord, PromptStatus, Prompts};

/// The version of a template that an interaction uses.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptInUse {
    pub prompt: PromptRecord,
    /// Whether the template is deleted: its versions stay for the interactions that use them.
    pub is_deleted: bool,
}

impl Prompts {
    /// Returns the version that an interaction uses, also of a deleted template: the pinned one, else the
    /// published one, else the newest. 404 where there is none.
    pub async fn in_use(&self, tenant: &Tenant, id: &str, pinned: Option<u64>) -> Result<PromptInUse> {
        let head: Option<PromptRecord> = self.table.find(&keys::prompt(tenant, id)).await?;
        let is_deleted = head.is_none();
        let prompt = match pinned {
            Some(number) => match head.filter(|head| head.version == number) {
                Some(head) => head,
                None => self.kept_version(tenant, id, number).await?,
            },
            None => {
                let newest = match head {
                    Some(head) => Some(head),
                    None => self.versions(tenant, id, None, 1).next().await?,
                };
                let newest = newest.ok_or_else(|| Error::not_found("prompt template", id))?;
                let published = self.published(tenant, &newest).await?;
                published.unwrap_or(newest)
            }
        };
        Ok(PromptInUse { prompt, is_deleted })
    }

    /// Publishes the current or an older version, and withdraws the one that was published before. 404 for a
    /// missing one.
    pub async fn publish(
        &self,
        tenant: &Tenant,
        id: &str,
        version: Option<u64>,
        now: UtcTime,
    ) -> Result<PromptRecord> {
        let mut races = Races::new(&RacePolicy::RECORD, "a prompt template");
        loop {
            let mut head = self.get(tenant, id).await?;
            let is_unchanged = head.is_unchanged();
            let number = version.unwrap_or(head.version);
            let before = self.published(tenant, &head).await?;
            let mut published = match number == head.version {
                true => head.clone(),
                false => self.kept_version(tenant, id, number).await?,
            };
            published.status = PromptStatus::Published;
            published.updated_at = now;
            let mut transaction = self.table.transaction();
            if let Some(mut withdrawn) = before.filter(|before| before.version != number) {
                withdrawn.status = PromptStatus::Draft;
                if withdrawn.version == head.version {
                    head.status = PromptStatus::Draft;
                } else {
                    let key = keys::prompt_version(tenant, id, withdrawn.version);
                    transaction = transaction.put(&key, &withdrawn, Condition::Present)?;
                }
            }
            if number == head.version {
                head = published.clone();
            } else {
                let key = keys::prompt_version(tenant, id, number);
                transaction = transaction.put(&key, &published, Condition::Present)?;
            }
            head.published_version = number;
            head.revision += 1;
            published.published_version = number;
            let newest = keys::prompt_version(tenant, id, head.version);
            let transaction = transaction
                .put(&keys::prompt(tenant, id), &head, is_unchanged)?
                .put(&newest, &head, Condition::Present)?;
            if transaction.commit().await? == Written::Done {
                return Ok(published);
            }
            races.lost().await?;
        }
    }

    async fn kept_version(&self, tenant: &Tenant, id: &str, number: u64) -> Result<PromptRecord> {
        let kept = self.table.find(&keys::prompt_version(tenant, id, number)).await?;
        kept.ok_or_else(|| Error::not_found("prompt version", &number.to_string()))
    }

    /// Returns the published version of the template whose newest version is `newest`.
    async fn published(&self, tenant: &Tenant, newest: &PromptRecord) -> Result<Option<PromptRecord>> {
        Ok(match newest.published_version {
            0 => None,
            number if number == newest.version => Some(newest.clone()),
            number => Some(self.kept_version(tenant, &newest.id, number).await?),
        })
    }
}
