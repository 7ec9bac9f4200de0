//! `ops store`: runs the upkeep of data stores, which a deployed stage and the local runner also do on their
//! own.

use std::time::Duration;

use clap::Subcommand;
use lake::records::stores::Stores;
use lake::store::{Collected, DataStores, ImportServices, Retention, Step, StoreConfig};
use platform::config::Environment;
use platform::records::audit::AuditAction;
use platform::{Error, Result, Tenant};
use serde_json::json;

use crate::output::Output;
use crate::target::Target;

/// What to do with data stores.
#[derive(Subcommand)]
pub enum StoreCommand {
    /// Merges the small files of a store into large ones, as a new version with the same rows.
    Compact {
        /// The store's id.
        store: String,
    },
    /// Removes objects of the project's stores that no version needs any longer.
    Collect {
        /// The store's id. Without it, all stores of the project.
        store: Option<String>,
        /// All stores of all accounts and projects.
        #[arg(long, conflicts_with = "store")]
        all_projects: bool,
        /// Also removes versions older than this many days that are neither snapshots nor current. Without
        /// it, all are kept.
        #[arg(long, value_name = "DAYS")]
        keep_versions_days: Option<u64>,
        /// Hours for which an object stays after it was first found to be unneeded. A value shorter than the
        /// longest import may remove objects that an import is about to name.
        #[arg(long, value_name = "HOURS", default_value_t = 24)]
        grace_hours: u64,
    },
}

pub async fn run(command: StoreCommand, target: &Target, output: Output) -> Result<()> {
    let folder = tempfile::tempdir().map_err(Error::internal)?;
    let stores = open(target, folder.path())?;
    match command {
        StoreCommand::Compact { store } => {
            let compacted = stores.compact(&target.tenant, &store).await?;
            let Some(compacted) = compacted else {
                return output.print(
                    &json!({ "version_id": null }),
                    "The store has no small files to merge.",
                );
            };
            let version = compacted.record.version_id;
            target.audit(AuditAction::Update, "data_store", &store).await?;
            let sentence = format!("Version {version} has the same rows in fewer files.");
            output.print(&json!({ "version_id": version }), &sentence)
        }
        StoreCommand::Collect {
            store,
            all_projects,
            keep_versions_days,
            grace_hours,
        } => {
            let retention = Retention {
                versions: keep_versions_days.map(|days| Duration::from_secs(days.saturating_mul(24 * 3_600))),
                grace: Duration::from_secs(grace_hours.saturating_mul(3_600)),
            };
            let chosen = match store {
                Some(store) => {
                    let records = Stores::new(target.records.clone());
                    let record = records.find_any(&target.tenant, &store).await?;
                    record.ok_or_else(|| Error::not_found("data store", &store))?;
                    vec![(target.tenant.clone(), store)]
                }
                None => {
                    let mut stores = stores.all_stores().await?;
                    stores.retain(|(tenant, _)| all_projects || *tenant == target.tenant);
                    stores
                }
            };
            collect(target, &stores, &chosen, retention, output).await
        }
    }
}

async fn collect(
    target: &Target,
    stores: &DataStores,
    chosen: &[(Tenant, String)],
    retention: Retention,
    output: Output,
) -> Result<()> {
    let mut sum = Collected::default();
    let mut lines = Vec::new();
    for (tenant, store) in chosen {
        let collected = stores.collect(tenant, store, retention).await?;
        if collected.removed_versions > 0 {
            let action = AuditAction::Update;
            target.audit_in(tenant, action, "data_store", store).await?;
            lines.push(format!(
                "{tenant} {store}  {} versions removed",
                collected.removed_versions
            ));
        }
        sum += collected;
    }
    lines.push(format!(
        "Of {} stores, removed {} objects with {} bytes, and {} versions; {} objects wait until their grace is over.",
        chosen.len(),
        sum.removed_objects, sum.removed_bytes, sum.removed_versions, sum.waiting_objects
    ));
    output.print(
        &serde_json::to_value(sum).map_err(Error::internal)?,
        &lines.join("\n"),
    )
}

fn open(target: &Target, folder: &std::path::Path) -> Result<DataStores> {
    let refused = |error: platform::config::ConfigError| Error::invalid(error.to_string());
    let environment = Environment::read().map_err(refused)?;
    let config = StoreConfig {
        directory: folder.to_owned(),
        max_copied_bytes: 0,
        compact_at_segments: 32,
        crash_at: Step::from_environment(&environment).map_err(refused)?,
        ..StoreConfig::from_environment(&environment).map_err(refused)?
    };
    let records = Stores::new(target.records.clone());
    let (clock, objects) = (target.clock.clone(), target.objects.clone());
    DataStores::new(clock, records, objects, ImportServices::default(), &config).map_err(refused)
}
