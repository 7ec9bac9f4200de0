//! `ops subscription`: manages a project's system subscriptions, which its users cannot create.

use std::path::PathBuf;

use clap::Subcommand;
use events::subscribing::{CreateSubscription, Origin, Subscribing};
use platform::config::Secret;
use platform::http::json;
use platform::records::audit::AuditAction;
use platform::{Error, Result, ids};
use process::records::processes::Processes;
use serde_json::json;

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

pub async fn run(command: SubscriptionCommand, target: &Target, output: Output) -> Result<()> {
    match command {
        SubscriptionCommand::Create {
            file,
            protected,
            overrides,
        } => {
            let bytes = std::fs::read(&file)
                .map_err(|error| Error::invalid(format!("{} cannot be read: {error}.", file.display())))?;
            let mut body: CreateSubscription = json::parse(&bytes)?;
            if body.overrides_system_subscription_id.is_some() {
                return Err(Error::invalid_field(
                    "overrides_system_subscription_id",
                    "is not read from the file; pass --overrides.",
                ));
            }
            let now = target.clock.now();
            let origin = Origin {
                id: ids::new_id(now),
                created_at: now,
                created_by: SYSTEM.to_owned(),
                is_system: overrides.is_none(),
                protected,
            };
            body.overrides_system_subscription_id = overrides;
            let new = subscribing(target)?.create(&target.tenant, body, origin).await?;
            let id = &new.subscription.id;
            target
                .audit(AuditAction::Create, "event_subscription", id)
                .await?;
            let secret = new.secret.as_ref().map(Secret::expose);
            let mut lines = format!("The subscription {id} is made.");
            if let Some(secret) = secret {
                lines = format!("{lines}\nIt signs with this secret, which is not shown again:\n{secret}");
            }
            output.print(
                &json!({ "subscription_id": id, "signing_secret": secret }),
                &lines,
            )
        }
        SubscriptionCommand::Delete { subscription } => {
            target
                .subscriptions()?
                .remove(&target.tenant, &subscription, |_| Ok(()))
                .await?;
            target
                .audit(AuditAction::Delete, "event_subscription", &subscription)
                .await?;
            let lines = format!("The subscription {subscription} is deleted.");
            output.print(&json!({ "subscription_id": subscription }), &lines)
        }
    }
}

fn subscribing(target: &Target) -> Result<Subscribing> {
    Ok(Subscribing {
        subscriptions: target.subscriptions()?,
        processes: Processes::new(target.records.clone()),
        sealer: target.sealer()?,
        outbound: target.outbound()?,
        workflow_types: crate::run::registry(target)?.workflow_names().into(),
    })
}
