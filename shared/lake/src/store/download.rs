//! Exports a version as one file: a DuckDB database, or Parquet in a zip archive.
//!
//! The first request builds the file and stores it under a key derived from the version, so that later
//! requests reuse it. Two builds at the same time do no harm, because both produce the same content.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use platform::{Error, Result, Tenant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::{DataStores, Loaded, keys};
use crate::schema::manifest::TableVersion;

/// Validity of a download link.
pub const LINK_LIFETIME: Duration = Duration::from_secs(900);

/// The form of a download.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DownloadFormat {
    /// A DuckDB database file, for DuckDB 1.0 and later.
    #[default]
    DuckDb,
    /// A zip archive with a file `<table>.parquet` for each table.
    Parquet,
}

impl DownloadFormat {
    /// Returns the extension of the file's name.
    pub fn extension(self) -> &'static str {
        match self {
            Self::DuckDb => "duckdb",
            Self::Parquet => "zip",
        }
    }
}

impl DataStores {
    /// Returns a link to a loaded version as a file, valid for [`LINK_LIFETIME`]. Fails with 408 if building
    /// the file takes too long.
    pub async fn download(&self, tenant: &Tenant, loaded: &Loaded, format: DownloadFormat) -> Result<String> {
        let manifest = &loaded.manifest;
        let key = keys::download_key(
            tenant,
            &manifest.store_id,
            &manifest.version_id,
            format.extension(),
        );
        if !self.inner.objects.exists(&key).await? {
            // Covers fetching, building and storing: twice the time limit of one import step.
            let allowed = self.inner.engine.limits().import_deadline * 2;
            tokio::time::timeout(allowed, self.build(tenant, loaded, format, &key))
                .await
                .map_err(|_| {
                    Error::timeout(format!(
                        "The file of this version could not be built within {} seconds; read the version by queries.",
                        allowed.as_secs_f32()
                    ))
                })??;
        }
        let name = file_name(&loaded.record.name, format);
        self.inner.objects.link(&key, LINK_LIFETIME, &name).await
    }

    async fn build(&self, tenant: &Tenant, loaded: &Loaded, format: DownloadFormat, key: &str) -> Result<()> {
        let building = self.inner.files.cache.fetch_lock(key);
        let _one_at_a_time = building.lock().await;
        if self.inner.objects.exists(key).await? {
            return Ok(());
        }
        let tables = &loaded.manifest.tables;
        let store = &loaded.manifest.store_id;
        let _files = self.inner.files.of(tenant, store, tables).await?;
        let folder = tempfile::tempdir_in(&self.inner.files.staging).map_err(Error::internal)?;
        let contents = folder.path().join("contents");
        std::fs::create_dir(&contents).map_err(Error::internal)?;
        let scope = self.scope(loaded);
        let output = match format {
            DownloadFormat::DuckDb => {
                let output = contents.join("store.duckdb");
                self.inner.engine.export_database(scope, &output).await?;
                output
            }
            DownloadFormat::Parquet => {
                self.inner.engine.export_parquet(scope, &contents).await?;
                let output = folder.path().join("store.zip");
                let (archive, names) = (output.clone(), names(tables));
                tokio::task::spawn_blocking(move || pack(&contents, &names, &archive))
                    .await
                    .map_err(Error::internal)?
                    .map_err(Error::internal)?;
                output
            }
        };
        self.inner.objects.put_file(key, &output).await
    }
}

fn names(tables: &[TableVersion]) -> Vec<PathBuf> {
    let names = tables
        .iter()
        .map(|table| format!("{}.parquet", table.name).into());
    names.collect()
}

/// Packs files into an archive without compression, because Parquet is already compressed.
fn pack(folder: &Path, names: &[PathBuf], archive: &Path) -> io::Result<()> {
    let mut writer = ZipWriter::new(File::create(archive)?);
    for name in names {
        let mut file = File::open(folder.join(name))?;
        let is_large = file.metadata()?.len() >= u64::from(u32::MAX);
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(is_large);
        writer.start_file_from_path(name, options)?;
        io::copy(&mut file, &mut writer)?;
    }
    writer.finish()?.sync_all()
}

/// Returns the file name for a browser, with only letters and digits of the store's name, because some
/// programs cannot read other characters.
fn file_name(store: &str, format: DownloadFormat) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "._-".contains(c) {
            c
        } else {
            '_'
        }
    };
    let name: String = store.chars().map(plain).take(100).collect();
    format!("{name}.{}", format.extension())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_after_its_store() {
        assert_eq!(
            file_name("sales 2024/\"q1\"", DownloadFormat::DuckDb),
            "sales_2024__q1_.duckdb"
        );
        assert_eq!(file_name("Umsätze", DownloadFormat::Parquet), "Ums_tze.zip");
    }

    #[test]
    fn an_archive_holds_every_file() {
        let folder = tempfile::tempdir().unwrap();
        let names: Vec<PathBuf> = vec!["a.parquet".into(), "B.parquet".into()];
        for name in &names {
            std::fs::write(folder.path().join(name), name.to_str().unwrap()).unwrap();
        }
        let archive = folder.path().join("store.zip");
        pack(folder.path(), &names, &archive).unwrap();
        let mut read = zip::ZipArchive::new(File::open(&archive).unwrap()).unwrap();
        assert_eq!(read.file_names().collect::<Vec<_>>(), ["a.parquet", "B.parquet"]);
        let text = io::read_to_string(read.by_name("B.parquet").unwrap()).unwrap();
        assert_eq!(text, "B.parquet");
        pack(folder.path(), &[], &archive).unwrap();
        assert!(
            zip::ZipArchive::new(File::open(&archive).unwrap())
                .unwrap()
                .is_empty()
        );
    }
}
