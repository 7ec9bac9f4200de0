//! Keeps data stores as versions in S3 and DynamoDB, and offers the operations on them.
//!
//! Every change follows one path: load the head and its manifest, make the next manifest, write it under a
//! new version id, and move the head on the condition that no other writer moved it. Data files and manifests
//! are written before the head names them and never change afterwards. So a reader of a version sees it
//! whole, and a crash leaves the old head with, at worst, files that no version names.

mod alter_table;
mod archive;
mod batch;
mod budget;
mod cache;
mod change_schema;
mod changes;
mod commit;
mod compaction;
mod create;
mod create_tables;
mod describe;
mod download;
mod drop_table;
pub(crate) mod file_cache;
mod files;
mod garbage;
mod hints;
mod import;
mod import_inputs;
mod import_jobs;
mod keys;
mod native;
mod query;
mod steps;
mod update_schema;
mod upload;
mod versions;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cache::ManifestCache;
use files::SegmentFiles;
use native::Copies;
use platform::config::{ConfigError, Environment, variables};
use platform::deployment::Deployment;
use platform::objects::Objects;
use platform::queue::Queue;
use platform::{Clock, Result};

use crate::child::limits::EngineLimits;
use crate::engine::{Engine, EngineConfig};
use crate::records::stores::Stores;
use crate::sources::Sources;

pub use commit::{Author, Loaded};
pub use create::NewStore;
pub use download::{DownloadFormat, LINK_LIFETIME};
pub use garbage::{Collected, Retention};
pub use hints::{Hint, ImportHint, StoreHint};
pub use import::{Import, ImportSource, ImportTable};
pub use keys::{manifest_key, segment_key};
pub use query::{Answered, Query};
pub use steps::Step;
pub use upload::{MAX_UPLOAD_BYTES, Upload};
pub use versions::Snapshot;

const MIB: u64 = 1_024 * 1_024;
/// Most bytes of all files of an import whose request waits.
pub const MAX_INPUT_BYTES: u64 = 512 * MIB;
/// Most bytes of all files of an import in the background.
pub const MAX_BACKGROUND_INPUT_BYTES: u64 = 4_096 * MIB;

/// Services that imports need besides the store itself.
#[derive(Clone, Default)]
pub struct ImportServices {
    /// Fetches remote files; None if remote files are not supported.
    pub sources: Option<Sources>,
    /// Queue for hints at background imports and compactions; None if there are none.
    pub queue: Option<Arc<dyn Queue>>,
}

/// Folder and limits of the data stores.
#[derive(Clone, Debug)]
pub struct StoreConfig {
    /// The program whose `main` begins with [`crate::run_if_child`]; None for this program. Tests name
    /// another one.
    pub program: Option<PathBuf>,
    /// Folder for cached data files and for temporary files.
    pub directory: PathBuf,
    /// Most bytes of cached data files.
    pub cache_bytes: u64,
    /// Largest table, by the bytes of its segments, that gets a native copy; 0 for none, as in Lambda.
    pub max_copied_bytes: u64,
    /// Small segments of a table at which it is compacted.
    pub compact_at_segments: u64,
    /// Most memory that DuckDB uses for one query, in bytes.
    pub query_memory_bytes: u64,
    /// Most concurrent queries.
    pub max_children: usize,
    /// Time limit of one step of an import: the reading of a table's rows, or the check of its keys.
    pub import_deadline: Duration,
    /// Time that a request waits for its import. Then the import continues in the background.
    pub import_patience: Duration,
    /// Most bytes of all files of one import.
    pub max_input_bytes: u64,
    /// The step at which the process aborts; for tests.
    pub crash_at: Option<Step>,
}

impl StoreConfig {
    /// Reads `MILLRACE_CACHE_DIR`, `MILLRACE_CACHE_MB`, `MILLRACE_COMPACT_AT_SEGMENTS`,
    /// `MILLRACE_COPIED_TABLE_MB`, `MILLRACE_IMPORT_WAIT_SECONDS` and `MILLRACE_QUERY_MEMORY_MB`, for a
    /// function that handles one request at a time.
    pub fn from_environment(environment: &Environment) -> Result<Self, ConfigError> {
        Ok(Self {
            program: None,
            directory: environment.cache_folder().join("millrace"),
            cache_bytes: environment.number(variables::CACHE_MB)? * MIB,
            max_copied_bytes: environment.number(variables::COPIED_TABLE_MB)? * MIB,
            compact_at_segments: environment.number(variables::COMPACT_AT_SEGMENTS)?,
            query_memory_bytes: environment.number(variables::QUERY_MEMORY_MB)? * MIB,
            max_children: 1,
            // Both steps and the commit must end before API Gateway's limit of 29 s.
            import_deadline: Duration::from_secs(12),
            import_patience: Duration::from_secs(environment.number(variables::IMPORT_WAIT_SECONDS)?),
            max_input_bytes: MAX_INPUT_BYTES,
            crash_at: None,
        })
    }

    /// Adapts the limits to background imports, in a function that has 15 minutes.
    #[must_use]
    pub fn in_background(self) -> Self {
        Self {
            import_deadline: EngineLimits::default().import_deadline,
            max_input_bytes: MAX_BACKGROUND_INPUT_BYTES,
            ..self
        }
    }
}

/// The data stores of every tenant. Cheap to clone.
#[derive(Clone)]
pub struct DataStores {
    inner: Arc<Inner>,
}

struct Inner {
    clock: Clock,
    records: Stores,
    objects: Objects,
    engine: Engine,
    manifests: ManifestCache,
    files: SegmentFiles,
    copies: Arc<Copies>,
    imports: ImportServices,
    compact_at_segments: u64,
    import_patience: Duration,
    max_input_bytes: u64,
    crash_at: Option<Step>,
}

impl DataStores {
    /// `queue` receives the imports that run in the background; None for the process that runs them.
    pub fn from_deployment(
        deployment: &Deployment,
        queue: Option<Arc<dyn Queue>>,
        config: &StoreConfig,
    ) -> Result<Self, ConfigError> {
        let records = Stores::new(deployment.table(variables::RECORDS_TABLE)?);
        let objects = deployment.bucket(variables::DATA_BUCKET)?;
        let imports = ImportServices {
            sources: Some(Sources::from_deployment(deployment)?),
            queue,
        };
        Self::new(deployment.clock(), records, objects, imports, config)
    }

    /// Opens the data stores over records and objects. Creates the needed folders, and empties those of
    /// temporary files and of children.
    pub fn new(
        clock: Clock,
        records: Stores,
        objects: Objects,
        imports: ImportServices,
        config: &StoreConfig,
    ) -> Result<Self, ConfigError> {
        let unusable = |error: &dyn std::fmt::Display| {
            ConfigError::new(format!(
                "The cache folder {} cannot be used: {error}. Set MILLRACE_CACHE_DIR to one that can be written.",
                config.directory.display()
            ))
        };
        // A child has its own working directory, so a relative path would not work there.
        let directory = std::path::absolute(&config.directory).map_err(|error| unusable(&error))?;
        let staging = directory.join("staging");
        let _ = std::fs::remove_dir_all(&staging);
        // Leftovers of the children of a killed process.
        let _ = std::fs::remove_dir_all(directory.join("children"));
        for folder in ["staging", "segments", "children"] {
            std::fs::create_dir_all(directory.join(folder)).map_err(|error| unusable(&error))?;
        }
        let mut engine = EngineConfig::new(directory.join("children"))
            .map_err(|error| ConfigError::new(error.to_string()))?;
        if let Some(program) = &config.program {
            engine.program.clone_from(program);
        }
        engine.library_path = platform::config::library_path();
        engine.max_children = config.max_children;
        engine.limits = EngineLimits {
            import_deadline: config.import_deadline,
            ..EngineLimits::for_queries(config.query_memory_bytes)
        };
        let engine = Engine::new(engine);
        let files = SegmentFiles::open(objects.clone(), &directory, config.cache_bytes)
            .map_err(|error| unusable(&error))?;
        let inner = Inner {
            clock,
            records,
            objects,
            copies: Arc::new(Copies::new(
                files.clone(),
                engine.clone(),
                config.max_copied_bytes,
            )),
            engine,
            manifests: ManifestCache::default(),
            files,
            imports,
            compact_at_segments: config.compact_at_segments,
            import_patience: config.import_patience,
            max_input_bytes: config.max_input_bytes,
            crash_at: config.crash_at,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Starts a child before the first query.
    pub fn warm(&self) -> Result<()> {
        self.inner.engine.warm()
    }

    pub fn records(&self) -> &Stores {
        &self.inner.records
    }

    /// Ends the process like a kill if a test configured this step: no destructor runs, nothing is flushed.
    fn reached(&self, step: Step) {
        if self.inner.crash_at == Some(step) {
            std::process::abort();
        }
    }
}
