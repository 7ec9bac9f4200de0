//! Runs the jobs of a child process, one module per job, in a loop.

pub(crate) mod bind;
pub(crate) mod check_keys;
pub(crate) mod check_rows;
pub(crate) mod describe;
pub(crate) mod export;
pub(crate) mod folder;
pub(crate) mod protocol;
pub(crate) mod query;
pub(crate) mod reach;
pub(crate) mod rewrite;
pub(crate) mod run;
pub(crate) mod stage_csv;
pub(crate) mod stage_json;
pub(crate) mod stage_parquet;
pub(crate) mod variants;
