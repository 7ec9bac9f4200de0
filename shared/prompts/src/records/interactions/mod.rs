//! Stores interactions: prompt templates in the order of a conversation, with the model and the form of its
//! answer. The operator loads them; the API lists them.

mod definition;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use definition::{Interaction, InteractionVersion, McpServer, PromptUse, TokenLimit};
pub use definition::{is_host, is_tool_name};

use platform::error::{Error, Result};
use platform::records::{Condition, Key, Query, Table, Written, json_text, keys};
use platform::tenant::Tenant;

/// An interaction that uses a prompt template.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InteractionUse {
    /// Id of the interaction.
    pub id: String,
    /// Name of the interaction.
    pub name: String,
    /// The versions that use the template.
    pub versions: Vec<UsedVersion>,
}

/// A version of an interaction that uses the template.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "InteractionVersion")]
pub struct UsedVersion {
    /// Number of the version.
    pub versions: u64,
}

/// Stored form of an interaction.
#[derive(Serialize, Deserialize)]
struct InteractionRecord {
    id: String,
    name: String,
    /// The whole interaction, as text because an item nests at most 32 levels.
    #[serde(with = "json_text")]
    definition: Interaction,
}

impl InteractionRecord {
    fn from_interaction(interaction: &Interaction) -> Result<Self> {
        let length = serde_json::to_vec(interaction).map_err(Error::internal)?.len();
        if length > MAX_INTERACTION_BYTES {
            return Err(Error::invalid(format!(
                "The interaction '{}' has {length} bytes; {MAX_INTERACTION_BYTES} is the most. Remove old versions.",
                interaction.id,
            )));
        }
        Ok(Self {
            id: interaction.id.clone(),
            name: interaction.name.clone(),
            definition: interaction.clone(),
        })
    }
}

#[derive(Serialize, Deserialize)]
struct NameRecord {
    interaction_id: String,
}

#[derive(Serialize, Deserialize)]
struct UseRecord {
    prompt_id: String,
    #[serde(flatten)]
    usage: InteractionUse,
}

/// Maximum number of templates of an interaction. Each is one step of the load transaction, which has at most
/// 100 steps, and the load may have to remove as many.
pub const MAX_PROMPTS: usize = 45;
/// Maximum size of an interaction, in bytes of JSON; a record may have 400 KB.
const MAX_INTERACTION_BYTES: usize = 300_000;

#[derive(Clone)]
pub struct Interactions {
    table: Table,
}

impl Interactions {
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    pub async fn find(&self, tenant: &Tenant, id: &str) -> Result<Option<Interaction>> {
        let found: Option<InteractionRecord> = self.table.find(&keys::interaction(tenant, id)).await?;
        Ok(found.map(|record| record.definition))
    }

    /// Lists the interactions with a name, which need not be unique.
    pub async fn of_name(&self, tenant: &Tenant, name: &str) -> Result<Vec<Interaction>> {
        let query =
            Query::partition(keys::interaction_names(tenant)).prefix(keys::interaction_name_prefix(name));
        let records: Vec<NameRecord> = self.table.all(&query).await?;
        let mut found = Vec::new();
        for record in records {
            let interaction = self.find(tenant, &record.interaction_id).await?;
            // A load that stops after it changed the name leaves the record of the old name.
            found.extend(interaction.filter(|interaction| interaction.name == name));
        }
        Ok(found)
    }

    /// Lists the interactions of a project, by id.
    pub async fn list(&self, tenant: &Tenant) -> Result<Vec<Interaction>> {
        let query = Query::partition(keys::interaction(tenant, "").pk);
        let records: Vec<InteractionRecord> = self.table.all(&query).await?;
        Ok(records.into_iter().map(|record| record.definition).collect())
    }

    /// Returns the interactions of all templates of a project, by template id.
    pub async fn by_prompt(&self, tenant: &Tenant) -> Result<BTreeMap<String, Vec<InteractionUse>>> {
        let mut uses: BTreeMap<String, Vec<InteractionUse>> = BTreeMap::new();
        for record in self
            .table
            .all::<UseRecord>(&Query::partition(keys::prompt_interactions(tenant)))
            .await?
        {
            uses.entry(record.prompt_id).or_default().push(record.usage);
        }
        Ok(uses)
    }

    /// Lists the interactions that use a template.
    pub async fn of_prompt(&self, tenant: &Tenant, prompt: &str) -> Result<Vec<InteractionUse>> {
        let query = Query::partition(keys::prompt_interactions(tenant)).prefix(format!("{prompt}#"));
        let records: Vec<UseRecord> = self.table.all(&query).await?;
        Ok(records.into_iter().map(|record| record.usage).collect())
    }

    /// Adds or replaces an interaction, together with the entries of its templates.
    pub async fn load(&self, tenant: &Tenant, interaction: &Interaction) -> Result<()> {
        interaction.check()?;
        let uses = uses(interaction);
        if uses.len() > MAX_PROMPTS {
            return Err(Error::invalid(format!(
                "The interaction '{}' uses {} prompt templates; {MAX_PROMPTS} is the most.",
                interaction.id,
                uses.len()
            )));
        }
        let key = keys::interaction(tenant, &interaction.id);
        let before = self.find(tenant, &interaction.id).await?;
        let named = NameRecord {
            interaction_id: interaction.id.clone(),
        };
        let mut transaction = self
            .table
            .transaction()
            .replace(&key, &InteractionRecord::from_interaction(interaction)?)?
            .replace(&name_key(tenant, interaction), &named)?;
        for (prompt, usage) in &uses {
            let record = UseRecord {
                prompt_id: prompt.clone(),
                usage: usage.clone(),
            };
            transaction = transaction.replace(
                &keys::prompt_interaction(tenant, prompt, &interaction.id),
                &record,
            )?;
        }
        for prompt in before
            .iter()
            .flat_map(prompts_of)
            .filter(|prompt| !uses.contains_key(prompt))
        {
            let stale = keys::prompt_interaction(tenant, &prompt, &interaction.id);
            transaction = transaction.delete(&stale, Condition::Present)?;
        }
        match transaction.commit().await? {
            Written::Done => {}
            _ => {
                return Err(Error::conflict(format!(
                    "The interaction '{}' is being loaded elsewhere. Load it again.",
                    interaction.id
                )));
            }
        }
        if let Some(before) = before.filter(|before| before.name != interaction.name) {
            let stale = name_key(tenant, &before);
            self.table
                .delete(&stale, Condition::Present)
                .await?
                .took_effect("the name of an interaction")?;
        }
        Ok(())
    }
}

fn name_key(tenant: &Tenant, interaction: &Interaction) -> Key {
    keys::interaction_name(tenant, &interaction.name, &interaction.id)
}

fn prompts_of(interaction: &Interaction) -> BTreeSet<String> {
    interaction
        .versions
        .iter()
        .flat_map(|version| version.prompts.iter().map(|prompt| prompt.id.clone()))
        .collect()
}

fn uses(interaction: &Interaction) -> BTreeMap<String, InteractionUse> {
    let versions_with = |prompt: &String| {
        let using = interaction
            .versions
            .iter()
            .filter(|version| version.prompts.iter().any(|used| used.id == *prompt));
        using
            .map(|version| UsedVersion {
                versions: version.version,
            })
            .collect()
    };
    let usage = |prompt: &String| InteractionUse {
        id: interaction.id.clone(),
        name: interaction.name.clone(),
        versions: versions_with(prompt),
    };
    prompts_of(interaction)
        .into_iter()
        .map(|prompt| (prompt.clone(), usage(&prompt)))
        .collect()
}
