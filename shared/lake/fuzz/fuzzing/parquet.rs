//! Imports a fuzzer's Parquet files as a child process does.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use duckdb::Connection;
use platform::clock::UtcTime;
use platform::{Error, Result};
use serde_json::json;

use crate::child::context::Context;
use crate::child::fence;
use crate::child::limits::EngineLimits;
use crate::import::file_format::FileFormat;
use crate::import::staging::{StageInput, Target};
use crate::jobs::protocol::Job;
use crate::jobs::run::run_job;
use crate::schema::definition::Column;
use crate::schema::manifest::ManifestColumn;
use crate::tables::sql;

/// Time limit of an import; after it the import is interrupted.
const DEADLINE: Duration = Duration::from_secs(2);
/// Tables whose files the fuzzer changes, as SQL.
const TABLES: [&str; 4] = [
    "SELECT i AS id, 'name ' || i AS name FROM range(20) t(i)",
    "SELECT i AS id, {'a': i, 'b': [{'c': i}]} AS data, i / 100::DECIMAL(12, 2) AS amount FROM range(20) t(i)",
    "SELECT i AS id, TIMESTAMP '2026-01-01' + INTERVAL (i) HOUR AS at, NULL::VARCHAR AS name FROM range(20) t(i)",
    "SELECT i AS id, MAP {'k': [[i]]} AS data, (i % 3)::VARCHAR::ENUM('0', '1', '2') AS name FROM range(20) t(i)",
];

/// A child that imports files into one folder.
pub struct Importer {
    context: Context,
    folder: PathBuf,
    columns: Vec<ManifestColumn>,
    samples: Vec<Vec<u8>>,
}

impl Importer {
    /// Works in the folder `folder`, which is empty.
    pub fn open(folder: &Path) -> Result<Self> {
        let samples = TABLES.map(|table| sample(folder, table));
        let samples = samples.into_iter().collect::<Result<Vec<_>>>()?;
        let types = [
            ("id", "BIGINT"),
            ("name", "STRING"),
            ("amount", "DECIMAL(12,2)"),
            ("at", "TIMESTAMP"),
            ("data", "JSON"),
        ];
        let columns = (1..).zip(types).map(|(id, (name, column_type))| {
            let column = json!({ "name": name, "type": column_type, "nullable": true });
            let column: Column = serde_json::from_value(column).map_err(Error::internal)?;
            Ok(ManifestColumn::new(id, column, None))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let context = open_child(folder)?;
        Ok(Self {
            context,
            folder: folder.to_owned(),
            columns,
            samples,
        })
    }

    /// Returns a valid file.
    pub fn sample(&self, number: u8) -> &[u8] {
        let at = usize::from(number) % self.samples.len();
        self.samples.get(at).map_or(&[], Vec::as_slice)
    }

    /// Imports a file. The error is one that no file may cause.
    pub fn import(&mut self, file: &[u8]) -> std::result::Result<(), String> {
        let (input, output) = (
            self.folder.join("input.parquet"),
            self.folder.join("segment.parquet"),
        );
        fs::write(&input, file).map_err(|error| error.to_string())?;
        let target = Target {
            table: "t".to_owned(),
            columns: self.columns.clone(),
            segment_id: "segment".to_owned(),
            output: output.clone(),
            now: UtcTime::EPOCH,
            rounding: None,
        };
        let job = Job::Stage {
            format: FileFormat::Parquet,
            input: StageInput { input, target },
        };
        let result = self.context.within(DEADLINE, |context| run_job(context, job));
        let _ = fs::remove_file(output);
        match result {
            Err(error) if error.status() >= 500 => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                Err(format!("{error}: {cause:?}"))
            }
            _ => Ok(()),
        }
    }
}

fn open_child(folder: &Path) -> Result<Context> {
    let limits = EngineLimits {
        memory_limit_bytes: 256 * 1_024 * 1_024,
        temp_bytes: 64 * 1_024 * 1_024,
        threads: 1,
        ..EngineLimits::default()
    };
    let connection = fence::open(&limits, &folder.join("temp"))?;
    let nothing = File::options().write(true).open("/dev/null");
    Context::new(connection, nothing.map_err(Error::internal)?)
}

fn sample(folder: &Path, table: &str) -> Result<Vec<u8>> {
    let file = folder.join("sample.parquet");
    let connection = Connection::open_in_memory().map_err(Error::internal)?;
    let copy = format!("COPY ({table}) TO {} (FORMAT parquet)", sql::path(&file)?);
    connection.execute_batch(&copy).map_err(Error::internal)?;
    fs::read(&file).map_err(Error::internal)
}
