//! `ops key`: manages API keys.

use clap::Subcommand;
use identity::api_key::{self, NewApiKey};
use identity::records::api_keys::ApiKeys;
use platform::auth::{Principal, Role};
use platform::http::text::check_name;
use platform::ids;
use platform::records::audit::AuditAction;
use platform::{Error, Result};
use serde_json::json;

use crate::output::Output;
use crate::target::Target;

const DAY_MS: u64 = 86_400_000;

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
        /// Days after which it opens nothing; without it, the key has no end.
        #[arg(long)]
        days: Option<u32>,
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
        KeyCommand::Create { name, roles, days } => create(&keys, target, (name, roles, days), output).await,
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
    (name, roles, days): (String, Vec<String>, Option<u32>),
    output: Output,
) -> Result<()> {
    check_name("name", &name)?;
    if let Some(unknown) = roles.iter().find(|role| role.parse::<Role>().is_err()) {
        return Err(Error::invalid(format!(
            "There is no role '{unknown}'. The roles are reader, executor, automation, developer, project_admin and account_admin."
        )));
    }
    let now = target.clock.now();
    let new = NewApiKey {
        id: ids::new_id(now),
        name,
        roles,
        created_by: Principal::system(&target.tenant).reference(),
        expires_at: days.map(|days| now.plus_ms(u64::from(days) * DAY_MS)),
    };
    let (record, key) = api_key::create(&target.tenant, new, now);
    keys.insert(&target.tenant, &record).await?;
    let text = key.expose();
    let lines = format!("{text}\n\nThis is key {}. It is not shown again.", record.id);
    // Print the key first: it is valid even if its audit record fails.
    output.print(&json!({ "id": record.id, "key": text }), &lines)?;
    target.audit(AuditAction::Create, "api_key", &record.id).await
}

async fn list(keys: &ApiKeys, target: &Target, output: Output) -> Result<()> {
    let summaries = keys.list(&target.tenant).await?;
    let rows: Vec<_> = summaries
        .iter()
        .map(|key| json!({ "id": key.id, "name": key.name, "roles": key.roles, "hint": key.hint, "created_at": key.created_at, "expires_at": key.expires_at, "last_used_at": key.last_used_at }))
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
