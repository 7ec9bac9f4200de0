//! The runner's object store alone: what the files of an import take on their way in and out, whatever is done with
//! them in between.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::Result;

/// The objects of a runner, which are files.
pub struct Objects {
    bucket: PathBuf,
}

impl Objects {
    /// Those of the runner over `data_dir`.
    pub fn of(data_dir: &Path) -> Self {
        Self {
            bucket: data_dir.join("objects/millrace-data"),
        }
    }

    /// Milliseconds for an object into a file, and for a file into an object, as the service does both.
    pub fn get_and_put(&self, key: &str, to: &Path, from: &Path) -> Result<f64> {
        let started = Instant::now();
        fs::copy(self.bucket.join(key), to)?;
        let (draft, object) = (self.bucket.join("bench.draft"), self.bucket.join("bench.parquet"));
        fs::copy(from, &draft)?;
        File::open(&draft)?.sync_all()?;
        fs::rename(&draft, &object)?;
        File::open(&self.bucket)?.sync_all()?;
        let ms = started.elapsed().as_secs_f64() * 1e3;
        // A file that is written again waits for the disk; the service has a new one each time.
        fs::remove_file(to)?;
        fs::remove_file(&object)?;
        Ok(ms)
    }
}
