//! `ops interaction`: which interactions use which prompt templates.

use std::path::PathBuf;

use clap::Subcommand;
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
    /// The file is an array of { "id": text, "name": text, "versions": [ { "version": number, "prompts": [template ids] } ] }.
    Load {
        /// The file.
        file: PathBuf,
    },
}

/// Does it.
pub async fn run(command: InteractionCommand, target: &Target, output: Output) -> Result<()> {
    let InteractionCommand::Load { file } = command;
    let bytes = std::fs::read(&file)
        .map_err(|error| Error::invalid(format!("{} cannot be read: {error}.", file.display())))?;
    let loaded: Vec<Interaction> = json::parse(&bytes)?;
    let interactions = Interactions::new(target.records.clone());
    for interaction in &loaded {
        interactions.load(&target.tenant, interaction).await?;
        target
            .audit(AuditAction::Update, "interaction", &interaction.id)
            .await?;
    }
    let lines = format!("{} interactions are loaded.", loaded.len());
    output.print(&serde_json::json!({ "loaded": loaded.len() }), &lines)
}
