//! `ops subscription`: manages a project's system subscriptions, which its users cannot create.

use std::path::PathBuf;

use clap::Subcommand;
use events::filter::Filter;
use events::records::subscriptions::Subscriptions;
use events::signature::new_signing_secret;
use events::subscription::{
    Priority, RunAsRole, Scope, SigningSecrets, StoredSubscription, Target as SubscriptionTarget,
};
use platform::config::{AwsEnvironment, Environment};
use platform::http::text::{check_description, check_name};
use platform::http::{json, strict};
use platform::outbound::Outbound;
use platform::records::audit::AuditAction;
use platform::sealing::Place;
use platform::{Error, Result, ids};
use process::records::processes::Processes;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::output::Output;
use crate::target::Target;

/// Author of a system subscription.
const SYSTEM: &str = "system";

/// What to do with subscriptions.
#[derive(Subcommand)]
pub enum SubscriptionCommand {
    /// Gives the project a system subscription, from a file with the body of POST /events/subscriptions.
    Create {
        /// File with the subscription.
        #[arg(long)]
        file: PathBuf,
        /// Prevents all changes and deletions by the project's users.
        #[arg(long)]
        protected: bool,
        /// Creates a project subscription that overrides this system subscription, instead of a system
        /// subscription.
        #[arg(long, value_name = "ID")]
        overrides: Option<String>,
    },
    /// Removes a subscription, even a protected one.
    Delete {
        /// The subscription's id.
        subscription: String,
    },
}

#[derive(Deserialize)]
struct NewSubscription {
    name: String,
    description: Option<String>,
    enabled: Option<bool>,
    #[serde(default, deserialize_with = "strict::name")]
    priority: Priority,
    #[serde(deserialize_with = "strict::name")]
    run_as_role: RunAsRole,
    filter: strict::Json,
    #[serde(deserialize_with = "strict::json_object")]
    target: Map<String, Value>,
}

pub async fn run(command: SubscriptionCommand, target: &Target, output: Output) -> Result<()> {
    let subscriptions = Subscriptions::new(target.records.clone());
    match command {
        SubscriptionCommand::Create {
            file,
            protected,
            overrides,
        } => {
            let bytes = std::fs::read(&file)
                .map_err(|error| Error::invalid(format!("{} cannot be read: {error}.", file.display())))?;
            let body: NewSubscription = json::parse(&bytes)?;
            let now = target.clock.now();
            let mut subscription = StoredSubscription {
                id: ids::new_id(now),
                name: body.name,
                description: body.description,
                scope: Scope::Project,
                enabled: body.enabled.unwrap_or(true),
                disabled: None,
                priority: body.priority,
                run_as_role: body.run_as_role,
                filter: Filter::parse(body.filter.0)?,
                target: SubscriptionTarget::parse(body.target)?,
                definition_digest: None,
                signing: None,
                is_system: overrides.is_none(),
                protected,
                overrides_system_subscription_id: overrides.clone(),
                created_at: now,
                updated_at: now,
                created_by: SYSTEM.to_owned(),
                updated_by: SYSTEM.to_owned(),
            };
            check_name("name", &subscription.name)?;
            check_description("description", subscription.description.as_deref())?;
            subscription.check_combination()?;
            subscription.target.check(&outbound(target)?).await?;
            let types = crate::run::registry(target)?.workflow_names();
            subscription.target.check_endpoint(&types)?;
            let processes = Processes::new(target.records.clone());
            subscription.settle_process(&target.tenant, &processes).await?;
            if let Some(system) = &overrides {
                check_system(target, &subscriptions, system).await?;
            }
            let secret = sign(target, &mut subscription).await?;
            let record = subscription.record(1)?;
            subscriptions
                .insert(&target.tenant, &record, overrides.as_deref())
                .await?;
            target
                .audit(AuditAction::Create, "event_subscription", &record.id)
                .await?;
            let mut lines = format!("The subscription {} is made.", record.id);
            if let Some(secret) = &secret {
                lines = format!("{lines}\nIt signs with this secret, which is not shown again:\n{secret}");
            }
            output.print(
                &json!({ "subscription_id": record.id, "signing_secret": secret }),
                &lines,
            )
        }
        SubscriptionCommand::Delete { subscription } => {
            let record = subscriptions.get(&target.tenant, &subscription).await?;
            let replaces = StoredSubscription::from_record(&record)?.overrides_system_subscription_id;
            subscriptions
                .remove(&target.tenant, &subscription, replaces.as_deref())
                .await?;
            target
                .audit(AuditAction::Delete, "event_subscription", &subscription)
                .await?;
            let lines = format!("The subscription {subscription} is deleted.");
            output.print(&json!({ "subscription_id": subscription }), &lines)
        }
    }
}

async fn check_system(target: &Target, subscriptions: &Subscriptions, id: &str) -> Result<()> {
    let record = subscriptions.get(&target.tenant, id).await?;
    if StoredSubscription::from_record(&record)?.is_system {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "The subscription '{id}' is no system subscription."
    )))
}

/// Gives a new secret to a subscription that signs.
async fn sign(target: &Target, subscription: &mut StoredSubscription) -> Result<Option<String>> {
    let is_signed =
        matches!(&subscription.target, SubscriptionTarget::Webhook(webhook) if webhook.is_signed());
    if !is_signed {
        return Ok(None);
    }
    let secret = new_signing_secret();
    let name = StoredSubscription::secret_place(&subscription.id);
    let place = Place {
        tenant: &target.tenant,
        name: &name,
    };
    let sealed = target.sealer()?.seal(place, &secret).await?;
    subscription.signing = Some(SigningSecrets::new(sealed, &secret));
    Ok(Some(secret.expose().to_owned()))
}

/// Returns the client that decides which URLs are allowed; on a laptop, those of this machine are too.
fn outbound(target: &Target) -> Result<Outbound> {
    let refused = |error: platform::config::ConfigError| Error::invalid(error.to_string());
    if target.is_local() {
        return Outbound::local(&AwsEnvironment::read()).map_err(refused);
    }
    let environment = Environment::read().map_err(refused)?;
    Outbound::from_environment(&environment, &AwsEnvironment::read()).map_err(refused)
}
