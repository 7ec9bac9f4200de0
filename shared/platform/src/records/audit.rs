//! Stores the audit trail: one record per mutation, never changed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::UtcTime;
use crate::error::Result;
use crate::records::logs::{KnownLogs, LogId, LogKind};
use crate::records::{Condition, Key, Table, Written, keys};

/// Kind of a mutation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
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
    /// Time at which the request was answered.
    pub timestamp: UtcTime,
    /// Id of the HTTP request, as its answer and the log have it.
    pub request_id: String,
    /// HTTP status of the answer.
    #[schemars(range(min = 100, max = 599))]
    pub status: u16,
    /// True where the status is below 400.
    pub success: bool,
    /// Id of the API key, the run or the service; null for a user.
    pub principal_id: Option<String>,
    /// Kind of the principal: `user`, `apikey`, `run` or `system`.
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
    /// Owner of the private run that the record is about; left out for any other record. Only the owner and
    /// callers with `workflow_superadmin` see such a record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_to: Option<String>,
}

impl AuditEvent {
    pub fn log(&self) -> LogId {
        let account = self.account_id.as_deref().unwrap_or(keys::NO_PROJECT);
        LogId::new(account, self.project_id.as_deref(), LogKind::Audit)
    }
}

/// Audit records have no shards: one partition accepts 1,000 writes a second, which allows as many changes a
/// second in a project.
const ONLY_SHARD: u16 = 0;

/// Writes the audit trail. Its records are read through their log.
#[derive(Clone)]
pub struct AuditTrail {
    table: Table,
    logs: KnownLogs,
}

impl AuditTrail {
    pub fn new(table: Table) -> Self {
        Self {
            table,
            logs: KnownLogs::default(),
        }
    }

    /// Writes a record. Writing the same record again changes nothing.
    pub async fn insert(&self, event: &AuditEvent) -> Result<()> {
        let log = event.log();
        self.logs.ensure(&self.table, &log, event.timestamp).await?;
        let time = keys::audit_time(event.timestamp, &event.id);
        let (tail, _) = log.tail_place(event.timestamp, &event.id, ONLY_SHARD);
        let key = Key::new(keys::audit(&log.account, log.project.as_deref()), &time).with_gsi1(tail, &time);
        let _: Written = self.table.put(&key, event, Condition::Absent).await?;
        Ok(())
    }
}
