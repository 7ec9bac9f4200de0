//! `ops audit archive`: runs a pass of the archiver over the logs of a project, before other tools read the
//! files, and on demand signs what it wrote, before a check or a copy for an auditor.
//!
//! It may run beside the archiver of the runner or of the stage: of two passes over one log, one commits.

use clap::Args;
use event_log::archive::{Archiver, ArchiverConfig, Crash, Passed, Signing};
use event_log::logs::Logs;
use platform::records::logs::{LogId, LogKind};
use platform::{Error, Result, Tenant};
use serde_json::json;

use crate::output::Output;
use crate::target::{Target, TargetArguments, refused};

#[derive(Args)]
pub struct ArchiveArguments {
    /// Signs a digest of the new files at once, instead of after the hour.
    #[arg(long)]
    sign: bool,
    /// Works on every log of the data directory or stage, instead of those of the project.
    #[arg(long)]
    all_logs: bool,
}

pub async fn run(archive: &ArchiveArguments, arguments: &TargetArguments, output: Output) -> Result<()> {
    let signing = match archive.sign {
        true => Signing::Now,
        false => Signing::Hourly,
    };
    let target = arguments.open().await?;
    let logs = match archive.all_logs {
        true => all_logs(&target).await?,
        false => logs_of_project(&target.tenant),
    };
    let records = pass(arguments, &target, &logs, signing).await?;
    output.print(
        &json!({ "records": records }),
        &format!("Archived: {records} record(s)."),
    )
}

/// Signs a digest of every log that has new files, or whose last digest is of an earlier key.
pub async fn sign_all(arguments: &TargetArguments) -> Result<()> {
    let target = arguments.open().await?;
    let logs = all_logs(&target).await?;
    pass(arguments, &target, &logs, Signing::Now).await.map(drop)
}

fn logs_of_project(tenant: &Tenant) -> Vec<LogId> {
    let logs = LogKind::ALL.into_iter();
    logs.map(|kind| LogId::new(tenant.account(), Some(tenant.project()), kind))
        .collect()
}

async fn all_logs(target: &Target) -> Result<Vec<LogId>> {
    let logs = Logs::new(target.events.clone(), target.audit_table.clone());
    let mut all = Vec::new();
    for kind in LogKind::ALL {
        all.extend(logs.all(kind).await?);
    }
    Ok(all)
}

/// Makes passes over logs. Returns the number of archived records.
async fn pass(arguments: &TargetArguments, target: &Target, logs: &[LogId], signing: Signing) -> Result<u64> {
    let folder = tempfile::tempdir().map_err(Error::internal)?;
    let environment = platform::config::Environment::read().map_err(refused)?;
    let config = ArchiverConfig {
        folder: folder.path().to_owned(),
        crash: Crash::from_environment(&environment).map_err(refused)?,
        ..ArchiverConfig::from_environment(&environment).map_err(refused)?
    };
    let archiver = Archiver::new(
        Logs::new(target.events.clone(), target.audit_table.clone()),
        target.objects.clone(),
        arguments.digest_key().await?,
        target.clock.clone(),
        &config,
    );
    let archiver = archiver.map_err(refused)?;
    let mut records = 0;
    for log in logs {
        records += archived(&archiver, log, signing).await?;
    }
    Ok(records)
}

/// Repeats the pass while the log holds more records than one pass has time for.
async fn archived(archiver: &Archiver, log: &LogId, signing: Signing) -> Result<u64> {
    let mut records = 0;
    loop {
        let Passed {
            records: more_records,
            more,
            lost,
            ..
        } = archiver.turn(&log.account).await?.pass(log, signing).await?;
        records += more_records;
        if !more || lost {
            return Ok(records);
        }
    }
}
