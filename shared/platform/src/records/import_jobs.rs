//! The work of imports in the background: what is to be done, as long as it is not done.
//!
//! A job is written with the record of its import and removed with the write that ends the import. Whoever carries out an
//! import holds its job by the number of the attempt: of two who take one attempt, one gets it; of two who come to the end
//! of one import, one writes it. A job is `due` when nobody holds it any more, so that one whose message or whose importer
//! was lost is found.

use serde::{Deserialize, Serialize};

use crate::clock::UtcTime;
use crate::error::Result;
use crate::records::stores::{ImportRecord, Stores};
use crate::records::{Condition, Key, Query, Written, keys};
use crate::tenant::Tenant;

/// The work of an import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportJob {
    /// The account, for whoever finds the job by its time.
    pub account: String,
    /// The project.
    pub project: String,
    /// The store.
    pub store_id: String,
    /// The import.
    pub import_id: String,
    /// Who wants it.
    pub author: String,
    /// What is to be done, as JSON. It may hold signed URLs.
    pub work: String,
    /// How often it was begun.
    pub attempts: u64,
    /// Until when whoever began it last has it for himself.
    pub held_until: UtcTime,
}

impl ImportJob {
    fn key(&self, tenant: &Tenant) -> Key {
        keys::store_import_job(tenant, &self.store_id, &self.import_id)
    }
}

impl Stores {
    /// Adds an import with its job, which is due at `due_at`. Refused where there is such an import.
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

    /// The job of an import; None where the import is over.
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

    /// Begins an attempt: `job` is the one that was read, with one attempt more. Refused where somebody else was faster.
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

    /// Lets go of a job, which is held until now or was: it may be begun again from `due_at` on. Refused where somebody else has
    /// begun it meanwhile, or ended it.
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

    /// Ends an import that makes no version, and its job with it. Refused where it is over.
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

    /// The jobs of every tenant that are due by a time, for the sweeper; those of the last moments may be missing.
    pub async fn due_import_jobs(&self, by: UtcTime) -> Result<Vec<ImportJob>> {
        self.table.all(&Query::due(keys::DUE_IMPORTS, by)).await
    }
}
