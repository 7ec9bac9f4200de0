//! `ops audit archive`: runs a pass of the archiver over the logs of a project, before other tools read the
//! files, and on demand signs what it wrote, before a check or a copy for an auditor.
//!
//! It may run beside the archiver of the runner or of the stage: of two passes over one log, one commits.

use clap::Args;
use event_log::archive::{Archiver, ArchiverConfig, Crash, Passed, Signing};
use event_log::logs::Logs;
use platform::records::logs::{LogId, LogKind};
use platform::{Error, Result};
use serde_json::json;

use crate::output::Output;
use crate::target::{TargetArguments, refused};

#[derive(Args)]
pub struct ArchiveArguments {
    /// Signs a digest of the new files at once, instead of after the hour.
    #[arg(long)]
    sign: bool,
}

pub async fn run(archive: &ArchiveArguments, arguments: &TargetArguments, output: Output) -> Result<()> {
    let signing = match archive.sign {
        true => Signing::Now,
        false => Signing::Hourly,
    };
    let target = arguments.open().await?;
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
    let (account, project) = (target.tenant.account(), target.tenant.project());
    let mut records = 0;
    for kind in LogKind::ALL {
        let log = LogId::new(account, Some(project), kind);
        records += archived(&archiver, &log, signing).await?;
    }
    output.print(
        &json!({ "records": records }),
        &format!("Archived: {records} record(s)."),
    )
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
