//! `ops project`: changes settings of a project.

use clap::{Subcommand, ValueEnum};
use events::records::listing_shards::{ListingShards, ShardChange};
use platform::Result;
use platform::records::audit::AuditAction;
use process::records::processes::Processes;
use serde_json::json;

use crate::output::Output;
use crate::target::Target;

#[derive(Subcommand)]
pub enum ProjectCommand {
    /// Spreads listings over this many partitions, or shows how many there are.
    ///
    /// These are the listings of runs, deliveries and events. One partition of DynamoDB takes 1,000 write
    /// units a second. A change applies to records that are created two minutes later or after; existing
    /// records do not move. Every listing reads each of the partitions, so use no more than needed.
    Shards {
        /// From 1 to 64. Without it, nothing is changed.
        shards: Option<u16>,
    },
    /// Lets the definitions that callers write into subscriptions name secrets, or shows whether they may.
    ///
    /// Such a definition then counts as the process that its document names, so each caller with the
    /// permission workflow:admin can send a secret to the hosts that it is bound to, with any content. A
    /// change applies to the next call of a run.
    InlineSecrets {
        /// Without it, nothing is changed. Default of a project: refuse.
        choice: Option<InlineChoice>,
    },
}

/// Whether inline definitions may name secrets.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum InlineChoice {
    Allow,
    Refuse,
}

pub async fn run(command: ProjectCommand, target: &Target, output: Output) -> Result<()> {
    match command {
        ProjectCommand::Shards { shards } => change_shards(shards, target, output).await,
        ProjectCommand::InlineSecrets { choice } => change_inline_secrets(choice, target, output).await,
    }
}

async fn change_inline_secrets(choice: Option<InlineChoice>, target: &Target, output: Output) -> Result<()> {
    let processes = Processes::new(target.records.clone());
    let tenant = &target.tenant;
    if let Some(choice) = choice {
        let is_allowed = choice == InlineChoice::Allow;
        processes.allow_inline_secrets(tenant, is_allowed).await?;
        target
            .audit(AuditAction::Update, "project", tenant.project())
            .await?;
    }
    let is_allowed = processes.allows_inline_secrets(tenant).await?;
    let line = match is_allowed {
        true => "Inline definitions may name secrets.",
        false => "Inline definitions may name no secrets.",
    };
    output.print(&json!({ "inline_secrets": is_allowed }), line)
}

async fn change_shards(shards: Option<u16>, target: &Target, output: Output) -> Result<()> {
    let runs = ListingShards::new(target.runs.clone());
    let events = ListingShards::new(target.events.clone());
    if let Some(shards) = shards {
        let now = target.clock.now();
        // After an interruption between the two changes, repeat the command: it makes the second one.
        runs.change(&target.tenant, shards, now).await?;
        events.change(&target.tenant, shards, now).await?;
        let project = target.tenant.project();
        target.audit(AuditAction::Update, "project", project).await?;
    }
    let of_runs = runs.current(&target.tenant).await?;
    let of_events = events.current(&target.tenant).await?;
    let listings = [
        ("runs", of_runs.changes()),
        ("deliveries and events", of_events.changes()),
    ];
    let lines = listings.map(|(listing, changes)| line(listing, changes));
    let value = json!({ "runs": of_runs.changes(), "events": of_events.changes() });
    output.print(&value, &lines.join("\n"))
}

fn line(listing: &str, changes: &[ShardChange]) -> String {
    let since = changes.iter().map(|change| {
        let plural = if change.shards == 1 { "" } else { "s" };
        format!(", {} shard{plural} from {} on", change.shards, change.from)
    });
    format!("{listing}: 1 shard{}", since.collect::<String>())
}
