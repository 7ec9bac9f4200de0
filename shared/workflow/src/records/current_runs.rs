//! Stores the current run of each workflow id in its own record, because later runs may reuse the id.

use serde::{Deserialize, Serialize};

use platform::error::{Error, Result};
use platform::records::{Condition, Transaction, Written, keys};
use platform::tenant::Tenant;

use crate::records::runs::Runs;

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
        match current {
            Some(current) => Ok(Some(current.run_id)),
            None => self.adopt_current(tenant, workflow_id).await,
        }
    }

    /// Copies a record from its former key, under which all workflow ids of a project shared one partition.
    /// Returns its run; None if there is no such record.
    pub(super) async fn adopt_current(&self, tenant: &Tenant, workflow_id: &str) -> Result<Option<String>> {
        let former: Option<CurrentRecord> = self
            .table
            .find(&keys::former_workflow(tenant, workflow_id))
            .await?;
        let Some(former) = former else {
            return Ok(None);
        };
        // The record may outlive its expired run.
        if self.find(tenant, &former.run_id).await?.is_none() {
            return Ok(None);
        }
        let key = keys::workflow(tenant, workflow_id);
        match self.table.put(&key, &former, Condition::Absent).await? {
            Written::Done => Ok(Some(former.run_id)),
            Written::Refused { .. } => {
                let current: Option<CurrentRecord> = self.table.find(&key).await?;
                Ok(current.map(|current| current.run_id))
            }
            Written::Contended => Err(Error::unavailable("a workflow id is being written")),
        }
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
