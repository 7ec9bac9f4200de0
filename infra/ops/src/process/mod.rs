//! `ops process`: manages stored processes, which subscriptions and other processes name.

mod load;

use std::path::PathBuf;

use clap::Subcommand;
use platform::records::audit::AuditAction;
use platform::{Error, Result};
use process::records::processes::{Process, ProcessRef, Processes};
use serde_json::json;

use crate::output::Output;
use crate::target::Target;

/// What to do with processes.
#[derive(Subcommand)]
pub enum ProcessCommand {
    /// Stores processes: documents of the CNCF Serverless Workflow DSL 1.0, in JSON or YAML.
    ///
    /// Each file is checked first, and every fault is printed with its JSON pointer; where one has a fault,
    /// none is stored. A version never changes: another text needs another 'document.version'.
    #[command(after_help = LOAD_EXAMPLES)]
    Load {
        /// The files; `-` is standard input.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Lists the project's processes.
    List,
    /// Prints the text of a process as it was loaded.
    Show {
        /// namespace/name for the highest version, or namespace/name@version.
        process: String,
    },
    /// Removes a process, so that nothing new starts by its name. Runs under way keep their definition.
    Remove {
        /// namespace/name@version for one version, or namespace/name for all.
        process: String,
    },
}

const LOAD_EXAMPLES: &str = r"Examples:
  ops process load order.yaml refund.json
  ops process load - <order.yaml";

pub async fn run(command: ProcessCommand, target: &Target, output: Output) -> Result<()> {
    let processes = Processes::new(target.records.clone());
    match command {
        ProcessCommand::Load { files } => load::run(&processes, &files, target, output).await,
        ProcessCommand::List => list(&processes, target, output).await,
        ProcessCommand::Show { process } => show(&processes, &process, target, output).await,
        ProcessCommand::Remove { process } => remove(&processes, &process, target, output).await,
    }
}

async fn list(processes: &Processes, target: &Target, output: Output) -> Result<()> {
    let summaries = processes.list(&target.tenant).await?;
    let line = |process: &Process| {
        let title = process.title.as_deref().unwrap_or_default();
        let line = format!(
            "{process}  {}  {} bytes  {title}",
            process.created_at, process.bytes
        );
        line.trim_end().to_owned()
    };
    let lines: Vec<String> = summaries.iter().map(line).collect();
    let lines = match lines.as_slice() {
        [] => "The project has no processes.".to_owned(),
        lines => lines.join("\n"),
    };
    output.print(&summaries, &lines)
}

async fn show(processes: &Processes, process: &str, target: &Target, output: Output) -> Result<()> {
    let reference = ProcessRef::parse("PROCESS", process)?;
    let record = processes.find(&target.tenant, &reference).await?;
    let record = record.ok_or_else(|| Error::not_found("process", process))?;
    let text = processes
        .text(&target.tenant, &target.objects, &record.digest)
        .await?;
    let text =
        text.ok_or_else(|| Error::internal(format!("the text {} of a process is gone", record.digest)))?;
    output.print(&json!({ "process": record, "text": text }), text.trim_end())
}

async fn remove(processes: &Processes, process: &str, target: &Target, output: Output) -> Result<()> {
    let reference = ProcessRef::parse("PROCESS", process)?;
    let removed = processes.remove(&target.tenant, &reference).await?;
    for process in &removed {
        target
            .audit(AuditAction::Delete, "process", &process.to_string())
            .await?;
    }
    let names: Vec<String> = removed.iter().map(Process::to_string).collect();
    let lines = format!("Removed {}.", names.join(", "));
    output.print(&json!({ "removed": names }), &lines)
}
