//! `ops restore`: makes a new data directory from a backup.

use std::path::PathBuf;

use clap::Args;
use local::backup;
use platform::{Error, Result};
use serde_json::json;

use crate::output::Output;
use crate::target::TargetArguments;

/// The backup to restore.
#[derive(Args)]
pub struct RestoreArguments {
    /// The backup. The folder that --data-dir names must be empty or missing.
    file: PathBuf,
}

pub async fn run(arguments: RestoreArguments, target: &TargetArguments, output: Output) -> Result<()> {
    let root = target.embedded()?.to_owned();
    let place = root.clone();
    let restoring = tokio::task::spawn_blocking(move || backup::restore(&arguments.file, &place));
    let contents = restoring.await.map_err(Error::internal)??;
    output.print(
        &json!({ "data_dir": root, "objects": contents.objects, "bytes": contents.bytes }),
        &format!(
            "The data directory {} has the records, the keys and {} objects of the backup, {} bytes. A runner over it goes on \
             where the backup was taken; `ops check` reads everything.",
            root.display(),
            contents.objects,
            contents.bytes
        ),
    )
}
