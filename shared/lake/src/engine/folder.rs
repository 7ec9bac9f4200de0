//! Runs the platform's own statements over the files of one folder, in a child that can reach nothing else.

use std::path::{Path, PathBuf};
use std::time::Duration;

use platform::{Error, Result};
use serde_json::Value;

use crate::engine::leased::Leased;
use crate::engine::pool::Pool;
use crate::jobs::folder::{FolderInput, Form};
use crate::jobs::protocol::{Job, JobOutput};

/// Most bytes of the rows of one statement, as JSON; below the limit of a frame.
const MAX_ROWS_BYTES: usize = 60 * 1_024 * 1_024;

/// A child whose fence admits one folder with everything below it. Its DuckDB reads and writes files there.
/// Statements have the function `json_text(document, pointer)`, which returns a value of a JSON document as
/// text: a text as it is, another value as its JSON with all its digits, and null for null, for no value, and
/// for a document that is no JSON.
///
/// **Invariant:** the text of a statement is the platform's own. Texts of callers are parameters, and paths
/// are quoted by [`sql_path`] and [`sql_paths`].
pub struct FolderSession<'a> {
    leased: Leased<'a>,
    folder: PathBuf,
}

impl<'a> FolderSession<'a> {
    pub(crate) async fn open(
        pool: &'a Pool,
        account: &'a str,
        folder: &Path,
        allowed: Duration,
    ) -> Result<Self> {
        // The fence compares paths as text, and a child has its own working directory.
        if !folder.is_absolute() {
            return Err(Error::internal("the folder of a session is not absolute"));
        }
        // No version of a store has this name.
        let scope = format!("folder {}", folder.display());
        let (leased, _) = Leased::take(pool, scope, account, allowed).await?;
        Ok(Self {
            leased,
            folder: folder.to_owned(),
        })
    }

    /// Runs one statement and returns its rows. `params` are the values of its `?`; an array or an object is
    /// bound as its JSON text, which SQL can convert back, as in `?::JSON::VARCHAR[]`.
    ///
    /// Times are ISO 8601 in UTC; integers beyond 2^53 are texts; NaN and infinities are null. Fails with 408
    /// after the session's time limit, with 422 if it needs too much memory or its rows exceed 60 MB.
    pub async fn rows(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Vec<Value>>> {
        let form = Form::Rows {
            params: params.to_vec(),
            bytes: MAX_ROWS_BYTES,
        };
        let body = self.run(sql, form).await?.body;
        serde_json::from_slice(&body).map_err(Error::internal)
    }

    /// Runs one statement for its effect, such as COPY, and returns the number of rows written.
    pub async fn execute(&mut self, sql: &str) -> Result<u64> {
        let rows = self.run(sql, Form::Effect).await?.value;
        rows.as_u64()
            .ok_or_else(|| Error::internal("a statement has no number of rows"))
    }

    async fn run(&mut self, sql: &str, form: Form) -> Result<JobOutput> {
        let input = FolderInput {
            folder: self.folder.clone(),
            sql: sql.to_owned(),
            form,
        };
        self.leased.run(Job::Folder(input)).await
    }
}

/// Quotes `path` as an SQL literal.
pub fn sql_path(path: &Path) -> Result<String> {
    crate::tables::sql::path(path)
}

/// Quotes `paths` as a list of SQL literals.
pub fn sql_paths<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<String> {
    crate::tables::sql::paths(paths)
}

/// Quotes `text` as an SQL literal.
pub fn sql_text(text: &str) -> String {
    crate::tables::sql::literal(text)
}
