//! Interactions: who uses which prompt template. The operator loads them; the API lists them.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::http::text::{check_name, check_resource_id};
use crate::records::{Condition, Query, Table, Written, keys};
use crate::tenant::Tenant;

/// An interaction and, per version, the prompt templates that it uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interaction {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its versions.
    pub versions: Vec<InteractionVersion>,
}

/// One version of an interaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InteractionVersion {
    /// Its number.
    pub version: u64,
    /// Ids of the prompt templates that it uses.
    pub prompts: Vec<String>,
}

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

#[derive(Serialize, Deserialize)]
struct UseRecord {
    prompt_id: String,
    #[serde(flatten)]
    usage: InteractionUse,
}

/// Most templates that one interaction may use: each is one step of the transaction that loads it, of 100 at most, and
/// as many may have to be removed.
pub const MAX_PROMPTS: usize = 45;

/// The interactions.
#[derive(Clone)]
pub struct Interactions {
    table: Table,
}

impl Interactions {
    /// Over the table of records.
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    /// The interactions of every template of a project, by template id.
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

    /// The interactions of one template.
    pub async fn of_prompt(&self, tenant: &Tenant, prompt: &str) -> Result<Vec<InteractionUse>> {
        let query = Query::partition(keys::prompt_interactions(tenant)).prefix(format!("{prompt}#"));
        let records: Vec<UseRecord> = self.table.all(&query).await?;
        Ok(records.into_iter().map(|record| record.usage).collect())
    }

    /// Adds an interaction or replaces it, together with what its templates list of it.
    pub async fn load(&self, tenant: &Tenant, interaction: &Interaction) -> Result<()> {
        check(interaction)?;
        let uses = uses(interaction);
        if uses.len() > MAX_PROMPTS {
            return Err(Error::invalid(format!(
                "The interaction '{}' uses {} prompt templates; {MAX_PROMPTS} is the most.",
                interaction.id,
                uses.len()
            )));
        }
        let key = keys::interaction(tenant, &interaction.id);
        let before: Option<Interaction> = self.table.find(&key).await?;
        let mut transaction = self.table.transaction().replace(&key, interaction)?;
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
            Written::Done => Ok(()),
            _ => Err(Error::conflict(format!(
                "The interaction '{}' is being loaded elsewhere.",
                interaction.id
            ))),
        }
    }
}

fn check(interaction: &Interaction) -> Result<()> {
    check_resource_id("id", &interaction.id)?;
    check_name("name", &interaction.name)?;
    for (index, version) in interaction.versions.iter().enumerate() {
        let prompts = version.prompts.iter().enumerate();
        for (place, prompt) in prompts {
            check_resource_id(&format!("versions[{index}].prompts[{place}]"), prompt)?;
        }
    }
    Ok(())
}

fn prompts_of(interaction: &Interaction) -> BTreeSet<String> {
    interaction
        .versions
        .iter()
        .flat_map(|version| version.prompts.iter().cloned())
        .collect()
}

fn uses(interaction: &Interaction) -> BTreeMap<String, InteractionUse> {
    let versions_with = |prompt: &String| {
        let using = interaction
            .versions
            .iter()
            .filter(|version| version.prompts.contains(prompt));
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
