//! `ops audit verify`: verifies the log, or a copy of it, against its digests.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use event_log::digest::PublicKeys;
use event_log::logs::Logs;
use event_log::verify::{ErasureReport, ExpectedDigest, LogCopy, Report, verify};
use platform::records::logs::LogKind;
use platform::signing::public_keys;
use platform::{Clock, Error, Result, UtcTime};

use crate::output::Output;
use crate::target::{Target, TargetArguments};

/// Maximum number of findings that are printed as text; JSON has up to 1,000.
const SHOWN: usize = 20;

#[derive(Args)]
pub struct VerifyArguments {
    /// Copy of the bucket, of its folder `log`, or of the folder of an account or project in it. Without
    /// it, the log itself, which must also have the last digest of each log that the records know.
    folder: Option<PathBuf>,
    /// File with the public keys that `ops audit key` printed, as PEM, or with one as DER; may be repeated.
    /// The first key is the current one, which must have signed the last digest of each log. Without it, the
    /// keys of the data directory, or of the deployed stage.
    #[arg(long, value_name = "FILE")]
    key: Vec<PathBuf>,
    /// Last digest of an earlier check, which must still be there; may be repeated. Nothing else shows that
    /// the end of a log was cut off.
    #[arg(long, value_name = "NAME=SHA256")]
    expect: Vec<ExpectedDigest>,
    /// File with the last digests of the earlier check, which are expected. A check that finds nothing writes
    /// the new ones. Keep it apart from the log.
    #[arg(long, value_name = "FILE")]
    notes: Option<PathBuf>,
    /// Time at which the copy was made, such as 2026-11-24T18:00:00Z, where that was not just now: a file
    /// without a digest may be an hour and a half old.
    #[arg(long, value_name = "TIME")]
    copied_at: Option<UtcTime>,
}

/// Verifies, prints the findings, and fails if anything differs from its signature.
pub async fn run(arguments: VerifyArguments, target: &TargetArguments, output: Output) -> Result<ExitCode> {
    let keys = match arguments.key.as_slice() {
        [] => PublicKeys::of(target.digest_key().await?.as_ref()).await?,
        files => {
            let keys = files.iter().map(|file| read(file));
            PublicKeys::new(&keys.collect::<Result<Vec<_>>>()?.concat())?
        }
    };
    let mut expected = arguments.expect;
    let mut is_first = false;
    if let Some(notes) = &arguments.notes {
        let noted = noted(notes)?;
        is_first = noted.is_empty();
        expected.extend(noted);
    }
    let copy = match &arguments.folder {
        Some(folder) => LogCopy::of_folder(folder, embedded::files::key_of)?,
        None => {
            let target = target.open().await?;
            // The heads are read first: each of their digests is an object then.
            expected.extend(last_digests(&target).await?);
            LogCopy::of_store(&target.objects).await?
        }
    };
    if copy.is_empty() && expected.is_empty() {
        return Err(Error::invalid(
            "There is no log yet: the first file is written about a minute after the first event or change.",
        ));
    }
    let mut progress = Progress::new(copy.bytes());
    let now = arguments.copied_at.unwrap_or_else(|| Clock::System.now());
    let report = verify(&copy, &keys, &expected, now, &mut |bytes| progress.add(bytes)).await?;
    progress.end();
    if let Some(notes) = arguments.notes.as_ref().filter(|_| report.holds()) {
        note(notes, &report)?;
    }
    let mut text = lines(&report);
    if is_first {
        text.push_str("\nThere were no notes of an earlier check to compare with.");
    }
    output.print(&report, &text)?;
    Ok(match report.holds() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Returns the last digest of each log that the records know.
async fn last_digests(target: &Target) -> Result<Vec<ExpectedDigest>> {
    let logs = Logs::new(target.events.clone(), target.audit_table.clone());
    let mut expected = Vec::new();
    for kind in LogKind::ALL {
        for log in logs.all(kind).await? {
            let head = logs.head(&log).await?;
            // An archiver that died has the text of a digest that is no object yet.
            let head = head.filter(|head| head.unwritten_digest.is_none());
            expected.extend(head.and_then(|head| head.last_digest).map(|last| ExpectedDigest {
                name: last.name,
                sha256: last.sha256,
            }));
        }
    }
    Ok(expected)
}

/// Reads the notes of an earlier check; none before the first.
fn noted(path: &Path) -> Result<Vec<ExpectedDigest>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(unusable(path, &cause)),
    };
    let digests = text.lines().filter(|line| !line.is_empty());
    let digests = digests.map(|line| line.parse().map_err(|cause: String| unusable(path, &cause)));
    digests.collect()
}

/// Writes the last digests for the next check.
fn note(path: &Path, report: &Report) -> Result<()> {
    let last = report.logs.iter().filter_map(|log| log.last_digest.as_ref());
    let lines: String = last
        .map(|last| format!("{}={}\n", last.name, last.sha256))
        .collect();
    // A check that dies leaves the earlier notes.
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let result = std::fs::write(&part, lines).and_then(|()| std::fs::rename(&part, path));
    result.map_err(|cause| unusable(path, &cause))
}

fn unusable(path: &Path, cause: &dyn std::fmt::Display) -> Error {
    Error::invalid(format!("The notes {} cannot be used: {cause}.", path.display()))
}

fn read(path: &Path) -> Result<Vec<Vec<u8>>> {
    let file = std::fs::read(path)
        .map_err(|cause| Error::invalid(format!("The key {} cannot be read: {cause}.", path.display())))?;
    public_keys(&file)
}

fn lines(report: &Report) -> String {
    let mut lines = Vec::new();
    for log in &report.logs {
        let mut line = format!(
            "{} {}: {} file(s) with {} record(s) hold, under {} digest(s).",
            log.folder, log.kind, log.files, log.records, log.digests
        );
        if log.not_covered_yet > 0 {
            line.push_str(&format!(
                " No digest covers {} new file(s) yet.",
                log.not_covered_yet
            ));
        }
        if log.unproven > 0 {
            line.push_str(&format!(
                " {} file(s) cannot be proven without the missing digests.",
                log.unproven
            ));
        }
        lines.push(line);
        for erased in &log.erasures {
            let ErasureReport {
                name,
                created_at,
                erasure,
            } = erased;
            lines.push(format!(
                "  erased at {created_at} by {}, because: {}. {} file(s) with {} record(s) before may be missing; signed: {name}",
                erasure.operator, erasure.reason, erasure.files, erasure.records
            ));
        }
        if let Some(last) = &log.last_digest {
            lines.push(format!("  last digest: {}={}", last.name, last.sha256));
        }
    }
    if let Some(first) = report.findings.first() {
        lines.push(format!(
            "First: {} was {}: it {}.",
            first.name,
            first.fault.as_str(),
            first.detail
        ));
    }
    for finding in report.findings.iter().skip(1).take(SHOWN - 1) {
        lines.push(format!(
            "       {} was {}: it {}.",
            finding.name,
            finding.fault.as_str(),
            finding.detail
        ));
    }
    let more = report.findings.len().saturating_sub(SHOWN) as u64 + report.further_findings;
    if more > 0 {
        lines.push(format!("       and {more} more; --json names up to 1,000."));
    }
    if report.is_complete() {
        lines.push(
            "Everything is as it was signed. Pass each last digest to the next check, with --notes or --expect."
                .to_owned(),
        );
    } else if report.holds() {
        lines.push(
            "Nothing differs from what was signed, and some files are not signed yet: check again in an hour, or sign them \
             with `ops audit archive --sign`."
                .to_owned(),
        );
    }
    lines.join("\n")
}

/// Shows on a terminal how much is verified.
struct Progress {
    bytes: u64,
    checked_bytes: u64,
    percent: Option<u64>,
}

impl Progress {
    fn new(bytes: u64) -> Self {
        Self {
            bytes,
            checked_bytes: 0,
            percent: None,
        }
    }

    fn add(&mut self, bytes: u64) {
        self.checked_bytes += bytes;
        let percent = (self.checked_bytes * 100).checked_div(self.bytes).unwrap_or(100);
        if self.percent != Some(percent) && std::io::stderr().is_terminal() {
            self.percent = Some(percent);
            let _ = write!(std::io::stderr(), "\rchecking {percent} %");
        }
    }

    fn end(&self) {
        if self.percent.is_some() {
            let _ = write!(std::io::stderr(), "\r              \r");
        }
    }
}
