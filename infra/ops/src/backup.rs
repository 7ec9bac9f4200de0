//! `ops backup`: writes a data directory to one file.

use std::path::PathBuf;

use clap::Args;
use local::backup;
use platform::{Clock, Error, Result};
use serde_json::json;

use crate::output::Output;
use crate::target::TargetArguments;

/// File of the backup.
#[derive(Args)]
pub struct BackupArguments {
    /// The file to make, such as millrace.tar.zst: a tar archive, compressed by zstd.
    file: PathBuf,
}

pub async fn run(arguments: BackupArguments, target: &TargetArguments, output: Output) -> Result<()> {
    let data = target.embedded_data()?;
    let (root, file) = (data.root().to_owned(), arguments.file.clone());
    let taking = tokio::task::spawn_blocking(move || backup::take(&data, &arguments.file, &Clock::System));
    let contents = taking.await.map_err(Error::internal)??;
    output.print(
        &json!({ "file": file, "objects": contents.objects, "bytes": contents.bytes }),
        &format!(
            "{} holds the records, the keys and {} objects of {}, {} bytes before compression. Keep it private: its keys open \
             every sealed secret.",
            file.display(),
            contents.objects,
            root.display(),
            contents.bytes
        ),
    )
}
