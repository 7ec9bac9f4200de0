//! `ops audit verify`: verifies a copy of the log against its digests.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use event_log::digest::PublicKey;
use event_log::verify::{ExpectedDigest, Report, bytes_of, verify};
use platform::{Error, Result};

use crate::output::Output;
use crate::target::TargetArguments;

/// Maximum number of findings that are printed as text; JSON has up to 1,000.
const SHOWN: usize = 20;

#[derive(Args)]
pub struct VerifyArguments {
    /// Copy of the bucket, of its folder `log`, or of the folder of an account or project in it. Without
    /// it, the log of the local runner's data directory.
    folder: Option<PathBuf>,
    /// File with the public key that `ops audit key` printed, as PEM or DER. Without it, the key of the
    /// data directory, or of the deployed stage.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Last digest of an earlier check, which must still be there; may be repeated. Nothing else shows that
    /// the end of a log was cut off.
    #[arg(long, value_name = "NAME=SHA256")]
    expect: Vec<ExpectedDigest>,
}

/// Verifies, prints the findings, and fails if anything differs from its signature.
pub async fn run(arguments: VerifyArguments, target: &TargetArguments, output: Output) -> Result<ExitCode> {
    let key = match &arguments.key {
        Some(path) => read(path)?,
        None => target.digest_key().await?.public_key().await?,
    };
    let key = PublicKey::read(&key)?;
    let folder = match arguments.folder {
        Some(folder) => folder,
        None => target.bucket_folder()?,
    };
    let mut progress = Progress::new(bytes_of(&folder)?);
    let report = verify(&folder, &key, &arguments.expect, &mut |bytes| progress.add(bytes))?;
    progress.end();
    output.print(&report, &lines(&report))?;
    Ok(match report.holds() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path)
        .map_err(|cause| Error::invalid(format!("The key {} cannot be read: {cause}.", path.display())))
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
    let left = report.findings.len().saturating_sub(SHOWN) as u64 + report.further_findings;
    if left > 0 {
        lines.push(format!("       and {left} more; --json names up to 1,000."));
    }
    if report.holds() {
        lines.push("Everything is as it was signed. Note each last digest, and pass it to the next check with --expect.".to_owned());
    }
    lines.join("\n")
}

/// Shows on a terminal how much is verified.
struct Progress {
    bytes: u64,
    done: u64,
    percent: Option<u64>,
}

impl Progress {
    fn new(bytes: u64) -> Self {
        Self {
            bytes,
            done: 0,
            percent: None,
        }
    }

    fn add(&mut self, bytes: u64) {
        self.done += bytes;
        let percent = (self.done * 100).checked_div(self.bytes).unwrap_or(100);
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
