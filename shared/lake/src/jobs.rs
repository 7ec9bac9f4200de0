//! What the child does for its parent, one job a file.

pub(crate) mod bind;
pub(crate) mod check_keys;
pub(crate) mod check_rows;
pub(crate) mod describe;
pub(crate) mod export;
pub(crate) mod folder;
pub(crate) mod query;
pub(crate) mod rewrite;
pub(crate) mod stage_csv;
pub(crate) mod stage_json;
pub(crate) mod stage_parquet;
pub(crate) mod variants;
