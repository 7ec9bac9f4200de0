//! `ops interaction`: manages interactions: prompts, a model and an output schema, for semantic conditions
//! and agents.

use std::path::PathBuf;

use clap::Subcommand;
use models::OutputSchema;
use platform::http::json;
use platform::records::audit::AuditAction;
use platform::records::interactions::{Interaction, Interactions};
use platform::{Error, Result};

use crate::output::Output;
use crate::target::Target;

/// What to do with interactions.
#[derive(Subcommand)]
pub enum InteractionCommand {
    /// Adds the interactions of a JSON file, or replaces those of the same id.
    ///
    /// The file is an array of { "id": text, "name": text, "description"?: text, "versions": [version, …] },
    /// and a version is { "version": number, "prompts": [ id or { "id", "version"?, "role"? } ],
    /// "description"?, "model"?, "output_schema"?, "max_output_tokens"?, "temperature"?, "tools"?: [name, …],
    /// "allowed_hosts"?: [host, …], "mcp_servers"?: [ { "name", "url", "headers_secret"? } ] }. The version
    /// with the highest number is used. Prompts are sent in their order; one without a version is the latest.
    Load {
        /// The file.
        file: PathBuf,
    },
}

pub async fn run(command: InteractionCommand, target: &Target, output: Output) -> Result<()> {
    let InteractionCommand::Load { file } = command;
    let bytes = std::fs::read(&file)
        .map_err(|error| Error::invalid(format!("{} cannot be read: {error}.", file.display())))?;
    let loaded: Vec<Interaction> = json::parse(&bytes)?;
    let interactions = Interactions::new(target.records.clone());
    for interaction in &loaded {
        check_schemas(interaction)?;
    }
    for interaction in &loaded {
        interactions.load(&target.tenant, interaction).await?;
        target
            .audit(AuditAction::Update, "interaction", &interaction.id)
            .await?;
    }
    let lines = format!("{} interactions are loaded.", loaded.len());
    output.print(&serde_json::json!({ "loaded": loaded.len() }), &lines)
}

/// Refuses an output schema that no model supports.
fn check_schemas(interaction: &Interaction) -> Result<()> {
    for version in &interaction.versions {
        let Some(schema) = &version.output_schema else {
            continue;
        };
        let output = OutputSchema {
            name: "output".to_owned(),
            schema: schema.clone(),
        };
        output.check().map_err(|refusal| {
            let place = format!(
                "version {} of the interaction '{}'",
                version.version, interaction.id
            );
            let fault = refusal.detail().unwrap_or_default();
            Error::invalid(format!(
                "The output schema of {place} cannot be used. {refusal} {fault}"
            ))
        })?;
    }
    Ok(())
}
