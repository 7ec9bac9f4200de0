//! `ops interaction`: manages interactions: prompts, a model and an output schema, for semantic conditions
//! and agents.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use models::OutputSchema;
use platform::http::json;
use platform::records::audit::AuditAction;
use platform::{Error, ErrorKind, Result, Tenant};
use prompts::records::interactions::{Interaction, Interactions, PromptUse};
use prompts::records::prompts::{PromptStatus, Prompts};
use serde::Serialize;
use serde_json::json;

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
    /// "on_token_limit"?: "mark" | "continue" | "fail", "allowed_hosts"?: [host, …],
    /// "mcp_servers"?: [ { "name", "url", "headers_secret"? } ] }. The version with the highest number is used.
    /// Prompts are sent in their order; one without a version is the published one, or the newest while none
    /// is published.
    Load {
        /// The file.
        file: PathBuf,
    },
    /// Lists the interactions, with the prompt templates that their used version sends.
    List,
}

/// A template of an interaction, and the version of it that is sent.
#[derive(Serialize)]
struct SentPrompt {
    id: String,
    /// None where the template, or its pinned version, does not exist.
    version: Option<u64>,
    /// `pinned`, `published`, `draft`, `deleted` or `missing`.
    state: &'static str,
}

impl SentPrompt {
    async fn find(prompts: &Prompts, tenant: &Tenant, used: &PromptUse) -> Result<Self> {
        let (version, state) = match prompts.in_use(tenant, &used.id, used.version).await {
            Ok(in_use) => {
                let state = match (in_use.is_deleted, used.version, in_use.prompt.status) {
                    (true, ..) => "deleted",
                    (false, Some(_), _) => "pinned",
                    (false, None, PromptStatus::Published) => "published",
                    (false, None, PromptStatus::Draft) => "draft",
                };
                (Some(in_use.prompt.version), state)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => (None, "missing"),
            Err(error) => return Err(error),
        };
        let id = used.id.clone();
        Ok(Self { id, version, state })
    }

    /// Returns what an author of the interaction should know.
    fn warning(&self, interaction: &str) -> Option<String> {
        let (id, version) = (&self.id, self.version.unwrap_or_default());
        let what = match self.state {
            "draft" => format!(
                "uses version {version} of the prompt template '{id}', a draft, because no version is published: each change of the \
                 template is live at once. Publish a version, or name one"
            ),
            "deleted" => format!(
                "uses version {version} of the prompt template '{id}', which is deleted. Load a version that uses another one"
            ),
            "missing" => format!(
                "uses the prompt template '{id}', which does not exist. Create it, or name another one"
            ),
            _ => return None,
        };
        Some(format!("The interaction '{interaction}' {what}."))
    }
}

pub async fn run(command: InteractionCommand, target: &Target, output: Output) -> Result<()> {
    let interactions = Interactions::new(target.records.clone());
    match command {
        InteractionCommand::Load { file } => load(&interactions, &file, target, output).await,
        InteractionCommand::List => list(&interactions, target, output).await,
    }
}

async fn load(interactions: &Interactions, file: &Path, target: &Target, output: Output) -> Result<()> {
    let bytes = std::fs::read(file)
        .map_err(|error| Error::invalid(format!("{} cannot be read: {error}.", file.display())))?;
    let loaded: Vec<Interaction> = json::parse(&bytes)?;
    for interaction in &loaded {
        check_schemas(interaction)?;
    }
    for interaction in &loaded {
        interactions.load(&target.tenant, interaction).await?;
        target
            .audit(AuditAction::Update, "interaction", &interaction.id)
            .await?;
    }
    let mut warnings = Vec::new();
    for interaction in &loaded {
        let prompts = sent_prompts(interaction, target).await?;
        warnings.extend(
            prompts
                .iter()
                .filter_map(|prompt| prompt.warning(&interaction.id)),
        );
    }
    let mut lines = vec![format!("{} interactions are loaded.", loaded.len())];
    lines.extend(warnings.iter().cloned());
    output.print(
        &json!({ "loaded": loaded.len(), "warnings": warnings }),
        &lines.join("\n"),
    )
}

async fn list(interactions: &Interactions, target: &Target, output: Output) -> Result<()> {
    let (mut lines, mut listed) = (Vec::new(), Vec::new());
    for interaction in interactions.list(&target.tenant).await? {
        let prompts = sent_prompts(&interaction, target).await?;
        let version = interaction.latest().map(|version| version.version);
        let name = &interaction.name;
        lines.push(match version {
            Some(version) => format!("{}: version {version} of '{name}'", interaction.id),
            None => format!("{}: '{name}', without a version", interaction.id),
        });
        for prompt in &prompts {
            let version = prompt
                .version
                .map_or(String::new(), |version| format!(" version {version}"));
            lines.push(format!("  {}{version}, {}", prompt.id, prompt.state));
        }
        let warnings: Vec<_> = prompts
            .iter()
            .filter_map(|prompt| prompt.warning(&interaction.id))
            .collect();
        lines.extend(warnings.iter().cloned());
        listed.push(json!({
            "id": interaction.id, "name": name, "version": version, "prompts": prompts, "warnings": warnings,
        }));
    }
    if lines.is_empty() {
        lines.push("There are no interactions.".to_owned());
    }
    output.print(&listed, &lines.join("\n"))
}

/// Returns the templates that the used version of an interaction sends.
async fn sent_prompts(interaction: &Interaction, target: &Target) -> Result<Vec<SentPrompt>> {
    let prompts = Prompts::new(target.records.clone());
    let mut sent_prompts = Vec::new();
    for used in interaction.latest().iter().flat_map(|version| &version.prompts) {
        sent_prompts.push(SentPrompt::find(&prompts, &target.tenant, used).await?);
    }
    Ok(sent_prompts)
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
            accepted: None,
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
