//! Stores the current run of each workflow id in its own record, because later runs may reuse the id.

use platform::error::Result;
use platform::records::schema::EXPIRES_AT;
use platform::records::{Changes, Condition, Transaction, keys};
use platform::tenant::Tenant;
use serde::{Deserialize, Serialize};

use super::runs::Runs;

/// Write of the current run of a workflow id.
#[derive(Clone, Debug)]
pub struct CurrentWrite {
    /// At most one run with this id is under way.
    pub workflow_id: String,
    /// The run under way, or the last one.
    pub run_id: String,
    /// Current run that the write requires; None requires that there is none.
    pub expected: Option<String>,
}

/// A workflow id whose run has ended.
#[derive(Clone, Debug)]
pub struct EndedCurrent {
    pub workflow_id: String,
    pub run_id: String,
    /// Expiry of the workflow id's record, in Unix seconds.
    pub expires_at: i64,
}

#[derive(Serialize, Deserialize)]
struct CurrentRecord {
    run_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
}

impl Runs {
    /// Returns the current run of a workflow id.
    pub async fn find_current(&self, tenant: &Tenant, workflow_id: &str) -> Result<Option<String>> {
        let current: Option<CurrentRecord> = self.table.find(&keys::workflow(tenant, workflow_id)).await?;
        Ok(current.map(|current| current.run_id))
    }
}

/// Adds the write of a current run to a transaction.
pub(super) fn with_current<'a>(
    transaction: Transaction<'a>,
    tenant: &Tenant,
    current: &CurrentWrite,
    expires_at: Option<i64>,
) -> Result<Transaction<'a>> {
    let condition = match &current.expected {
        Some(run) => Condition::TextIs("run_id", run.clone()),
        None => Condition::Absent,
    };
    let record = CurrentRecord {
        run_id: current.run_id.clone(),
        expires_at,
    };
    transaction.put(&keys::workflow(tenant, &current.workflow_id), &record, condition)
}

/// Adds the expiry of a workflow id, together with its run, to a transaction.
pub(super) fn with_ended<'a>(
    transaction: Transaction<'a>,
    tenant: &Tenant,
    ended: &EndedCurrent,
) -> Result<Transaction<'a>> {
    let changes = Changes::default().set(EXPIRES_AT, &ended.expires_at)?;
    let is_ours = Condition::TextIs("run_id", ended.run_id.clone());
    let key = keys::workflow(tenant, &ended.workflow_id);
    transaction.update(&key, &changes, Some(&is_ours))
}
