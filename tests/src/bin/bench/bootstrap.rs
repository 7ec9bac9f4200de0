//! The Lambda functions' binaries: their size as they are deployed, and how long a cold start takes that is ours.
//!
//! Lambda starts the binary, which asks the runtime API for work as soon as it is ready. The time is from the start of
//! the process to that question, put to a runtime API that is played here. The library of DuckDB is not in the size; its
//! loading is in the time of the function that links it.

use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use tempfile::tempdir;

use crate::report::{Figure, Row};
use crate::statistics::{median, worst};
use crate::{Result, programs};

const PART: &str = "bootstrap";
const FUNCTIONS: [&str; 12] = [
    "prompts",
    "datastores",
    "importer",
    "audit",
    "audit-writer",
    "workflows",
    "stream",
    "worker",
    "sweeper",
    "subscriptions",
    "ingest",
    "matcher",
];
/// Starts of each function.
const STARTS: usize = 20;
/// How long a function may take to ask for work before the benchmark gives up.
const PATIENCE: Duration = Duration::from_secs(10);

/// What Lambda and `template.yaml` tell a function. Nothing is connected to before the first request.
const VARIABLES: [(&str, &str); 28] = [
    ("AWS_LAMBDA_FUNCTION_NAME", "bench"),
    ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "3008"),
    ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
    ("AWS_LAMBDA_LOG_GROUP_NAME", "bench"),
    ("AWS_LAMBDA_LOG_STREAM_NAME", "bench"),
    ("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand"),
    ("AWS_REGION", "eu-central-1"),
    ("AWS_ACCESS_KEY_ID", "bench"),
    ("AWS_SECRET_ACCESS_KEY", "bench"),
    ("AWS_SESSION_TOKEN", "bench"),
    ("MILLRACE_RECORDS_TABLE", "records"),
    ("MILLRACE_AUDIT_TABLE", "audit"),
    ("MILLRACE_DATA_BUCKET", "data"),
    ("MILLRACE_AUDIT_RETRY_QUEUE", "https://sqs.invalid/1/audit-retry"),
    ("MILLRACE_IMPORT_QUEUE", "https://sqs.invalid/1/import"),
    ("MILLRACE_RUNS_TABLE", "runs"),
    ("MILLRACE_TASK_QUEUE", "https://sqs.invalid/1/tasks"),
    (
        "MILLRACE_PAGE_TOKEN_KEY",
        "a key of this benchmark, of 32 bytes and more",
    ),
    ("MILLRACE_EVENT_BUS", "millrace"),
    ("MILLRACE_EVENT_QUEUE", "https://sqs.invalid/1/events"),
    ("MILLRACE_EVENT_DEAD_LETTER_QUEUE", "https://sqs.invalid/1/dead"),
    ("MILLRACE_EVENTS_TABLE", "events"),
    ("MILLRACE_SEALING_KEY", "key"),
    ("MILLRACE_TMP_MB", "10240"),
    ("MILLRACE_JWKS", "https://issuer.invalid/.well-known/jwks.json"),
    ("MILLRACE_TOKEN_ISSUER", "https://issuer.invalid"),
    ("MILLRACE_TOKEN_AUDIENCE", "millrace"),
    ("MILLRACE_CORS_ORIGINS", "*"),
];

/// Measures it.
pub fn measure() -> Result<Vec<Row>> {
    let folder = tempdir()?;
    let runtime = RuntimeApi::start()?;
    let mut times = FUNCTIONS.map(|name| (name, Vec::new()));
    for number in 0..=STARTS {
        for (name, times) in &mut times {
            let time = runtime.start_function(&programs::bootstrap(name)?, folder.path())?;
            // The first start reads the file from the disk.
            if number > 0 {
                times.push(time);
            }
        }
    }
    let mut rows = Vec::new();
    for (name, times) in &times {
        let bytes = std::fs::metadata(programs::bootstrap(name)?)?.len();
        let time = Row::new(
            PART,
            format!("{name}: start to first poll"),
            Figure::Milliseconds(median(times)),
        );
        rows.push(time.unlucky("worst", Figure::Milliseconds(worst(times))));
        rows.push(Row::new(
            PART,
            format!("{name}: size"),
            Figure::Megabytes(bytes as f64 / 1e6),
        ));
    }
    Ok(rows)
}

/// The part of Lambda's runtime API that a start needs. It never gives work.
struct RuntimeApi {
    address: SocketAddr,
    /// Every request's first line, and when it came.
    requests: Receiver<(Instant, String)>,
}

impl RuntimeApi {
    fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let (sender, requests) = mpsc::channel();
        std::thread::spawn(move || {
            // Kept open: a function waits for work until it is killed.
            let mut open = Vec::new();
            for connection in listener.incoming().flatten() {
                let mut reader = BufReader::new(connection);
                let mut line = String::new();
                if reader.read_line(&mut line).is_ok() && sender.send((Instant::now(), line)).is_err() {
                    return;
                }
                open.push(reader);
            }
        });
        Ok(Self { address, requests })
    }

    /// Starts a function and kills it when it asks for work: after how many milliseconds that was.
    fn start_function(&self, path: &Path, folder: &Path) -> Result<f64> {
        let mut command = programs::command(path);
        command
            .current_dir(folder)
            .envs(VARIABLES)
            .env("AWS_LAMBDA_RUNTIME_API", self.address.to_string())
            .env("MILLRACE_CACHE_DIR", folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let started = Instant::now();
        let _function = Killed(command.spawn()?);
        let name = path.display();
        let (asked, line) = self
            .requests
            .recv_timeout(PATIENCE)
            .map_err(|_| format!("{name} did not ask for work within {PATIENCE:?}"))?;
        if !line.starts_with("GET /2018-06-01/runtime/invocation/next ") {
            return Err(format!("{name} did not ask for work, but: {}", line.trim()).into());
        }
        Ok((asked - started).as_secs_f64() * 1e3)
    }
}

/// A process that is killed when it is dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
