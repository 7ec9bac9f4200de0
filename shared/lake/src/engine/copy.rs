//! Writes native copies of tables.

use std::path::Path;
use std::time::Duration;

use platform::Result;

use crate::engine::{Engine, Scope};
use crate::jobs::export::{ExportInput, ExportedTable, Form, Storage};
use crate::jobs::protocol::Job;
use crate::schema::manifest::TableVersion;
use crate::tables::native;

/// Time limit for writing a native copy.
const DEADLINE: Duration = Duration::from_secs(300);

impl Engine {
    /// Writes the native copy of a table to a file of an existing folder that holds nothing else. It runs
    /// beside the other children, with half of their memory, because no caller waits for it.
    pub async fn write_copy(&self, scope: Scope<'_>, table: &TableVersion, output: &Path) -> Result<()> {
        let job = Job::Export(ExportInput {
            tables: vec![ExportedTable {
                table: native::copied(scope.bound(table)),
                description: None,
            }],
            form: Form::Database(Storage::Latest),
            output: output.to_owned(),
        });
        let mut process = self.pool.start_aside()?;
        let deadline = self.limits.import_deadline.max(DEADLINE);
        process.run(job, deadline, || ()).await?.map(drop)
    }
}
