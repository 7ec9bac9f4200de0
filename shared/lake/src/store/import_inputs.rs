//! Checks and fetches the input files of imports.

use std::path::Path;

use platform::objects::artifact_key;
use platform::{Error, Result, Tenant};

use super::DataStores;
use super::import::{Import, ImportFile, ImportSource, ImportTable};
use crate::import::file_format::FileFormat;
use crate::sources::Sources;

impl DataStores {
    fn sources(&self) -> Result<&Sources> {
        let sources = self.inner.imports.sources.as_ref();
        sources.ok_or_else(|| Error::internal("this program reads no files elsewhere"))
    }

    /// Refuses a source that may not be read, as far as this is known before the fetch.
    pub(super) fn check_sources(&self, tenant: &Tenant, import: &Import) -> Result<()> {
        for table in &import.tables {
            match &table.source {
                ImportSource::Inline(_) => {}
                ImportSource::Artifact { path, .. } => artifact_key(tenant, path).map(drop)?,
                ImportSource::Remote { file, .. } => {
                    let checked = self.sources()?.check(tenant, file);
                    checked.map_err(|error| error.at(&uri(table)))?;
                }
            }
        }
        Ok(())
    }

    /// Fetches the files of the sources once into a folder. Together they have at most `max_input_bytes`.
    pub(super) async fn inputs(
        &self,
        tenant: &Tenant,
        import: &Import,
        folder: &Path,
    ) -> Result<Vec<ImportFile>> {
        let mut inputs = Vec::new();
        let mut bytes_left = self.inner.max_input_bytes;
        for (index, table) in import.tables.iter().enumerate() {
            let file = folder.join(format!("input-{index}"));
            let format = self.input(tenant, table, &file, bytes_left).await?;
            let read = tokio::fs::metadata(&file).await.map_err(Error::internal)?.len();
            bytes_left = bytes_left.saturating_sub(read);
            inputs.push(ImportFile { format, file });
        }
        Ok(inputs)
    }

    async fn input(
        &self,
        tenant: &Tenant,
        table: &ImportTable,
        path: &Path,
        max_bytes: u64,
    ) -> Result<FileFormat> {
        match &table.source {
            ImportSource::Inline(rows) => {
                tokio::fs::write(path, rows).await.map_err(Error::internal)?;
                Ok(FileFormat::Json)
            }
            ImportSource::Artifact {
                path: artifact,
                format,
            } => {
                let key = artifact_key(tenant, artifact)?;
                if !self.inner.objects.find_to_file(&key, path, max_bytes).await? {
                    return Err(Error::unprocessable(format!(
                        "There is no artifact '{artifact}' to import into the table '{}'.",
                        table.table
                    )));
                }
                Ok(*format)
            }
            ImportSource::Remote { file, format } => {
                let deadline = self.inner.engine.limits().import_deadline;
                let sources = self.sources()?;
                let result = sources.get_to_file(tenant, file, path, max_bytes, deadline).await;
                result.map_err(|error| error.at(&uri(table)))?;
                Ok(*format)
            }
        }
    }
}

/// Returns the request field that names a table's file.
fn uri(table: &ImportTable) -> String {
    format!("tables.{}.uri", table.table)
}
