//! The audit trail: one record a mutation, never changed.

use std::collections::BTreeSet;
use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::UtcTime;
use crate::error::Result;
use crate::records::logs::{KnownLogs, LogId, LogKind};
use crate::records::{Condition, Key, Order, Query, Table, Written, keys};

/// Kind of a mutation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum AuditAction {
    Create,
    Update,
    Delete,
    BulkUpdate,
    BulkDelete,
    Attach,
    Detach,
    Publish,
    Unpublish,
}

/// A record of one mutation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditEvent {
    /// Id of the record.
    pub id: String,
    /// Always `audit`.
    pub event_type: String,
    /// Kind of the mutation.
    pub action: AuditAction,
    /// Kind of the changed resource, such as `prompt`.
    pub resource_type: String,
    /// Id of the changed resource; empty where a creation was refused.
    pub resource_id: String,
    /// Time of the request.
    pub timestamp: UtcTime,
    /// Id of the HTTP request, as its answer and the log have it.
    pub request_id: String,
    /// HTTP status of the answer.
    #[schemars(range(min = 100, max = 599))]
    pub status: u16,
    /// True where the status is below 400.
    pub success: bool,
    /// Id of the API key or service; null for a user.
    pub principal_id: Option<String>,
    /// Kind of the principal: `user`, `apikey` or `system`.
    pub principal_type: Option<String>,
    /// Id of the user; null for other principals.
    pub principal_user_id: Option<String>,
    /// Roles of the principal at that time.
    pub roles: Vec<String>,
    /// Id of the principal's account.
    pub account_id: Option<String>,
    /// Id of the principal's project; null for an account-scoped token.
    pub project_id: Option<String>,
    /// Id of the tenant that the token names; null where it names none.
    pub tenant_id: Option<String>,
    /// Name of the account for people.
    pub account_name: Option<String>,
    /// Name of the project for people.
    pub project_name: Option<String>,
}

impl AuditEvent {
    /// The log that the record belongs to.
    pub fn log(&self) -> LogId {
        let account = self.account_id.as_deref().unwrap_or(keys::NO_PROJECT);
        LogId::new(account, self.project_id.as_deref(), LogKind::Audit)
    }
}

/// Which records to list. An empty set and a None take everything.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    /// Any of these actions.
    pub actions: BTreeSet<AuditAction>,
    /// Any of these resource types.
    pub resource_types: BTreeSet<String>,
    /// This resource.
    pub resource_id: Option<String>,
    /// This API key or service.
    pub principal_id: Option<String>,
    /// This person.
    pub principal_user_id: Option<String>,
    /// Not before.
    pub from: Option<UtcTime>,
    /// Not after.
    pub to: Option<UtcTime>,
}

impl AuditFilter {
    fn takes(&self, event: &AuditEvent) -> bool {
        let is =
            |wanted: &Option<String>, value: Option<&str>| wanted.is_none() || wanted.as_deref() == value;
        (self.actions.is_empty() || self.actions.contains(&event.action))
            && (self.resource_types.is_empty() || self.resource_types.contains(&event.resource_type))
            && is(&self.resource_id, Some(&event.resource_id))
            && is(&self.principal_id, event.principal_id.as_deref())
            && is(&self.principal_user_id, event.principal_user_id.as_deref())
    }
}

/// The audit trail.
#[derive(Clone)]
pub struct AuditTrail {
    table: Table,
    logs: KnownLogs,
}

/// Records read at a time. DynamoDB itself ends a page at 1 MB.
const PAGE: i32 = 500;

impl AuditTrail {
    /// Over the table of audit records.
    pub fn new(table: Table) -> Self {
        Self {
            table,
            logs: KnownLogs::default(),
        }
    }

    /// Writes a record. A second write of the same record changes nothing.
    pub async fn insert(&self, event: &AuditEvent) -> Result<()> {
        let log = event.log();
        self.logs.ensure(&self.table, &log, event.timestamp).await?;
        let time = keys::audit_time(event.timestamp, &event.id);
        let (tail, _) = log.tail_place(event.timestamp, &event.id);
        let key = Key::new(keys::audit(&log.account, log.project.as_deref()), &time).with_gsi1(tail, &time);
        let _: Written = self.table.put(&key, event, Condition::Absent).await?;
        Ok(())
    }

    /// The records of an account, or of one of its projects, newest first: `limit` of them after the first `offset`, and
    /// whether there are more.
    pub async fn list(
        &self,
        account: &str,
        project: Option<&str>,
        filter: &AuditFilter,
        offset: usize,
        limit: usize,
    ) -> Result<(Vec<AuditEvent>, bool)> {
        let query = match project {
            Some(project) => Query::partition(keys::audit(account, Some(project))),
            None => Query::partition(keys::audit(account, None)),
        };
        let low = filter.from.map_or_else(String::new, |from| from.to_string());
        // `~` sorts after the `#` that follows the time, so that the last millisecond is included.
        let high = filter.to.map_or_else(|| "~".to_owned(), |to| format!("{to}~"));
        if low > high {
            return Ok((Vec::new(), false));
        }
        let low = if low.is_empty() { "0".to_owned() } else { low };
        let query = query.between(low, high).order(Order::Descending);

        let mut found: Vec<AuditEvent> = Vec::new();
        let mut skipped = 0;
        let mut start: Option<HashMap<String, AttributeValue>> = None;
        loop {
            let (page, next) = self.table.page::<AuditEvent>(&query, PAGE, start).await?;
            for event in page.into_iter().filter(|event| filter.takes(event)) {
                if skipped < offset {
                    skipped += 1;
                } else if found.len() < limit {
                    found.push(event);
                } else {
                    return Ok((found, true));
                }
            }
            match next {
                Some(_) => start = next,
                None => return Ok((found, false)),
            }
        }
    }
}
