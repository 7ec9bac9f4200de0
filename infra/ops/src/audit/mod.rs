//! `ops audit`: works on the log of events and audit records.

mod archive;
mod export;
mod key;
mod verify;

use std::process::ExitCode;

use clap::Subcommand;
use platform::Result;

use crate::output::Output;
use crate::target::TargetArguments;

/// What to do with the log.
#[derive(Subcommand)]
pub enum AuditCommand {
    /// Archives the current records of the project's logs at once, instead of within the next minutes.
    Archive(archive::ArchiveArguments),
    /// Writes the records of a period to one file, each once, ordered by time.
    Export(export::ExportArguments),
    /// Prints the public keys that verify the log's digests, as PEM: the current one, then those that it
    /// replaced.
    Key(key::KeyArguments),
    /// Verifies the log, or offline a copy of it, against its signed digests, and names the first file that
    /// was changed, removed or added.
    Verify(verify::VerifyArguments),
}

pub async fn run(command: AuditCommand, target: &TargetArguments, output: Output) -> Result<ExitCode> {
    match command {
        AuditCommand::Archive(arguments) => archive::run(&arguments, target, output).await?,
        AuditCommand::Export(arguments) => export::run(&arguments, &target.open().await?, output).await?,
        AuditCommand::Key(arguments) => key::run(&arguments, target, output).await?,
        AuditCommand::Verify(arguments) => return verify::run(arguments, target, output).await,
    }
    Ok(ExitCode::SUCCESS)
}
