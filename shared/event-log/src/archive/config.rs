//! How logs are archived.

use std::path::{Path, PathBuf};

use lake::{Engine, EngineConfig, EngineLimits};
use platform::config::{AwsEnvironment, ConfigError, Environment, Retention};

use super::Crash;
use crate::budget::fits;

const MIB: u64 = 1_024 * 1_024;
/// Disk of two passes at a time, of which one merges: the files of a merge and the merged one, and rows of
/// the other with the file that they become.
const WORK_BYTES: u64 = 1_024 * MIB;

/// How logs are archived.
#[derive(Clone, Debug)]
pub struct ArchiverConfig {
    /// The program whose `main` begins with [`lake::run_if_child`]: this one, unless another one is named,
    /// as by tests.
    pub program: Option<PathBuf>,
    /// For files in the making; made where it is missing.
    pub folder: PathBuf,
    /// Most memory that DuckDB uses for one file, in bytes.
    pub memory_bytes: u64,
    /// How long archived records stay in their tables.
    pub retention: Retention,
    /// For tests: where a pass is to die.
    pub crash: Crash,
}

impl ArchiverConfig {
    /// From `MILLRACE_CACHE_DIR` and `MILLRACE_QUERY_MEMORY_MB`, and what [`Retention`] reads.
    pub fn from_environment(environment: &Environment) -> Result<Self, ConfigError> {
        Ok(Self {
            program: None,
            folder: environment.cache_folder().join("millrace-archiver"),
            memory_bytes: environment.number("MILLRACE_QUERY_MEMORY_MB", 512)? * MIB,
            retention: Retention::from_environment(environment)?,
            crash: Crash::Never,
        })
    }

    /// Refuses a Lambda function without the memory and the temporary disk for it.
    pub fn fitting(self, environment: &Environment, machine: &AwsEnvironment) -> Result<Self, ConfigError> {
        let limits = EngineLimits::for_queries(self.memory_bytes);
        fits(environment, machine, &limits, WORK_BYTES)?;
        Ok(self)
    }

    /// Makes the folders and an engine with one child at work. Empties them of what a killed process left.
    pub(super) fn open(&self) -> Result<(Engine, PathBuf), ConfigError> {
        let unusable = |error: &dyn std::fmt::Display| {
            ConfigError::new(format!(
                "The folder {} of the archiver cannot be used: {error}. Set MILLRACE_CACHE_DIR to one that can be written.",
                self.folder.display()
            ))
        };
        // A child runs in a folder of its own, where a relative path leads nowhere.
        let folder = std::path::absolute(&self.folder).map_err(|error| unusable(&error))?;
        let (children, files) = (folder.join("children"), folder.join("files"));
        for folder in [&children, &files] {
            emptied(folder).map_err(|error| unusable(&error))?;
        }
        let mut engine = EngineConfig::new(children).map_err(|error| ConfigError::new(error.to_string()))?;
        if let Some(program) = &self.program {
            engine.program.clone_from(program);
        }
        engine.library_path = platform::config::library_path();
        engine.max_children = 1;
        engine.limits = EngineLimits::for_queries(self.memory_bytes);
        Ok((Engine::new(engine), files))
    }
}

fn emptied(folder: &Path) -> std::io::Result<()> {
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder)
}
