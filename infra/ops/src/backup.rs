//! `ops backup`: writes a data directory to one file.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use local::backup;
use platform::{Clock, Error, Result};
use serde_json::json;

use crate::output::Output;
use crate::target::TargetArguments;

/// Beginning and end of the names of backups in a folder; the time between them sorts.
const PREFIX: &str = "millrace-";
const SUFFIX: &str = ".tar.zst";

/// File of the backup.
#[derive(Args)]
pub struct BackupArguments {
    /// The file to make, such as millrace.tar.zst: a tar archive, compressed by zstd. In a folder it gets the
    /// name `millrace-<time>.tar.zst`.
    place: PathBuf,
    /// With a folder: how many backups stay in it; the oldest others are removed.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    keep: Option<u32>,
}

pub async fn run(arguments: BackupArguments, target: &TargetArguments, output: Output) -> Result<()> {
    let data = target.embedded_data()?;
    let clock = Clock::System;
    let is_folder = arguments.place.is_dir();
    if arguments.keep.is_some() && !is_folder {
        return Err(Error::invalid(format!(
            "--keep counts the backups of a folder, and {} is none. Name a folder that exists.",
            arguments.place.display()
        )));
    }
    let file = match is_folder {
        true => arguments.place.join(name(&clock)),
        false => arguments.place.clone(),
    };
    let (root, to) = (data.root().to_owned(), file.clone());
    let taking = tokio::task::spawn_blocking(move || backup::take(&data, &to, &clock));
    let contents = taking.await.map_err(Error::internal)??;
    let removed = match arguments.keep {
        Some(keep) => remove_oldest(&arguments.place, keep as usize)?,
        None => Vec::new(),
    };
    let removal = match removed.len() {
        0 => String::new(),
        count => format!(" Removed {count} older ones."),
    };
    output.print(
        &json!({ "file": file, "objects": contents.objects, "bytes": contents.bytes, "removed": removed }),
        &format!(
            "{} holds the records, the keys and {} objects of {}, {} bytes before compression. Keep it private: its keys open \
             every sealed secret.{removal}",
            file.display(),
            contents.objects,
            root.display(),
            contents.bytes
        ),
    )
}

/// Returns a name with the time to the second, such as `millrace-20261128T031500Z.tar.zst`.
fn name(clock: &Clock) -> String {
    let time = clock.now().to_string().replace(['-', ':'], "");
    let seconds = time.split('.').next().unwrap_or_default().trim_end_matches('Z');
    format!("{PREFIX}{seconds}Z{SUFFIX}")
}

/// Removes all but the newest backups of a folder. Returns the removed files.
fn remove_oldest(folder: &Path, keep: usize) -> Result<Vec<PathBuf>> {
    let unusable = |error: std::io::Error| {
        Error::unprocessable(format!(
            "The backup is complete, but older ones in {} cannot be removed: {error}.",
            folder.display()
        ))
    };
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(unusable)? {
        let name = entry.map_err(unusable)?.file_name();
        names.extend(name.into_string().ok().filter(|name| is_backup(name)));
    }
    names.sort_unstable();
    let surplus = names.len().saturating_sub(keep);
    let oldest: Vec<_> = names
        .into_iter()
        .take(surplus)
        .map(|name| folder.join(name))
        .collect();
    for file in &oldest {
        fs::remove_file(file).map_err(unusable)?;
    }
    Ok(oldest)
}

/// True if the name is one that [`name`] returns: other files of the folder stay.
fn is_backup(name: &str) -> bool {
    let time = name
        .strip_prefix(PREFIX)
        .and_then(|name| name.strip_suffix(SUFFIX));
    time.is_some_and(|time| {
        time.len() == "20261128T031500Z".len()
            && time.bytes().enumerate().all(|(place, byte)| match place {
                8 => byte == b'T',
                15 => byte == b'Z',
                _ => byte.is_ascii_digit(),
            })
    })
}

#[cfg(test)]
mod tests {
    use platform::UtcTime;

    use super::*;

    #[test]
    fn oldest_backups_go_and_other_files_stay() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::manual(UtcTime::from_millis(1_795_835_700_250).unwrap());
        let mut backups = Vec::new();
        for _ in 0..4 {
            backups.push(name(&clock));
            clock.advance_ms(86_400_000);
        }
        assert!(backups.iter().all(|name| is_backup(name)), "{backups:?}");
        let others = [
            "millrace.tar.zst",
            "millrace-20261128T031500Z.tar.zst.old",
            "millrace-last-of-november.tar.zst",
        ];
        for file in backups.iter().map(String::as_str).chain(others) {
            fs::write(folder.path().join(file), "").unwrap();
        }
        let removed = remove_oldest(folder.path(), 2).unwrap();
        assert_eq!(
            removed,
            [folder.path().join(&backups[0]), folder.path().join(&backups[1])]
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5);
        assert_eq!(remove_oldest(folder.path(), 2).unwrap(), Vec::<PathBuf>::new());
    }
}
