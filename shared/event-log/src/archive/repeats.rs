//! Leaves out records that were sent again after they expired in DynamoDB.
//!
//! While a record is in DynamoDB, the table refuses a second one with its id. A record that is repeated after
//! the expiry is in a file written at least that long ago, and in a file of the same day if the sender
//! repeats the event unchanged.

use std::collections::HashSet;

use lake::{sql_path, sql_paths};
use platform::records::logs::LogFile;
use platform::{Error, Result};
use serde_json::Value;

use super::merging::first_written_at;
use super::records::{Pending, write_rows};
use super::{Pass, discard};
use crate::columns;

impl Pass<'_> {
    /// Returns the records whose ids are in no file of the day.
    pub(super) async fn without_repeats(&self, day: &str, pending: Vec<Pending>) -> Result<Vec<Pending>> {
        let files = self.old_files(day).await?;
        if files.is_empty() {
            return Ok(pending);
        }
        let known = self.known_ids(&files, &pending).await?;
        Ok(pending
            .into_iter()
            .filter(|record| !known.contains(&record.id))
            .collect())
    }

    /// Returns the files of a day whose records may have expired.
    async fn old_files(&self, day: &str) -> Result<Vec<LogFile>> {
        let now = self.now();
        let mut files = self.archiver.logs.files(self.log, day, day).await?;
        files.retain(|file| file.replaced_by.is_none() && self.until(first_written_at(file)) <= now);
        Ok(files)
    }

    async fn known_ids(&self, files: &[LogFile], pending: &[Pending]) -> Result<HashSet<String>> {
        let mut paths = Vec::new();
        for file in files {
            paths.push(self.fetch(&file.day, &file.id).await?);
        }
        let ids = self.path("ids.ndjson");
        let rows = pending
            .iter()
            .map(|record| serde_json::json!({ "id": record.id }).to_string());
        let rows: Vec<_> = rows.collect();
        write_rows(&ids, rows.iter().map(String::as_str))?;
        let sql = format!(
            "SELECT DISTINCT {id} FROM read_parquet({files}) WHERE {id} IN \
             (SELECT id FROM read_json({ids}, format = 'newline_delimited', columns = {{id: 'VARCHAR'}}))",
            id = columns::id(self.log.kind),
            files = sql_paths(paths.iter().map(std::path::PathBuf::as_path))?,
            ids = sql_path(&ids)?,
        );
        let rows = self.session().await?.rows(&sql, &[]).await?;
        paths.iter().for_each(|path| discard(path));
        let known = rows.into_iter().map(|row| match row.into_iter().next() {
            Some(Value::String(id)) => Ok(id),
            _ => Err(Error::internal("a file of a log has a record without an id")),
        });
        known.collect()
    }
}
