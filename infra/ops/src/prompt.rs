//! `ops prompt`: does the operations on prompt templates that the API lacks.

use clap::Subcommand;
use platform::Result;
use platform::records::audit::AuditAction;
use prompts::records::prompts::Prompts;
use serde_json::json;

use crate::output::Output;
use crate::target::Target;

/// What to do with prompt templates.
#[derive(Subcommand)]
pub enum PromptCommand {
    /// Publishes a version.
    Publish {
        /// The template's id.
        id: String,
        /// The version. Default: the current one.
        #[arg(long)]
        version: Option<u64>,
    },
}

pub async fn run(command: PromptCommand, target: &Target, output: Output) -> Result<()> {
    let PromptCommand::Publish { id, version } = command;
    let prompts = Prompts::new(target.records.clone());
    let published = prompts
        .publish(&target.tenant, &id, version, target.clock.now())
        .await?;
    target.audit(AuditAction::Publish, "prompt", &id).await?;
    let lines = format!(
        "Version {} of '{}' is published.",
        published.version, published.name
    );
    output.print(
        &json!({ "id": id, "version": published.version, "status": "published" }),
        &lines,
    )
}
