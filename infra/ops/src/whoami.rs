//! `ops whoami`: says what a token means to a deployment, for setting up an identity provider.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use identity::{Explanation, Identity};
use local::data_dir::DataDir;
use local::services::Services;
use platform::config::{Environment, Secret};
use platform::{Error, Result};
use serde_json::Value;

use crate::input;
use crate::output::Output;
use crate::target::{TargetArguments, refused};

#[derive(Args)]
pub struct WhoamiArguments {
    /// Access token or API key; `-` reads it from standard input, which keeps it out of the list of
    /// processes.
    #[arg(long)]
    token: Option<String>,
    /// File with the token.
    #[arg(long, conflicts_with = "token")]
    token_file: Option<PathBuf>,
    /// Project to choose among several, as X-Millrace-Project does: `<project>` or `<account>/<project>`.
    #[arg(long)]
    choose: Option<String>,
    /// Looks at the settings alone (MILLRACE_IDENTITY and so on), without records: no API key and no
    /// membership counts.
    #[arg(long)]
    settings_only: bool,
}

/// Ends with a failure where the token is refused, or where keys cannot be read.
pub async fn run(arguments: WhoamiArguments, target: &TargetArguments, output: Output) -> Result<ExitCode> {
    let folder = tempfile::tempdir().map_err(Error::internal)?;
    let identity = match arguments.settings_only {
        true => {
            let environment = Environment::read().map_err(refused)?;
            let data = DataDir::open(folder.path()).map_err(refused)?;
            let services = Services::from_environment(&data, &environment).map_err(refused)?;
            Identity::from_deployment(&services.deployment()).map_err(refused)?
        }
        false => target.open().await?.identity()?,
    };
    let token = match (&arguments.token, &arguments.token_file) {
        (Some(token), _) if token == "-" => Some(input::read("-".as_ref())?),
        (Some(token), _) => Some(token.clone()),
        (None, Some(file)) => Some(input::read(file)?),
        (None, None) => None,
    };
    match token {
        Some(token) => {
            let token = Secret::new(token.trim());
            let explanation = identity.explain(&token, arguments.choose.as_deref()).await;
            output.print(&explanation, &lines(&explanation))?;
            Ok(match explanation.refusal {
                Some(_) => ExitCode::FAILURE,
                None => ExitCode::SUCCESS,
            })
        }
        None => keys(&identity, output).await,
    }
}

/// Prints where the keys of each provider are.
async fn keys(identity: &Identity, output: Output) -> Result<ExitCode> {
    let (mut lines, mut is_failed) = (Vec::new(), false);
    for keys in identity.check_keys().await {
        match keys {
            Ok(line) => lines.push(line),
            Err(error) => {
                is_failed = true;
                lines.push(error.to_string());
            }
        }
    }
    output.print(&lines, &lines.join("\n"))?;
    Ok(match is_failed {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

fn lines(explanation: &Explanation) -> String {
    let mut lines = Vec::new();
    if let Some(claims) = &explanation.claims {
        let claims = serde_json::to_string_pretty(&Value::Object(claims.clone()));
        lines.push(claims.unwrap_or_default());
        lines.push(String::new());
    }
    lines.extend(explanation.findings.iter().cloned());
    lines.push(String::new());
    match &explanation.refusal {
        Some(refusal) => lines.push(format!("Refused: {refusal}")),
        None => {
            let project = match (&explanation.account_id, &explanation.project_id) {
                (Some(account), Some(project)) => format!("in {account}/{project}"),
                (account, _) => format!("in the whole account {}", account.as_deref().unwrap_or_default()),
            };
            let permissions: Vec<_> = explanation.permissions.iter().map(|name| name.as_str()).collect();
            lines.push(format!(
                "Accepted: {} {project}",
                explanation.principal.as_deref().unwrap_or_default()
            ));
            lines.push(match permissions.as_slice() {
                [] => "It may do nothing: no role and no permission of the token is one of this service."
                    .to_owned(),
                permissions => format!("It may: {}", permissions.join(", ")),
            });
        }
    }
    lines.join("\n")
}
