//! Stores the jobs of background imports until they are done.
//!
//! A job is written with the record of its import, and removed by the write that ends the import. A worker
//! leases the job through the number of attempts: of two workers that start the same attempt, one succeeds;
//! of two that finish the same import, one writes its end. A job becomes `due` when its lease ends, so that
//! the sweeper finds a job whose message or worker was lost.

use platform::clock::UtcTime;
use platform::error::Result;
use platform::records::{Condition, Key, Query, Written, keys};
use platform::tenant::Tenant;
use serde::{Deserialize, Serialize};

use crate::records::stores::{ImportRecord, Stores};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportJob {
    /// So that a due job names its owner.
    #[serde(flatten)]
    pub tenant: Tenant,
    pub store_id: String,
    pub import_id: String,
    /// Principal that requested the import.
    pub author: String,
    /// Work to do, as JSON. It may contain signed URLs.
    pub work: String,
    /// Number of started attempts.
    pub attempts: u64,
    /// End of the current worker's lease.
    pub held_until: UtcTime,
}

impl ImportJob {
    fn key(&self, tenant: &Tenant) -> Key {
        keys::store_import_job(tenant, &self.store_id, &self.import_id)
    }
}

impl Stores {
    /// Adds an import with its job, which is due at `due_at`. Refused if the import exists.
    pub async fn insert_import_job(
        &self,
        tenant: &Tenant,
        import: &ImportRecord,
        job: &ImportJob,
        due_at: UtcTime,
    ) -> Result<Written> {
        let record = keys::store_import(tenant, &import.store_id, &import.id);
        let key = job.key(tenant).with_due(keys::DUE_IMPORTS, due_at);
        self.table
            .transaction()
            .put(&record, import, Condition::Absent)?
            .put(&key, job, Condition::Absent)?
            .commit()
            .await
    }

    /// Returns the job of an import; None if the import has ended.
    pub async fn find_import_job(
        &self,
        tenant: &Tenant,
        store: &str,
        import: &str,
    ) -> Result<Option<ImportJob>> {
        self.table
            .find(&keys::store_import_job(tenant, store, import))
            .await
    }

    /// Starts an attempt: `job` is the job as it was read, with one attempt added. Refused if another worker
    /// was first.
    pub async fn begin_import_job(
        &self,
        tenant: &Tenant,
        import: &ImportRecord,
        job: &ImportJob,
    ) -> Result<Written> {
        let record = keys::store_import(tenant, &import.store_id, &import.id);
        let key = job.key(tenant).with_due(keys::DUE_IMPORTS, job.held_until);
        self.table
            .transaction()
            .put(&key, job, Condition::NumberIs("attempts", job.attempts - 1))?
            .replace(&record, import)?
            .commit()
            .await
    }

    /// Ends the lease of a job, so that it can start again from `due_at` on. Refused if another worker has
    /// started or ended it meanwhile.
    pub async fn release_import_job(
        &self,
        tenant: &Tenant,
        job: &ImportJob,
        due_at: UtcTime,
    ) -> Result<Written> {
        let released = ImportJob {
            held_until: due_at,
            ..job.clone()
        };
        let key = job.key(tenant).with_due(keys::DUE_IMPORTS, due_at);
        let unchanged = Condition::NumberIs("attempts", job.attempts);
        self.table.put(&key, &released, unchanged).await
    }

    /// Ends an import without a new version, and removes its job. Refused if it has already ended.
    pub async fn end_import_job(&self, tenant: &Tenant, import: &ImportRecord) -> Result<Written> {
        let record = keys::store_import(tenant, &import.store_id, &import.id);
        let job = keys::store_import_job(tenant, &import.store_id, &import.id);
        self.table
            .transaction()
            .replace(&record, import)?
            .delete(&job, Condition::Present)?
            .commit()
            .await
    }

    /// Lists the jobs of all tenants that are due by a time, for the sweeper. Very recent jobs may be
    /// missing.
    pub async fn due_import_jobs(&self, by: UtcTime) -> Result<Vec<ImportJob>> {
        self.table.all(&Query::due(keys::DUE_IMPORTS, by)).await
    }
}
