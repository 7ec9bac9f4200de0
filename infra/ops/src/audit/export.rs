//! `ops audit export`: writes the records of a period to one file, for readers without access to the bucket.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use event_log::logs::Logs;
use event_log::{Export, ExportFormat, LogStore, LogStoreConfig, Progress};
use platform::config::{ConfigError, Environment};
use platform::records::logs::{LogId, LogKind};
use platform::{Error, Result, UtcTime};
use serde_json::json;

use crate::output::Output;
use crate::target::Target;

/// Characters of the progress bar.
const BAR: u64 = 30;

#[derive(Args)]
pub struct ExportArguments {
    /// The file to write.
    file: PathBuf,
    /// Earliest time of a record, such as 2026-11-01 or 2026-11-01T12:00:00Z.
    #[arg(long, value_parser = earliest)]
    from: UtcTime,
    /// Latest time of a record. A day is included to its end.
    #[arg(long, value_parser = latest)]
    to: UtcTime,
    /// Form of the file.
    #[arg(long)]
    format: Format,
    /// Kind of the records.
    #[arg(long, default_value = "audit")]
    kind: Kind,
    /// The records of all projects of the account, and audit records of the account itself.
    #[arg(long)]
    all_projects: bool,
    /// Also the records of private runs, which only their owners and callers with workflow_superadmin see.
    #[arg(long)]
    private: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Comma-separated values, with a header.
    Csv,
    /// A JSON object for each line.
    Ndjson,
    /// Parquet, with the columns of the log.
    Parquet,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// Audit records.
    Audit,
    /// Events of the platform.
    Events,
}

pub async fn run(arguments: &ExportArguments, target: &Target, output: Output) -> Result<()> {
    let (from, to) = (arguments.from, arguments.to);
    if from > to {
        return Err(Error::invalid(format!("--from {from} is after --to {to}.")));
    }
    let folder = tempfile::tempdir().map_err(Error::internal)?;
    let store = open(target, folder.path())?;
    let logs = logs(arguments, target, &store).await?;
    let export = Export {
        logs: &logs,
        from,
        to,
        format: match arguments.format {
            Format::Csv => ExportFormat::Csv,
            Format::Ndjson => ExportFormat::Ndjson,
            Format::Parquet => ExportFormat::Parquet,
        },
        private: arguments.private,
    };
    // Write to a temporary name beside the file, so that a file with the final name is complete.
    let mut part = arguments.file.clone().into_os_string();
    part.push(".part");
    let part = PathBuf::from(part);
    let records = store.export(&export, &part, show).await?;
    std::fs::rename(&part, &arguments.file).map_err(Error::internal)?;
    let file = arguments.file.display();
    output.print(
        &json!({ "records": records, "file": arguments.file }),
        &format!("{records} record(s) are in {file}."),
    )
}

async fn logs(arguments: &ExportArguments, target: &Target, store: &LogStore) -> Result<Vec<LogId>> {
    let kind = match arguments.kind {
        Kind::Audit => LogKind::Audit,
        Kind::Events => LogKind::Events,
    };
    let (account, project) = (target.tenant.account(), target.tenant.project());
    let log_ids = vec![LogId::new(account, Some(project), kind)];
    if !arguments.all_projects {
        return Ok(log_ids);
    }
    let all = store.logs().of_account(account, kind).await?;
    match all.is_empty() {
        true => Ok(log_ids),
        false => Ok(all.into_iter().map(|(log, _)| log).collect()),
    }
}

fn open(target: &Target, folder: &std::path::Path) -> Result<LogStore> {
    let refused = |error: ConfigError| Error::invalid(error.to_string());
    let environment = Environment::read().map_err(refused)?;
    let config = LogStoreConfig {
        directory: folder.to_owned(),
        ..LogStoreConfig::from_environment(&environment).map_err(refused)?
    };
    let logs = Logs::new(target.events.clone(), target.audit_table.clone());
    LogStore::new(logs, target.objects.clone(), &config).map_err(refused)
}

/// Draws the progress over its last line, if the output is a terminal.
fn show(progress: Progress) {
    let mut terminal = std::io::stderr();
    if !terminal.is_terminal() {
        return;
    }
    let count = progress.written;
    let expected = progress.expected.max(count);
    let filled = (count * BAR).checked_div(expected).unwrap_or(BAR);
    let bar: String = (0..BAR)
        .map(|sign| if sign < filled { '#' } else { '.' })
        .collect();
    let end = if count == expected { "\n" } else { "" };
    let _ = write!(terminal, "\r[{bar}] {count} of {expected} records{end}");
}

fn earliest(text: &str) -> std::result::Result<UtcTime, String> {
    time(text, "T00:00:00Z")
}

fn latest(text: &str) -> std::result::Result<UtcTime, String> {
    time(text, "T23:59:59.999Z")
}

/// Parses a time, or a day, which stands for its first or last instant.
fn time(text: &str, of_day: &str) -> std::result::Result<UtcTime, String> {
    // Try the day first, because a day alone also parses as a time: its midnight.
    let time = format!("{text}{of_day}").parse::<UtcTime>();
    let time = time.or_else(|_| text.parse());
    time.map_err(|_| {
        "it is neither a day, such as 2026-11-01, nor a time, such as 2026-11-01T12:00:00Z".to_owned()
    })
}
