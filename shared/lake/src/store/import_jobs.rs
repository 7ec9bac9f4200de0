//! Runs imports in the background: a request enqueues an import, and an importer that reads the queue runs it
//! once.
//!
//! The job record is authoritative, see [`crate::records::import_jobs`]; a message is a hint at it. A hint
//! may be lost or delivered twice: a due job without a lease gets another hint, and a second importer finds
//! the job leased or gone. The import's version and the end of its job are one write, so its rows are
//! committed once however often it was started.

use std::time::Duration;

use platform::queue::Queue;
use platform::records::Written;
use platform::{Error, ErrorKind, Result, Tenant, UtcTime};
use serde::{Deserialize, Serialize};
use tracing::{info, warn};

use super::hints::{Hint, ImportHint};
use super::import::{Import, ImportTable};
use super::steps::Step;
use super::{Author, DataStores};
use crate::import::rounding::Rounding;
use crate::records::import_jobs::ImportJob;
use crate::records::stores::{ImportRecord, ImportStatus};

/// Attempts after which an unfinished import fails.
const MAX_ATTEMPTS: u64 = 5;
/// A claim that is not renewed. Longer than Lambda's limit of 15 minutes; an import in the local runner may
/// take longer, and then a second attempt starts, of which the commit lets one win.
const IMPORT_LEASE: Duration = Duration::from_secs(16 * 60);
/// Time allowed for the delivery of a hint before another one is sent.
const DELIVERED_WITHIN: Duration = Duration::from_secs(5 * 60);
/// Back-off after a transient failure. The sweep sends the next hint, because the message of this one returns
/// earlier and finds the job leased.
const PAUSE: Duration = Duration::from_secs(30);

/// Most bytes of work in a job: a record has at most 400 KB.
const MAX_WORK_BYTES: usize = 300_000;

/// Input of an import in a job, besides its record.
#[derive(Serialize, Deserialize)]
struct Work {
    tables: Vec<ImportTable>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rounding: Option<Rounding>,
}

impl DataStores {
    /// Stores an import for background execution. If the import has already ended, returns its record.
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
            tenant: tenant.clone(),
            store_id: record.store_id.clone(),
            import_id: record.id.clone(),
            author: author.reference.clone(),
            work,
            attempts: 0,
            held_until: record.started_at,
        };
        let due_at = after(self.inner.clock.now(), DELIVERED_WITHIN);
        let records = &self.inner.records;
        let inserted = records.insert_import_job(tenant, &record, &job, due_at).await?;
        if !inserted.took_effect("an import")? {
            // The import was committed at the moment when its request stopped waiting for it.
            return records.import(tenant, &record.store_id, &record.id).await;
        }
        self.reached(Step::ImportEnqueued);
        if let Err(cause) = send(queue.as_ref(), &job).await {
            warn!(%cause, account = tenant.account(), project = tenant.project(), store = record.store_id, import = record.id, "no message for an import; it is begun when it is due");
        }
        Ok(record)
    }

    /// Runs a waiting import. Returns Ok if it ended, if another importer holds its lease, or if it failed
    /// permanently and its record says so. Fails if the import must be retried.
    pub async fn run_import(&self, hint: &ImportHint) -> Result<()> {
        let tenant = &hint.tenant;
        let records = &self.inner.records;
        let job = records
            .find_import_job(tenant, &hint.store_id, &hint.import_id)
            .await?;
        let now = self.inner.clock.now();
        let Some(before) = job.filter(|job| job.held_until <= now) else {
            return Ok(());
        };
        let record = records.import(tenant, &hint.store_id, &hint.import_id).await?;
        if before.attempts >= MAX_ATTEMPTS {
            let broken_off = Error::internal("its importer never came to an end");
            return self.give_up(tenant, record, &broken_off).await;
        }
        let job = ImportJob {
            attempts: before.attempts + 1,
            held_until: after(now, IMPORT_LEASE),
            ..before
        };
        let record = ImportRecord {
            status: ImportStatus::Running,
            ..record
        };
        if records.begin_import_job(tenant, &record, &job).await? != Written::Done {
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
        let error = match self.attempt(tenant, &job, record.clone()).await {
            Ok(ended) => {
                info!(account = tenant.account(), project = tenant.project(), store = ended.store_id, import = ended.id, status = ?ended.status, "import ended");
                return Ok(());
            }
            Err(error) => error,
        };
        if !may_pass(&error) || job.attempts >= MAX_ATTEMPTS {
            return self.give_up(tenant, record, &error).await;
        }
        let due_at = after(self.inner.clock.now(), PAUSE);
        if records.release_import_job(tenant, &job, due_at).await? != Written::Done {
            info!(
                account = tenant.account(),
                project = tenant.project(),
                store = record.store_id,
                import = record.id,
                "another worker took the import over"
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
        let ended = self.inner.records.end_import_job(tenant, &failed).await?;
        ended.took_effect("an import").map(drop)
    }

    /// Sends a hint for each import whose lease has expired; returns their number.
    pub async fn requeue_due_imports(&self, queue: &dyn Queue) -> Result<usize> {
        let jobs = self.inner.records.due_import_jobs(self.inner.clock.now()).await?;
        for job in &jobs {
            send(queue, job).await?;
        }
        Ok(jobs.len())
    }

    /// Releases the leases of all imports and sends a hint for each. For a service with a single process, at
    /// its start.
    pub async fn requeue_all_imports(&self, queue: &dyn Queue) -> Result<usize> {
        let now = self.inner.clock.now();
        let jobs = self
            .inner
            .records
            .due_import_jobs(after(now, IMPORT_LEASE + DELIVERED_WITHIN))
            .await?;
        for job in &jobs {
            if self
                .inner
                .records
                .release_import_job(&job.tenant, job, now)
                .await?
                == Written::Done
            {
                send(queue, job).await?;
            }
        }
        Ok(jobs.len())
    }
}

/// Returns whether another attempt may succeed. A timeout is final here: the next attempt has the same rows
/// and the same time, and its sentence tells the caller to send fewer.
fn may_pass(error: &Error) -> bool {
    error.is_transient() && error.kind() != ErrorKind::Timeout
}

async fn send(queue: &dyn Queue, job: &ImportJob) -> Result<()> {
    let hint = Hint::Import(ImportHint {
        tenant: job.tenant.clone(),
        store_id: job.store_id.clone(),
        import_id: job.import_id.clone(),
    });
    hint.send(queue).await
}

fn after(time: UtcTime, pause: Duration) -> UtcTime {
    let millis = i64::try_from(pause.as_millis()).unwrap_or(i64::MAX);
    UtcTime::from_millis(time.as_millis().saturating_add(millis)).unwrap_or(time)
}
