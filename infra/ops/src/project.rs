//! `ops project`: changes settings of a project.

use clap::Subcommand;
use platform::Result;
use platform::records::audit::AuditAction;
use platform::records::listing_shards::{ListingShards, ShardChange};
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
}

pub async fn run(command: ProjectCommand, target: &Target, output: Output) -> Result<()> {
    let ProjectCommand::Shards { shards } = command;
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
