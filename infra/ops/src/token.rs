//! `ops token`: prints an access token for the local runner.

use clap::Args;
use identity::check_user;
use local::issuer::{Issuer, LIFETIME_SECONDS, Subject};
use platform::auth::{Permission, Role};
use platform::tenant::check_id;
use platform::{Clock, Error, Result};
use serde::Serialize;

use crate::output::Output;
use crate::target::TargetArguments;

/// Subject of the token, beyond `--account` and `--project`.
#[derive(Args)]
pub struct TokenArguments {
    /// User id.
    #[arg(long, default_value = "dev")]
    user_id: String,
    /// Tenant id that the token names.
    #[arg(long)]
    tenant_id: Option<String>,
    /// Roles, comma-joined: reader, executor, automation, developer, project_admin, account_admin.
    #[arg(long, value_delimiter = ',', default_value = "developer,project_admin")]
    roles: Vec<String>,
    /// Single permissions beyond those of the roles, comma-joined, such as workflow_superadmin, which no role
    /// has.
    #[arg(long, value_delimiter = ',')]
    permissions: Vec<String>,
    /// Makes a token for the whole account, without a project.
    #[arg(long)]
    whole_account: bool,
    /// Makes the data directory where there is none; only for programs that read its public keys.
    #[arg(long, hide = true)]
    make_keys: bool,
    /// Lifetime in seconds; a negative number makes an expired token.
    #[arg(long, default_value_t = LIFETIME_SECONDS, allow_negative_numbers = true)]
    lifetime: i64,
}

#[derive(Serialize)]
struct Printed {
    token: String,
}

pub fn run(arguments: &TokenArguments, target: &TargetArguments, output: Output) -> Result<()> {
    let subject = Subject {
        user_id: arguments.user_id.clone(),
        account: target.account.clone(),
        tenant_id: arguments.tenant_id.clone(),
        project: (!arguments.whole_account).then(|| target.project.clone()),
        roles: non_empty(&arguments.roles),
        permissions: non_empty(&arguments.permissions),
    };
    check_user(&subject.user_id)?;
    check_id("account", &subject.account)?;
    if let Some(tenant_id) = &subject.tenant_id {
        check_id("tenant", tenant_id)?;
    }
    check_id("project", &target.project)?;
    check_names("role", &subject.roles, |text| text.parse::<Role>().is_ok())?;
    check_names("permission", &subject.permissions, |text| {
        text.parse::<Permission>().is_ok()
    })?;
    let data = match arguments.make_keys {
        true => target.made_keys()?,
        false => target.keys()?,
    };
    let issuer = Issuer::open(&data).map_err(|error| Error::invalid(error.to_string()))?;
    let token = issuer.token(&subject, Clock::System.now(), arguments.lifetime)?;
    output.print(&Printed { token: token.clone() }, &token)
}

fn non_empty(list: &[String]) -> Vec<String> {
    list.iter().filter(|text| !text.is_empty()).cloned().collect()
}

/// Refuses unknown names, because a misspelt role would silently grant nothing.
fn check_names(what: &str, texts: &[String], is_known: impl Fn(&str) -> bool) -> Result<()> {
    match texts.iter().find(|text| !is_known(text)) {
        Some(unknown) => Err(Error::invalid(format!(
            "There is no {what} '{unknown}'; see ops token --help."
        ))),
        None => Ok(()),
    }
}
