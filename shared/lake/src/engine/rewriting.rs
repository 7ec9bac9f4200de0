//! Runs the jobs of alterations: rewrites files and checks rows against new rules.

use std::path::{Path, PathBuf};

use platform::clock::UtcTime;
use platform::{Error, Result};

use crate::engine::Engine;
use crate::import::key::Key;
use crate::jobs::protocol::Job;
use crate::jobs::{check_rows, rewrite};
use crate::schema::alter::{Altered, KeyCheck, ValueSource};
use crate::schema::manifest::{ManifestColumn, Segment, TableVersion};

impl Engine {
    /// Rewrites files of `before` as files of the altered table, each `<new_id>.parquet` in `directory`.
    /// Fails with 422 if a value does not convert.
    pub(crate) async fn rewrite(
        &self,
        account: &str,
        before: &TableVersion,
        altered: &Altered,
        files: Vec<rewrite::File>,
        directory: &Path,
        now: UtcTime,
    ) -> Result<Vec<Segment>> {
        let sources = altered.rewrite.iter().flatten();
        let sources = sources.map(|source| match source {
            ValueSource::Kept(field_id) | ValueSource::Converted(field_id) => {
                column(before, *field_id).map(rewrite::Source::Column)
            }
            ValueSource::Default => Ok(rewrite::Source::Default),
        });
        let columns = altered.table.columns.iter().map(|column| ManifestColumn {
            nullable: true,
            primary_key: false,
            ..column.clone()
        });
        let input = rewrite::RewriteInput {
            table: altered.table.name.clone(),
            columns: columns.collect(),
            sources: sources.collect::<Result<_>>()?,
            files,
            directory: directory.to_owned(),
            now,
        };
        let segments = self.run_alone(account, Job::Rewrite(input)).await?;
        serde_json::from_value(segments).map_err(Error::internal)
    }

    /// Checks the rows of the altered table against its new rules; `files` are all of its files. Fails with
    /// 409 if a row breaks a rule.
    pub(crate) async fn check_rows(
        &self,
        account: &str,
        altered: &Altered,
        files: Vec<PathBuf>,
    ) -> Result<()> {
        let table = &altered.table;
        let required = altered.required.iter().map(|field_id| column(table, *field_id));
        let key = |key: &KeyCheck| {
            let columns = key.field_ids.iter().map(|field_id| column(table, *field_id));
            Ok(Key {
                is_primary: key.is_primary,
                columns: columns.collect::<Result<_>>()?,
            })
        };
        let input = check_rows::RowCheckInput {
            table: table.name.clone(),
            required: required.collect::<Result<_>>()?,
            keys: altered.keys.iter().map(key).collect::<Result<_>>()?,
            files,
        };
        self.run_alone(account, Job::CheckRows(input)).await.map(drop)
    }
}

fn column(table: &TableVersion, field_id: u32) -> Result<ManifestColumn> {
    let mut columns = table.columns.iter();
    columns
        .find(|column| column.field_id == field_id)
        .cloned()
        .ok_or_else(|| Error::internal(format!("the table '{}' has no field {field_id}", table.name)))
}
