//! `ops secret`: manages the secrets that processes and MCP servers name, and what each is for.
//!
//! A value is never an argument, because arguments appear in the process list and in the shell's history.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use platform::config::Secret;
use platform::records::audit::AuditAction;
use platform::{Error, Result};
use runs::records::process_secrets::{Binding, ProcessSecret, ProcessSecrets};
use serde_json::{Value, json};

use crate::input::read;
use crate::output::Output;
use crate::target::Target;

/// What to do with secrets.
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
        #[command(flatten)]
        binding: BindingArguments,
    },
    /// Replaces what a secret is for, and keeps its value.
    Bind {
        /// The secret's name.
        name: String,
        #[command(flatten)]
        binding: BindingArguments,
    },
    /// Lists the names of the secrets, and what each is for.
    List,
    /// Removes a secret.
    Remove {
        /// The secret's name.
        name: String,
    },
}

/// What a secret is for; each may be given several times.
#[derive(Args)]
pub struct BindingArguments {
    /// Process that may use it, all versions; its definition names the secret in 'use.secrets'.
    #[arg(
        long = "for",
        value_name = "NAMESPACE/NAME",
        required_unless_present = "mcp_server"
    )]
    processes: Vec<String>,
    /// MCP server of interactions that may use it; it names the secret in 'headers_secret'.
    #[arg(long, value_name = "NAME")]
    mcp_server: Vec<String>,
    /// Host that it may be sent to.
    #[arg(long, value_name = "HOST[:PORT]", required = true)]
    host: Vec<String>,
}

impl From<BindingArguments> for Binding {
    fn from(arguments: BindingArguments) -> Self {
        Self {
            processes: arguments.processes,
            mcp_servers: arguments.mcp_server,
            hosts: arguments.host,
        }
    }
}

const SET_EXAMPLES: &str = r#"Examples:
  echo '{"username": "ada", "password": "…"}' | ops secret set shop --for shop/order --host api.shop.example
  ops secret set api-token --text --value-file token.txt --for shop/order --for shop/refund --host api.shop.example
  ops secret set docs-headers --value-file headers.json --mcp-server docs --host mcp.example.com"#;

pub async fn run(command: SecretCommand, target: &Target, output: Output) -> Result<()> {
    let secrets = ProcessSecrets::new(target.records.clone());
    let (tenant, now) = (&target.tenant, target.clock.now());
    match command {
        SecretCommand::Set {
            name,
            value_file,
            text,
            binding,
        } => {
            let binding = Binding::from(binding);
            binding.check()?;
            let input = read(value_file.as_deref().unwrap_or(Path::new("-")))?;
            let value = value(&input, text)?;
            let sealer = target.sealer()?;
            secrets
                .set(sealer.as_ref(), tenant, (&name, &value), binding, now)
                .await?;
            target.audit(AuditAction::Update, "process_secret", &name).await?;
            output.print(&json!({ "name": name }), &format!("The secret {name} is stored."))
        }
        SecretCommand::Bind { name, binding } => {
            secrets.bind(tenant, &name, binding.into(), now).await?;
            target.audit(AuditAction::Update, "process_secret", &name).await?;
            output.print(&json!({ "name": name }), &format!("The secret {name} is bound."))
        }
        SecretCommand::List => {
            let secrets = secrets.list(tenant).await?;
            let rows: Vec<Value> = secrets
                .iter()
                .map(|secret| {
                    json!({ "name": secret.name, "binding": secret.binding, "updated_at": secret.updated_at })
                })
                .collect();
            let lines: Vec<String> = secrets.iter().map(line).collect();
            let lines = match lines.as_slice() {
                [] => "The project has no secrets.".to_owned(),
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

fn line(secret: &ProcessSecret) -> String {
    let ProcessSecret {
        name,
        updated_at,
        binding,
        ..
    } = secret;
    let servers = binding
        .mcp_servers
        .iter()
        .map(|server| format!("MCP server {server}"));
    let holders: Vec<String> = binding.processes.iter().cloned().chain(servers).collect();
    format!(
        "{updated_at}  {name}  for {} at {}",
        holders.join(", "),
        binding.hosts.join(", ")
    )
}

/// Returns the JSON text of a value. A refusal never quotes the value.
fn value(input: &str, is_text: bool) -> Result<Secret> {
    if is_text {
        let text = input.trim_end_matches(['\r', '\n']);
        return Ok(Secret::new(Value::from(text).to_string()));
    }
    match serde_json::from_str::<Value>(input) {
        Ok(_) => Ok(Secret::new(input.trim())),
        Err(_) => Err(Error::invalid(
            "The value of the secret is not JSON; write a text in quotes, or add --text.",
        )),
    }
}
