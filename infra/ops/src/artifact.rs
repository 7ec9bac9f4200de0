//! `ops artifact`: manages the files that an import with the source `artifact` reads.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use platform::objects::{ListedObject, artifact_folder, artifact_key};
use platform::records::audit::AuditAction;
use platform::{Error, ErrorKind, Result};
use serde_json::json;

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
    /// Lists the files of the project, those that were uploaded through the API included.
    List {
        /// Only files whose paths begin with this, such as uploads/.
        #[arg(default_value = "")]
        beginning: String,
    },
    /// Removes a file. Rows that were imported from it stay.
    Remove {
        /// Its path, as `list` prints it.
        path: String,
    },
}

pub async fn run(command: ArtifactCommand, target: &Target, output: Output) -> Result<()> {
    match command {
        ArtifactCommand::Put { file, path } => put(&file, &path, target, output).await,
        ArtifactCommand::List { beginning } => list(&beginning, target, output).await,
        ArtifactCommand::Remove { path } => remove(&path, target, output).await,
    }
}

async fn list(beginning: &str, target: &Target, output: Output) -> Result<()> {
    let folder = artifact_folder(&target.tenant);
    let listed = target.objects.list(&format!("{folder}{beginning}")).await?;
    let path = |object: &ListedObject| object.key.strip_prefix(&folder).unwrap_or(&object.key).to_owned();
    let value: Vec<_> = listed
        .iter()
        .map(|object| json!({ "path": path(object), "bytes": object.bytes, "modified": object.modified }))
        .collect();
    let line = |object: &ListedObject| format!("{}  {:>12}  {}", object.modified, object.bytes, path(object));
    let mut lines: Vec<_> = listed.iter().map(line).collect();
    if lines.is_empty() {
        lines.push(format!("The project {} has no such artifacts.", target.tenant));
    }
    output.print(&value, &lines.join("\n"))
}

async fn remove(path: &str, target: &Target, output: Output) -> Result<()> {
    let key = artifact_key(&target.tenant, path)?;
    if !target.objects.exists(&key).await? {
        return Err(Error::new(
            ErrorKind::NotFound,
            format!("There is no artifact '{path}'; 'ops artifact list' prints those that are there."),
        ));
    }
    target.objects.remove(&key).await?;
    target.audit(AuditAction::Delete, "artifact", path).await?;
    output.print(
        &json!({ "path": path }),
        &format!("The artifact {path} is removed."),
    )
}

async fn put(file: &Path, path: &str, target: &Target, output: Output) -> Result<()> {
    if !file.is_file() {
        return Err(Error::invalid(format!("{} is not a file.", file.display())));
    }
    target
        .objects
        .put_file(&artifact_key(&target.tenant, path)?, file)
        .await?;
    target.audit(AuditAction::Create, "artifact", path).await?;
    output.print(
        &json!({ "path": path }),
        &format!(
            "Imports of the account and project {} find it as {{\"source\":\"artifact\",\"uri\":\"{path}\"}}.",
            target.tenant
        ),
    )
}
