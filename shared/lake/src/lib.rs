//! Data stores: DuckDB over immutable Parquet segments. The only crate that knows DuckDB.
//!
//! A version of a store is a [`Manifest`](manifest::Manifest): tables, their columns by field id, and the
//! Parquet segments that hold their rows. The [`Engine`] runs what needs DuckDB (a caller's query, the
//! staging of an import, the check of keys) in child processes of the same program: a statement can make
//! DuckDB allocate past its own limit or compute past an interruption, and only the operating system ends
//! that reliably.
//!
//! **Invariant:** a caller's statement reaches only the files of its own version. The fence is closed before
//! the statement is parsed, and the statement is checked before DuckDB binds it.

mod alter;
pub mod alteration;
mod answer;
mod calendar;
mod cells;
mod checked;
mod child;
mod compression;
mod conversion;
pub mod defaults;
mod difference;
mod engine;
mod fault_search;
mod faults;
mod fence;
mod file_cache;
mod file_format;
mod folder;
#[cfg(fuzzing)]
pub mod fuzzing;
mod import_session;
mod invariants;
mod jobs;
mod json_rows;
mod key;
mod layout;
mod leased;
pub mod limits;
pub mod manifest;
mod meaning;
mod messages;
mod native;
mod overlap;
pub mod parameters;
mod pivot_queries;
mod pivots;
mod plain;
pub mod plan;
mod pool;
mod position;
mod preparation;
mod process;
mod protocol;
mod rewriting;
mod rounding;
mod scanner;
pub mod schema;
pub mod schema_update;
mod segment_file;
mod session;
mod shape;
mod source;
mod sql;
mod staging;
mod statement;
pub mod store;
mod succession;
mod tree;
mod type_change;
pub mod types;
mod volatile;

pub use answer::{Answer, Format};
pub use child::run_if_child;
pub use difference::schema_difference;
pub use engine::{Engine, EngineConfig, Scope};
pub use faults::Fault;
pub use file_cache::{CachedObject, FileCache, Pin};
pub use file_format::FileFormat;
pub use folder::{FolderSession, sql_path, sql_paths, sql_text};
pub use import_session::{ImportSession, Stage, Staged};
pub use jobs::describe::ResultColumn;
pub use limits::EngineLimits;
pub use position::Position;
pub use rounding::Rounding;
pub use session::{Plan, Session};
