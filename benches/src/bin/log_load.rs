//! Fills the log of a project with generated records, for the benchmarks: files and index items as an
//! archiver writes them, one file per day. It can work on the data directory of a running runner. Prints one
//! JSON object.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Parser, ValueEnum};
use event_log::logs::{LogFile, Logs};
use event_log::{LogStore, LogStoreConfig, columns, merge};
use local::data_dir::DataDir;
use local::services::{AUDIT_TABLE, DATA_BUCKET, EVENTS_TABLE, Services};
use platform::records::logs::{KnownLogs, LogHead, LogId, LogKind};
use platform::{Clock, UtcTime, ids};
use serde_json::json;

type Error = Box<dyn std::error::Error + Send + Sync>;

const DAY_MS: u64 = 24 * 3_600_000;
const ALLOWED: Duration = Duration::from_secs(600);

/// Fills the log of a project of the account `acme`.
#[derive(Parser)]
struct Arguments {
    /// Data directory of the runner.
    #[arg(long)]
    data_dir: PathBuf,
    /// Project.
    #[arg(long)]
    project: String,
    /// Kind of the records.
    #[arg(long)]
    kind: Kind,
    /// Approximate number of records.
    #[arg(long)]
    records: u64,
    /// Days before today over which the records are spread.
    #[arg(long, default_value_t = 30)]
    days: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    Events,
    Audit,
}

fn main() -> Result<(), Error> {
    lake::run_if_child();
    fill()
}

#[tokio::main]
async fn fill() -> Result<(), Error> {
    let arguments = Arguments::parse();
    let data = DataDir::open(&arguments.data_dir)?;
    let services = Services::open(&data)?;
    let folder = tempfile::tempdir()?;
    let table = |name| services.table(name);
    let (kind, of) = match arguments.kind {
        Kind::Events => (LogKind::Events, table(EVENTS_TABLE)),
        Kind::Audit => (LogKind::Audit, table(AUDIT_TABLE)),
    };
    let now = Clock::System.now();
    let loader = Loader {
        log: LogId::new("acme", Some(&arguments.project), kind),
        store: LogStore::new(
            Logs::new(table(EVENTS_TABLE), table(AUDIT_TABLE)),
            services.bucket(DATA_BUCKET),
            &LogStoreConfig {
                program: None,
                directory: folder.path().to_owned(),
                cache_bytes: 1 << 30,
                query_memory_bytes: 1 << 30,
                max_children: 1,
            },
        )?,
    };
    KnownLogs::default().ensure(&of, &loader.log, now).await?;
    let mut files = Vec::new();
    for day in 1..=arguments.days {
        let rows = arguments.records / arguments.days;
        let begins = UtcTime::from_millis(now.as_millis() - i64::try_from(day * DAY_MS)?);
        let begins = begins.ok_or("the time is out of range")?;
        files.push(loader.write(begins, day * rows, rows, now).await?);
    }
    loader.commit(&files).await?;
    let sum = |figure: fn(&LogFile) -> u64| files.iter().map(figure).sum::<u64>();
    let report = json!({ "records": sum(|file| file.records), "bytes": sum(|file| file.bytes) });
    writeln!(std::io::stdout(), "{report}")?;
    Ok(())
}

struct Loader {
    log: LogId,
    store: LogStore,
}

impl Loader {
    async fn write(&self, day: UtcTime, from: u64, rows: u64, now: UtcTime) -> Result<LogFile, Error> {
        let day = day.day();
        let folder = self.store.temporary_folder(&self.log.account)?;
        let (part, whole) = (folder.path().join("part"), folder.path().join("whole"));
        let mut session = self.store.session(&self.log.account, ALLOWED).await?;
        let generated = self.generated(&day, from, rows, &part)?;
        session.execute(&generated).await?;
        let file = merge(&mut session, self.log.kind, &[part], &whole).await?;
        let id = ids::new_id(now);
        let key = self.log.file_key(&day, &id);
        self.store.objects().put_file(&key, &whole).await?;
        Ok(file.into_file(id, &day, now, 0))
    }

    /// Returns the SQL that writes a file with rows of a day.
    fn generated(&self, day: &str, from: u64, rows: u64, path: &Path) -> Result<String, Error> {
        let project = self.log.project.as_deref().unwrap_or_default();
        let gap_us = DAY_MS * 1_000 / rows.max(1);
        let base = format!(
            "SELECT n, hash(n) AS h, md5('{project}' || n) AS id, \
             (TIMESTAMP '{day} 00:00:00' + to_microseconds((n - {from}) * {gap_us} // 1000 * 1000))::TIMESTAMPTZ AS t \
             FROM range({from}, {}) AS rows(n)",
            from + rows
        );
        let values = match self.log.kind {
            LogKind::Events => events(project),
            LogKind::Audit => audit(project),
        };
        let list = columns::list(self.log.kind);
        let names: Vec<_> = columns::all(self.log.kind)
            .iter()
            .map(|column| column.name)
            .collect();
        let selected: Vec<_> = names
            .iter()
            .map(|name| {
                let value = values.iter().find(|(column, _)| column == name);
                format!(
                    "{} AS \"{name}\"",
                    value.map_or("NULL", |(_, value)| value.as_str())
                )
            })
            .collect();
        Ok(format!(
            "COPY (SELECT {list} FROM (SELECT {} FROM ({base}))) TO {} (FORMAT parquet)",
            selected.join(", "),
            lake::sql_path(path)?
        ))
    }

    /// Adds the files to the log's index.
    async fn commit(&self, files: &[LogFile]) -> Result<(), Error> {
        let logs = self.store.logs();
        for files in files.chunks(50) {
            loop {
                let head = logs.head(&self.log).await?.ok_or("the log has no head")?;
                let files: Vec<_> = files
                    .iter()
                    .map(|file| LogFile {
                        digest: head.next_digest,
                        ..file.clone()
                    })
                    .collect();
                let next = LogHead {
                    waiting_files: head.waiting_files + files.len() as u64,
                    ..head.clone()
                };
                if logs.commit(&self.log, &head, &files, &[], next).await? {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Returns the columns of generated events, as SQL: documents with all ten meters.
fn events(project: &str) -> Vec<(&'static str, String)> {
    let text = |text: &str| format!("'{text}'");
    let details = "'{\"schema_version\":1,\"pipeline\":\"p' || h % 7 || '\",\"page_count\":' || h % 20 || ',\"property_count\":' || h % 50 || \
                   ',\"verdict\":\"' || CASE h % 10 WHEN 0 THEN 'needs_review' ELSE 'ok' END || '\",\"workflow_run_id\":\"' || id || '\"}'";
    let mut values = vec![
        ("event_id", "id".to_owned()),
        ("timestamp", "t".to_owned()),
        ("received_at", "t".to_owned()),
        ("account_id", text("acme")),
        ("project_id", text(project)),
        ("tenant_id", "NULL::VARCHAR".to_owned()),
        ("event_category", text("content")),
        ("action", text("document_processed")),
        ("resource_type", text("content_object")),
        ("resource_id", "'document-' || h % 100000".to_owned()),
        ("source", text("documents")),
        ("resource_data", text(r#"{"metadata":{"type":"invoice"}}"#)),
        ("details", details.to_owned()),
    ];
    let mut meters = Vec::new();
    for meter in columns::FLAT_METERS {
        let quantity = match meter.column {
            "processing_documents" => "1::DOUBLE",
            "processing_pages" => "(h % 20)::DOUBLE",
            _ => "(h % 5)::DOUBLE",
        };
        meters.push(format!(
            "{{'category': '{}', 'type': '{}', 'quantity': {quantity}}}",
            meter.category, meter.kind
        ));
        values.push((meter.column, quantity.to_owned()));
    }
    values.push(("meters", format!("[{}]", meters.join(", "))));
    values
}

/// Returns the columns of generated audit records, as SQL.
fn audit(project: &str) -> Vec<(&'static str, String)> {
    let text = |text: &str| format!("'{text}'");
    vec![
        ("id", "id".to_owned()),
        ("event_type", text("audit")),
        (
            "action",
            "['create', 'update', 'delete'][(1 + h % 3)::INTEGER]".to_owned(),
        ),
        (
            "resource_type",
            "['prompt', 'data_store', 'dashboard'][(1 + h % 3)::INTEGER]".to_owned(),
        ),
        ("resource_id", "'resource-' || h % 1000".to_owned()),
        ("timestamp", "t".to_owned()),
        ("request_id", "md5(id)".to_owned()),
        ("status", "200::SMALLINT".to_owned()),
        ("success", "true".to_owned()),
        ("principal_id", "NULL::VARCHAR".to_owned()),
        ("principal_type", text("user")),
        ("principal_user_id", "'user-' || h % 50".to_owned()),
        ("roles", "['developer']".to_owned()),
        ("account_id", text("acme")),
        ("project_id", text(project)),
        ("tenant_id", "NULL::VARCHAR".to_owned()),
        ("account_name", text("acme")),
        ("project_name", text(project)),
    ]
}
