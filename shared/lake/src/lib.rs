//! Stores data as immutable Parquet segments and queries it with DuckDB. This crate is the only one that
//! knows DuckDB.
//!
//! A version of a store is a [`Manifest`](manifest::Manifest): its tables, their columns by field id, and the
//! Parquet segments with their rows. The [`Engine`] runs DuckDB in child processes of the same program. A
//! statement can make DuckDB allocate more than its own limit or compute past an interruption, and only the
//! operating system stops that reliably.
//!
//! Folders, from the lowest to the highest; a folder imports only from lower ones (`tests/floors.rs`):
//!
//! | Folder | Holds |
//! |---|---|
//! | `records` | the records of stores, versions, imports and dashboards |
//! | `sources` | files outside of the service that an import names: by URL, in S3, in Google Cloud Storage |
//! | `schema` | schemas and versions as pure data: manifest, plan of a change, difference, invariants |
//! | `statement` | a caller's statement as text and parse tree: parameters, the check, DuckDB's messages |
//! | `tables` | SQL over the tables of a version: names, reads of segments, native copies, views |
//! | `child` | the inside of a child process: fence, limits, frames, the state that jobs share |
//! | `import` | conversion of input files to segments: formats, conversion, keys, faults |
//! | `query` | results: PIVOTs, values of parameters, the formats of an answer |
//! | `jobs` | the jobs of a child process, one per file, and its main loop |
//! | `engine` | the parent's side: starts, leases and ends child processes |
//! | `store` | operations on stores that the handlers call: commit, import, query, compaction, garbage collection |
//!
//! **Invariant:** a caller's statement reaches only the files of its own version. The fence is closed before
//! the statement is parsed, and the statement is checked before DuckDB binds it.

mod child;
mod engine;
#[cfg(fuzzing)]
#[path = "../fuzz/fuzzing/mod.rs"]
pub mod fuzzing;
mod import;
mod jobs;
mod query;
pub mod records;
pub mod schema;
pub mod sources;
mod statement;
pub mod store;
mod tables;

pub use child::limits::{self, EngineLimits};
pub use engine::{
    Engine, EngineConfig, FolderSession, ImportSession, QueryPlan, Scope, Session, Stage, Staged, sql_path,
    sql_paths, sql_text,
};
pub use import::faults::Fault;
pub use import::file_format::FileFormat;
pub use import::rounding::Rounding;
pub use jobs::describe::ResultColumn;
pub use jobs::run::run_if_child;
pub use query::answer::{Answer, Format};
pub use schema::{alteration, defaults, manifest, plan, types};
pub use statement::parameters;
pub use store::file_cache::{CachedObject, FileCache, Pin};
pub use tables::native::Tiers;
