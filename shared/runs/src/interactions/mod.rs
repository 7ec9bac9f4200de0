//! Finds interactions by reference, and renders their prompts with data.
//!
//! A reference is `sys:<name>` for a built-in interaction, `app:<name>` for one of the project by its name,
//! or an id. A run resolves its interaction once and keeps it in its history, so that a later change does not
//! affect a run under way.

mod render;
mod resolved;
mod system;

use std::sync::Arc;

use platform::http::text::check_resource_id;
use platform::records::Table;
use platform::{Error, ErrorKind, Result, Tenant};
use prompts::Templates;
use prompts::records::interactions::{Interaction, Interactions, PromptUse};
use prompts::records::prompts::Prompts;
use serde_json::Value;

pub use render::Rendered;
pub use resolved::{MessageTemplate, Resolved, Role};
pub use system::{CLASSIFIER, GENERAL};

/// Maximum size of the contents of parsed templates in the cache, in bytes.
const KEPT_TEMPLATE_BYTES: usize = 2 * 1_024 * 1_024;
const BY_NAME: &str = "app:";
const BUILT_IN: &str = "sys:";

#[derive(Clone)]
pub struct InteractionResolver {
    records: Interactions,
    prompts: Prompts,
    templates: Arc<Templates>,
}

impl InteractionResolver {
    pub fn new(table: Table) -> Self {
        Self {
            records: Interactions::new(table.clone()),
            prompts: Prompts::new(table),
            templates: Arc::new(Templates::new(KEPT_TEMPLATE_BYTES)),
        }
    }

    /// Returns the latest version of an interaction, with the contents of its prompt templates. The error is
    /// permanent and says what to change, unless a record is temporarily unavailable.
    pub async fn resolve(&self, tenant: &Tenant, reference: &str) -> Result<Resolved> {
        check_resource_id("interaction_ref", reference)?;
        if reference.starts_with(BUILT_IN) {
            return system::find(reference);
        }
        let interaction = match reference.strip_prefix(BY_NAME) {
            Some(name) => self.of_name(tenant, name).await?,
            None => self.records.find(tenant, reference).await?.ok_or_else(|| {
                Error::new(
                    ErrorKind::NotFound,
                    format!(
                        "There is no interaction with the id '{reference}'. Load it with `ops interaction load`, or refer to \
                         another one: by its id, as 'app:<name>' or as 'sys:<name>'."
                    ),
                )
            })?,
        };
        self.with_prompts(tenant, interaction).await
    }

    async fn of_name(&self, tenant: &Tenant, name: &str) -> Result<Interaction> {
        let mut found = self.records.of_name(tenant, name).await?;
        match (found.len(), found.pop()) {
            (1, Some(interaction)) => Ok(interaction),
            (0, _) => Err(Error::new(
                ErrorKind::NotFound,
                format!(
                    "There is no interaction with the name '{name}'. Load it with `ops interaction load`."
                ),
            )),
            (count, _) => Err(Error::conflict(format!(
                "{count} interactions have the name '{name}'. Refer to one by its id, or rename the others."
            ))),
        }
    }

    async fn with_prompts(&self, tenant: &Tenant, interaction: Interaction) -> Result<Resolved> {
        let Some(version) = interaction.latest() else {
            return Err(Error::new(
                ErrorKind::NotFound,
                format!(
                    "The interaction '{}' has no version. Load one with `ops interaction load`.",
                    interaction.id
                ),
            ));
        };
        let read = version
            .prompts
            .iter()
            .map(|used| self.message(tenant, &interaction.id, used));
        let messages = futures::future::try_join_all(read).await?;
        let version = version.clone();
        Ok(Resolved {
            id: interaction.id,
            name: interaction.name,
            version: version.version,
            is_system: false,
            description: version.description.or(interaction.description),
            messages,
            model: version.model,
            output_schema: version.output_schema,
            max_output_tokens: version.max_output_tokens,
            on_token_limit: version.on_token_limit,
            temperature: version.temperature,
            tools: version.tools,
            allowed_hosts: version.allowed_hosts,
            mcp_servers: version.mcp_servers,
        })
    }

    async fn message(
        &self,
        tenant: &Tenant,
        interaction_id: &str,
        used: &PromptUse,
    ) -> Result<MessageTemplate> {
        let prompt = match self.prompts.in_use(tenant, &used.id, used.version).await {
            Ok(used) => used.prompt,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let what = match used.version {
                    Some(version) => format!("version {version} of the prompt template '{}'", used.id),
                    None => format!("the prompt template '{}'", used.id),
                };
                return Err(Error::new(
                    ErrorKind::NotFound,
                    format!(
                        "The interaction '{interaction_id}' uses {what}, which does not exist. Load a version of \
                         the interaction that uses another one."
                    ),
                ));
            }
            Err(error) => return Err(error),
        };
        Ok(MessageTemplate {
            role: Role::named(used.role.as_deref().unwrap_or(&prompt.role)),
            content_type: prompt.content_type,
            content: prompt.content,
            prompt: Some((prompt.id, prompt.version)),
        })
    }

    /// Renders the messages of an interaction with data. The error is permanent: it names the template and
    /// its fault, and never quotes the data.
    pub fn render(&self, resolved: &Resolved, data: &Value) -> Result<Rendered> {
        render::render(&self.templates, resolved, data)
    }
}
