//! `ops audit`: the log of events and audit records.

mod adopt;
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
    /// Takes records into the log that an older version of Millrace wrote, of all accounts. Run it once after
    /// the update; a repeat is harmless.
    Adopt,
    /// Archives what the project's logs hold now, instead of within the next minutes.
    Archive,
    /// Writes the records of a time into one file, each once, by time.
    Export(export::ExportArguments),
    /// Prints the public key that checks the log's digests, as PEM.
    Key,
    /// Checks a copy of the log against its signed digests, offline, and names the first file that was
    /// changed, removed or added.
    Verify(verify::VerifyArguments),
}

pub async fn run(command: AuditCommand, target: &TargetArguments, output: Output) -> Result<ExitCode> {
    match command {
        AuditCommand::Adopt => adopt::run(&target.open().await?, output).await?,
        AuditCommand::Archive => archive::run(target, output).await?,
        AuditCommand::Export(arguments) => export::run(&arguments, &target.open().await?, output).await?,
        AuditCommand::Key => key::run(target, output).await?,
        AuditCommand::Verify(arguments) => return verify::run(arguments, target, output).await,
    }
    Ok(ExitCode::SUCCESS)
}
