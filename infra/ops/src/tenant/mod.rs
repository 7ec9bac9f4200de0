//! `ops tenant`: takes everything of a project out, or away.

mod contents;
mod erase;
mod export;
mod manifest;
mod steps;

use clap::Subcommand;
use platform::Result;

use crate::output::Output;
use crate::target::TargetArguments;

/// What to do with everything of the project that --account and --project name.
#[derive(Subcommand)]
pub enum TenantCommand {
    /// Writes all records and objects of the project into a folder, as docs/tenants.md describes it.
    ///
    /// The folder is complete once it has its manifest.json. What is written meanwhile may be in it or not.
    Export(export::ExportArguments),
    /// Erases everything of the project, and leaves a signed statement in its logs.
    ///
    /// Without --yes it says what would be erased. If it is interrupted, repeat it. Stop the local runner
    /// before; docs/tenants.md says what to do before on a deployed stage, and what it does not reach.
    Erase(erase::EraseArguments),
}

pub async fn run(command: TenantCommand, target: &TargetArguments, output: Output) -> Result<()> {
    match command {
        TenantCommand::Export(arguments) => export::run(&arguments, &target.open().await?, output).await,
        TenantCommand::Erase(arguments) => erase::run(&arguments, target, output).await,
    }
}
