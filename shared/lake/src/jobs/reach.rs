//! Says which folders a child reaches: its first job names them for all jobs after it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sandbox::fence::Folders;

use crate::jobs::export::Form;
use crate::jobs::protocol::Job;

/// Returns the folders of a job. Files of a version may be fetched after its job began, and a folder holds
/// for those too; their names cannot be guessed or listed.
pub(crate) fn folders(job: &Job) -> Folders {
    match job {
        Job::Bind { files, .. } => reading(files),
        Job::CheckRows(input) => reading(&input.files),
        Job::Rewrite(input) => Folders {
            write: vec![input.directory.clone()],
            ..reading(input.files.iter().flat_map(|file| &file.paths))
        },
        Job::Export(input) => Folders {
            write: match input.form {
                Form::Parquet => vec![input.output.clone()],
                Form::Database(_) => parent(&input.output).into_iter().collect(),
            },
            ..reading(input.tables.iter().flat_map(|table| &table.table.files))
        },
        Job::Stage { input, .. } => writing(&input.target.output),
        Job::CheckKeys(input) => writing(&input.new_file),
        Job::Folder(input) => Folders {
            write: vec![input.folder.clone()],
            ..Folders::default()
        },
        // These need a version, which `Bind` names first.
        Job::Ping
        | Job::Plan { .. }
        | Job::Query { .. }
        | Job::Validate { .. }
        | Job::Describe { .. }
        | Job::Sample { .. } => Folders::default(),
    }
}

fn reading<'a>(files: impl IntoIterator<Item = &'a PathBuf>) -> Folders {
    let parents: BTreeSet<PathBuf> = files.into_iter().filter_map(|file| parent(file)).collect();
    Folders {
        read: parents.into_iter().collect(),
        ..Folders::default()
    }
}

fn writing(file: &Path) -> Folders {
    Folders {
        write: parent(file).into_iter().collect(),
        ..Folders::default()
    }
}

fn parent(file: &Path) -> Option<PathBuf> {
    file.parent().map(Path::to_owned)
}
