//! `ops audit`: the log of events and audit records.

mod adopt;
mod export;

use clap::Subcommand;
use platform::Result;

use crate::output::Output;
use crate::target::Target;

/// What to do with the log.
#[derive(Subcommand)]
pub enum AuditCommand {
    /// Takes records into the log that an older version of Millrace wrote, of all accounts. Run it once after
    /// the update; a repeat is harmless.
    Adopt,
    /// Writes the records of a time into one file, each once, by time.
    Export(export::ExportArguments),
}

/// Does it.
pub async fn run(command: AuditCommand, target: &Target, output: Output) -> Result<()> {
    match command {
        AuditCommand::Adopt => adopt::run(target, output).await,
        AuditCommand::Export(arguments) => export::run(&arguments, target, output).await,
    }
}
