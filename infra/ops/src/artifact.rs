//! `ops artifact`: manages the files that an import with the source `artifact` reads.

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
    /// Stores a file for imports of the project.
    Put {
        /// The file.
        file: PathBuf,
        /// Its path for imports, such as out/sales.csv.
        path: String,
    },
}

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
