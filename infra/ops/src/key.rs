//! `ops key`: manages API keys of the data store API.

use clap::Subcommand;
use platform::auth::{Role, api_key};
use platform::http::text::check_name;
use platform::ids;
use platform::records::api_keys::ApiKeys;
use platform::records::audit::AuditAction;
use platform::{Error, Result};
use serde_json::json;

use crate::output::Output;
use crate::target::Target;

/// What to do with API keys.
#[derive(Subcommand)]
pub enum KeyCommand {
    /// Creates a key and shows it once.
    Create {
        /// Purpose of the key.
        name: String,
        /// Roles, comma-joined.
        #[arg(long, value_delimiter = ',', default_value = "automation")]
        roles: Vec<String>,
    },
    /// Lists the project's keys, without their secrets.
    List,
    /// Revokes a key.
    Revoke {
        /// The key's id.
        id: String,
    },
}

pub async fn run(command: KeyCommand, target: &Target, output: Output) -> Result<()> {
    let keys = ApiKeys::new(target.records.clone());
    match command {
        KeyCommand::Create { name, roles } => create(&keys, target, name, roles, output).await,
        KeyCommand::List => list(&keys, target, output).await,
        KeyCommand::Revoke { id } => {
            keys.remove(&target.tenant, &id).await?;
            target.audit(AuditAction::Delete, "api_key", &id).await?;
            output.print(
                &json!({ "id": id }),
                &format!("The API key {id} opens nothing any more."),
            )
        }
    }
}

async fn create(
    keys: &ApiKeys,
    target: &Target,
    name: String,
    roles: Vec<String>,
    output: Output,
) -> Result<()> {
    check_name("name", &name)?;
    if let Some(unknown) = roles.iter().find(|role| role.parse::<Role>().is_err()) {
        return Err(Error::invalid(format!(
            "There is no role '{unknown}'. The roles are reader, executor, automation, developer, project_admin and account_admin."
        )));
    }
    let now = target.clock.now();
    let (record, text) = api_key::create(&target.tenant, ids::new_id(now), name, roles, now);
    keys.insert(&target.tenant, &record).await?;
    let lines = format!("{text}\n\nThis is key {}. It is not shown again.", record.id);
    // Print the key first: it is valid even if its audit record fails.
    output.print(&json!({ "id": record.id, "key": text }), &lines)?;
    target.audit(AuditAction::Create, "api_key", &record.id).await
}

async fn list(keys: &ApiKeys, target: &Target, output: Output) -> Result<()> {
    let summaries = keys.list(&target.tenant).await?;
    let rows: Vec<_> = summaries
        .iter()
        .map(|key| json!({ "id": key.id, "name": key.name, "roles": key.roles, "hint": key.hint, "created_at": key.created_at }))
        .collect();
    let lines: Vec<_> = summaries
        .iter()
        .map(|key| {
            format!(
                "{}  …{}  {}  {}  {}",
                key.id,
                key.hint,
                key.created_at,
                key.roles.join(","),
                key.name
            )
        })
        .collect();
    let lines = if lines.is_empty() {
        "The project has no API key.".to_owned()
    } else {
        lines.join("\n")
    };
    output.print(&rows, &lines)
}
