//! `ops event`: shows which subscriptions an event would match, and publishes events.

use std::path::PathBuf;

use clap::Subcommand;
use events::envelope::Envelope;
use events::matching::{EventToMatch, SubscriptionSet, Verdict};
use events::records::subscriptions::Subscriptions;
use platform::records::audit::AuditAction;
use platform::{Error, Result};
use serde_json::json;

use crate::output::Output;
use crate::target::Target;

/// What to do with events.
#[derive(Subcommand)]
pub enum EventCommand {
    /// Shows which subscriptions match an event, and why each of the others does not. Delivers nothing.
    Match {
        /// The file with the event's envelope, as JSON.
        #[arg(long)]
        file: PathBuf,
    },
    /// Publishes an event on the bus, as another service does.
    Publish {
        /// The file with the event's envelope, as JSON.
        #[arg(long)]
        file: PathBuf,
    },
}

pub async fn run(command: EventCommand, target: &Target, output: Output) -> Result<()> {
    match command {
        EventCommand::Match { file } => dry_run(&read(&file)?, target, output).await,
        EventCommand::Publish { file } => {
            let envelope = read(&file)?;
            target.bus.publish(&envelope.to_json()?).await?;
            let tenant = envelope.tenant()?;
            target
                .audit_in(&tenant, AuditAction::Create, "event", &envelope.event_id)
                .await?;
            let lines = format!("The event {} is on the bus.", envelope.event_id);
            output.print(&json!({ "event_id": envelope.event_id }), &lines)
        }
    }
}

async fn dry_run(envelope: &Envelope, target: &Target, output: Output) -> Result<()> {
    let tenant = envelope.tenant()?;
    let records = Subscriptions::new(target.records.clone()).list(&tenant).await?;
    let set = SubscriptionSet::compile(&records);
    let verdicts = set.explain(&EventToMatch {
        envelope,
        text: &envelope.to_json()?,
        lineage: &[],
        private_to: None,
    })?;
    let value: Vec<_> = verdicts
        .iter()
        .map(|verdict| {
            json!({
                "subscription_id": verdict.subscription.id,
                "name": verdict.subscription.name,
                "matches": verdict.why_not.is_none(),
                "why_not": verdict.why_not,
            })
        })
        .collect();
    let line = |verdict: &Verdict| {
        let subscription = &verdict.subscription;
        let what = match &verdict.why_not {
            None => "matches".to_owned(),
            Some(why) => format!("no: {why}"),
        };
        format!("{}  {:<24} {what}", subscription.id, subscription.name)
    };
    let mut lines: Vec<_> = verdicts.iter().map(line).collect();
    if lines.is_empty() {
        lines.push(format!("The project {tenant} has no subscriptions."));
    }
    output.print(&value, &lines.join("\n"))
}

fn read(file: &PathBuf) -> Result<Envelope> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Error::invalid(format!("{} cannot be read: {error}.", file.display())))?;
    Envelope::parse(&text).map_err(|refusal| {
        Error::invalid(format!(
            "{} holds no event. {}",
            file.display(),
            refusal.message()
        ))
    })
}
