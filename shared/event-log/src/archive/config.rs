//! Configures how logs are archived.

use std::path::{Path, PathBuf};

use events::retention::Retention;
use lake::{Engine, EngineConfig, EngineLimits};
use platform::config::{AwsEnvironment, ConfigError, Environment, variables};

use super::Crash;

const MIB: u64 = 1_024 * 1_024;
/// Disk space of two concurrent passes, one of which merges: the files of a merge and their result, and the
/// rows of the other pass with the file made of them.
const WORK_BYTES: u64 = 1_024 * MIB;

#[derive(Clone, Debug)]
pub struct ArchiverConfig {
    /// Program whose `main` begins with [`lake::run_if_child`]. Default: this program; tests name another
    /// one.
    pub program: Option<PathBuf>,
    /// Folder for unfinished files; created where it is missing.
    pub folder: PathBuf,
    /// Maximum memory of DuckDB for one file, in bytes.
    pub memory_bytes: u64,
    /// Time that archived records stay in their tables.
    pub retention: Retention,
    /// For tests: the step at which a pass crashes.
    pub crash: Crash,
}

impl ArchiverConfig {
    /// Reads `MILLRACE_CACHE_DIR`, `MILLRACE_QUERY_MEMORY_MB` and the variables of [`Retention`].
    pub fn from_environment(environment: &Environment) -> Result<Self, ConfigError> {
        Ok(Self {
            program: None,
            folder: environment.cache_folder().join("millrace-archiver"),
            memory_bytes: environment.number(variables::QUERY_MEMORY_MB)? * MIB,
            retention: Retention::from_environment(environment)?,
            crash: Crash::Never,
        })
    }

    /// Refuses to start in a Lambda function with too little memory or temporary disk.
    pub fn fitting(self, environment: &Environment, machine: &AwsEnvironment) -> Result<Self, ConfigError> {
        let limits = EngineLimits::for_queries(self.memory_bytes);
        limits.free_disk(WORK_BYTES, environment, machine)?;
        Ok(self)
    }

    /// Creates the folders and an engine with one child at a time. Removes the files of a killed process.
    pub(super) fn open(&self) -> Result<(Engine, PathBuf), ConfigError> {
        let unusable = |error: &dyn std::fmt::Display| {
            ConfigError::new(format!(
                "The folder {} of the archiver cannot be used: {error}. Set MILLRACE_CACHE_DIR to one that can be written.",
                self.folder.display()
            ))
        };
        // A child runs in its own folder, where relative paths are invalid.
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
