//! Imports in the background: taken with a request, carried out by whoever reads the queue, once.
//!
//! The truth is the job among the records, see [`platform::records::import_jobs`]; a message is a hint at it. It may be lost
//! or come twice: a job that nobody holds is hinted at again when it is due, and whoever comes second finds it held, or gone.
//! The version of an import and the end of its job are one write, so that its rows are there once however often it was begun.

use std::time::Duration;

use platform::queue::Queue;
use platform::records::Written;
use platform::records::import_jobs::ImportJob;
use platform::records::stores::{ImportRecord, ImportStatus};
use platform::{Error, ErrorKind, Result, Tenant, UtcTime};
use serde::{Deserialize, Serialize};
use tracing::{info, warn};

use super::hints::Hint;
use super::import::{Import, ImportTable};
use super::steps::Step;
use super::{Author, DataStores};
use crate::import::rounding::Rounding;

/// Beginnings after which an import that never comes to an end is given up.
const MAX_ATTEMPTS: u64 = 5;
/// How long an import is held: longer than a function lives.
const HELD_FOR: Duration = Duration::from_secs(16 * 60);
/// How long a message may take before another one is sent.
const DELIVERED_WITHIN: Duration = Duration::from_secs(5 * 60);
/// How long after a failure that may pass an import is begun again at the earliest.
const PAUSE: Duration = Duration::from_secs(30);

/// Most that a job keeps, in bytes: a record has 400 KB at most.
const MAX_WORK_BYTES: usize = 300_000;

/// That an import waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportHint {
    /// The account.
    pub account: String,
    /// The project.
    pub project: String,
    /// The store.
    pub store_id: String,
    /// The import.
    pub import_id: String,
}

/// What a job keeps of an import, beside its record.
#[derive(Serialize, Deserialize)]
struct Work {
    tables: Vec<ImportTable>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rounding: Option<Rounding>,
}

impl DataStores {
    /// Takes an import, so that it will be carried out. The record of one that is over already says so.
    pub(super) async fn enqueue(
        &self,
        tenant: &Tenant,
        author: &Author,
        import: &Import,
        record: ImportRecord,
    ) -> Result<ImportRecord> {
        let queue = self.inner.imports.queue.as_ref();
        let queue =
            queue.ok_or_else(|| Error::internal("this function begins no import in the background"))?;
        let work = Work {
            tables: import.tables.clone(),
            rounding: import.rounding,
        };
        let work = serde_json::to_string(&work).map_err(Error::internal)?;
        if work.len() > MAX_WORK_BYTES {
            return Err(Error::invalid(format!(
                "An import in the background names its files in at most {MAX_WORK_BYTES} bytes; import fewer tables at once."
            )));
        }
        let job = ImportJob {
            account: tenant.account().to_owned(),
            project: tenant.project().to_owned(),
            store_id: record.store_id.clone(),
            import_id: record.id.clone(),
            author: author.reference.clone(),
            work,
            attempts: 0,
            held_until: record.started_at,
        };
        let due_at = after(self.inner.clock.now(), DELIVERED_WITHIN);
        let records = &self.inner.records;
        match records.insert_import_job(tenant, &record, &job, due_at).await? {
            Written::Done => {}
            // It came to its end in the moment in which it was given up.
            Written::Refused { .. } => return records.import(tenant, &record.store_id, &record.id).await,
            Written::Contended => return Err(Error::unavailable("an import is contended")),
        }
        self.reached(Step::ImportEnqueued);
        if let Err(cause) = send(queue.as_ref(), &job).await {
            warn!(%cause, account = tenant.account(), project = tenant.project(), store = record.store_id, import = record.id, "no message for an import; it is begun when it is due");
        }
        Ok(record)
    }

    /// Carries out an import that waits. Done where it is over, where somebody else is at it, or where it failed for good and
    /// says so; an error where it is to be tried again.
    pub async fn run_import(&self, hint: &ImportHint) -> Result<()> {
        let tenant = Tenant::new(&hint.account, &hint.project)?;
        let records = &self.inner.records;
        let found = records
            .find_import_job(&tenant, &hint.store_id, &hint.import_id)
            .await?;
        let now = self.inner.clock.now();
        let Some(before) = found.filter(|job| job.held_until <= now) else {
            return Ok(());
        };
        let record = records.import(&tenant, &hint.store_id, &hint.import_id).await?;
        if before.attempts >= MAX_ATTEMPTS {
            let broken_off = Error::internal("its importer never came to an end");
            return self.give_up(&tenant, record, &broken_off).await;
        }
        let job = ImportJob {
            attempts: before.attempts + 1,
            held_until: after(now, HELD_FOR),
            ..before
        };
        let record = ImportRecord {
            status: ImportStatus::Running,
            ..record
        };
        if records.begin_import_job(&tenant, &record, &job).await? != Written::Done {
            return Ok(());
        }
        self.reached(Step::ImportBegun);
        info!(
            account = tenant.account(),
            project = tenant.project(),
            store = record.store_id,
            import = record.id,
            attempt = job.attempts,
            "import begun"
        );
        let error = match self.attempt(&tenant, &job, record.clone()).await {
            Ok(ended) => {
                info!(account = tenant.account(), project = tenant.project(), store = ended.store_id, import = ended.id, status = ?ended.status, "import ended");
                return Ok(());
            }
            Err(error) => error,
        };
        if !may_pass(&error) || job.attempts >= MAX_ATTEMPTS {
            return self.give_up(&tenant, record, &error).await;
        }
        let due_at = after(self.inner.clock.now(), PAUSE);
        if records.release_import_job(&tenant, &job, due_at).await? != Written::Done {
            info!(
                account = tenant.account(),
                project = tenant.project(),
                store = record.store_id,
                import = record.id,
                "the import is somebody else's by now"
            );
        }
        Err(error)
    }

    async fn attempt(&self, tenant: &Tenant, job: &ImportJob, record: ImportRecord) -> Result<ImportRecord> {
        let Work { tables, rounding } = serde_json::from_str(&job.work).map_err(Error::internal)?;
        let import = Import {
            tables,
            mode: record.mode,
            rounding,
            message: record.message.clone(),
            background: true,
        };
        let author = Author {
            reference: job.author.clone(),
        };
        let base = self.load(tenant, &job.store_id).await?;
        self.run(tenant, &author, base, &import, record, true).await
    }

    async fn give_up(&self, tenant: &Tenant, record: ImportRecord, error: &Error) -> Result<()> {
        warn!(account = tenant.account(), project = tenant.project(), store = record.store_id, import = record.id, cause = %error, "import failed");
        let mut failed = self.failed(record, error);
        if may_pass(error) {
            failed.error = Some("The service failed on this import; repeat it.".to_owned());
        }
        match self.inner.records.end_import_job(tenant, &failed).await? {
            Written::Contended => Err(Error::unavailable("an import is contended")),
            Written::Done | Written::Refused { .. } => Ok(()),
        }
    }

    /// Sends a message for each import that nobody holds any more: how many.
    pub async fn requeue_due_imports(&self, queue: &dyn Queue) -> Result<usize> {
        let jobs = self.inner.records.due_import_jobs(self.inner.clock.now()).await?;
        for job in &jobs {
            send(queue, job).await?;
        }
        Ok(jobs.len())
    }

    /// The same for every import, and nobody holds one afterwards: for a service that is one process, when it starts.
    pub async fn requeue_all_imports(&self, queue: &dyn Queue) -> Result<usize> {
        let now = self.inner.clock.now();
        let jobs = self
            .inner
            .records
            .due_import_jobs(after(now, HELD_FOR + DELIVERED_WITHIN))
            .await?;
        for job in &jobs {
            let tenant = Tenant::new(&job.account, &job.project)?;
            if self.inner.records.release_import_job(&tenant, job, now).await? == Written::Done {
                send(queue, job).await?;
            }
        }
        Ok(jobs.len())
    }
}

/// Whether an error is ours, so that another attempt may succeed.
fn may_pass(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Internal)
}

async fn send(queue: &dyn Queue, job: &ImportJob) -> Result<()> {
    let hint = Hint::Import(ImportHint {
        account: job.account.clone(),
        project: job.project.clone(),
        store_id: job.store_id.clone(),
        import_id: job.import_id.clone(),
    });
    hint.send(queue).await
}

fn after(time: UtcTime, pause: Duration) -> UtcTime {
    let millis = i64::try_from(pause.as_millis()).unwrap_or(i64::MAX);
    UtcTime::from_millis(time.as_millis().saturating_add(millis)).unwrap_or(time)
}
