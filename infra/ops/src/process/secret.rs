//! `ops process secret`: manages the secrets that definitions name in `use.secrets`.
//!
//! A value is never an argument, because arguments appear in the process list and in the shell's history.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use platform::config::Secret;
use platform::records::audit::AuditAction;
use platform::records::process_secrets::ProcessSecrets;
use platform::{Error, Result};
use serde_json::{Value, json};

use crate::input::read;
use crate::output::Output;
use crate::target::Target;

/// What to do with secrets of processes.
#[derive(Subcommand)]
pub enum SecretCommand {
    /// Stores a secret, or replaces the one with this name. It is sealed and never shown again.
    #[command(after_help = SET_EXAMPLES)]
    Set {
        /// The secret's name.
        name: String,
        /// File with the value; without it the value is read from standard input.
        #[arg(long, value_name = "FILE")]
        value_file: Option<PathBuf>,
        /// The value is plain text, not JSON; its trailing line ends are removed.
        #[arg(long)]
        text: bool,
    },
    /// Lists the names of the secrets.
    List,
    /// Removes a secret.
    Remove {
        /// The secret's name.
        name: String,
    },
}

const SET_EXAMPLES: &str = r#"Examples:
  echo '{"username": "ada", "password": "…"}' | ops process secret set shop
  ops process secret set api-token --text --value-file token.txt"#;

pub async fn run(command: SecretCommand, target: &Target, output: Output) -> Result<()> {
    let secrets = ProcessSecrets::new(target.records.clone());
    let tenant = &target.tenant;
    match command {
        SecretCommand::Set {
            name,
            value_file,
            text,
        } => {
            let given = read(value_file.as_deref().unwrap_or(Path::new("-")))?;
            let value = value(&given, text)?;
            let sealer = target.sealer().await?;
            secrets
                .set(sealer.as_ref(), tenant, (&name, &value), target.clock.now())
                .await?;
            target.audit(AuditAction::Update, "process_secret", &name).await?;
            output.print(&json!({ "name": name }), &format!("The secret {name} is stored."))
        }
        SecretCommand::List => {
            let found = secrets.list(tenant).await?;
            let rows: Vec<Value> = found
                .iter()
                .map(|secret| json!({ "name": secret.name, "updated_at": secret.updated_at }))
                .collect();
            let lines: Vec<String> = found
                .iter()
                .map(|secret| format!("{}  {}", secret.updated_at, secret.name))
                .collect();
            let lines = match lines.as_slice() {
                [] => "The project has no secrets of processes.".to_owned(),
                lines => lines.join("\n"),
            };
            output.print(&rows, &lines)
        }
        SecretCommand::Remove { name } => {
            secrets.remove(tenant, &name).await?;
            target.audit(AuditAction::Delete, "process_secret", &name).await?;
            output.print(
                &json!({ "name": name }),
                &format!("The secret {name} is removed."),
            )
        }
    }
}

/// Returns the JSON text of a value. A refusal never quotes the value.
fn value(given: &str, is_text: bool) -> Result<Secret> {
    if is_text {
        let text = given.trim_end_matches(['\r', '\n']);
        return Ok(Secret::new(Value::from(text).to_string()));
    }
    match serde_json::from_str::<Value>(given) {
        Ok(_) => Ok(Secret::new(given.trim())),
        Err(_) => Err(Error::invalid(
            "The value of the secret is not JSON; write a text in quotes, or add --text.",
        )),
    }
}
