//! `ops artifact`: files that an import with the source `artifact` reads.

use std::path::PathBuf;

use clap::Subcommand;
use platform::objects::artifact_key;
use platform::records::audit::AuditAction;
use platform::{Error, Result};

use crate::output::Output;
use crate::target::Target;

/// What to do with artifacts.
#[derive(Subcommand)]
pub enum ArtifactCommand {
    /// Puts a file where imports of the project find it.
    Put {
        /// The file.
        file: PathBuf,
        /// Its path for imports, such as out/sales.csv.
        path: String,
    },
}

/// Does it.
pub async fn run(command: ArtifactCommand, target: &Target, output: Output) -> Result<()> {
    let ArtifactCommand::Put { file, path } = command;
    if !file.is_file() {
        return Err(Error::invalid(format!("{} is not a file.", file.display())));
    }
    target
        .objects
        .put_file(&artifact_key(&target.tenant, &path)?, &file)
        .await?;
    target.audit(AuditAction::Create, "artifact", &path).await?;
    output.print(
        &serde_json::json!({ "path": path }),
        &format!(
            "Imports of the account and project {} find it as {{\"source\":\"artifact\",\"uri\":\"{path}\"}}.",
            target.tenant
        ),
    )
}
