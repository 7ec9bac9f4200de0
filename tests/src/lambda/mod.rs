//! Runs the programs of the Lambda functions as Lambda does, one invocation at a time.
//!
//! Their tables and bucket are in emulators, which they share with a local service that also provides their
//! queues. They can be frozen between invocations.

mod aws;
mod emulators;
pub mod invocations;
mod runtime_api;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

pub use aws::{Aws, Call};
pub use emulators::Emulators;

use crate::environment;
use runtime_api::{FunctionMessage, RuntimeApi};

/// Longest wait until a function waits for work, or answers.
const PATIENCE: Duration = Duration::from_secs(60);
/// `Timeout` of the functions behind the API, in `template.yaml`.
const TIMEOUT: Duration = Duration::from_secs(29);

/// Variables with the folder of DuckDB's library; an archive for Lambda has the library beside the program.
const LOADER: [&str; 2] = ["LD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"];

/// Variables that Lambda and `template.yaml` set for every function. The tables are those of the local
/// runner.
const VARIABLES: [(&str, &str); 29] = [
    ("AWS_LAMBDA_FUNCTION_NAME", "tests"),
    ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "3008"),
    ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
    ("AWS_LAMBDA_LOG_GROUP_NAME", "tests"),
    ("AWS_LAMBDA_LOG_STREAM_NAME", "tests"),
    ("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand"),
    ("AWS_REGION", "us-east-1"),
    ("MILLRACE_RECORDS_TABLE", "millrace-records"),
    ("MILLRACE_AUDIT_TABLE", "millrace-audit"),
    ("MILLRACE_RUNS_TABLE", "millrace-runs"),
    ("MILLRACE_EVENTS_TABLE", "millrace-events"),
    ("MILLRACE_DATA_BUCKET", "millrace-data"),
    ("MILLRACE_ARCHIVE_QUEUE", "http://127.0.0.1/archive"),
    ("MILLRACE_AUDIT_RETRY_QUEUE", "http://127.0.0.1/audit-retry"),
    ("MILLRACE_IMPORT_QUEUE", "http://127.0.0.1/imports"),
    ("MILLRACE_TASK_QUEUE", "http://127.0.0.1/tasks"),
    ("MILLRACE_EVENT_QUEUE", "http://127.0.0.1/events"),
    (
        "MILLRACE_EVENT_DEAD_LETTER_QUEUE",
        "http://127.0.0.1/dead-letters",
    ),
    ("MILLRACE_EVENT_BUS", "millrace"),
    ("MILLRACE_SEALING_KEY", "key"),
    ("MILLRACE_DIGEST_KEY", "key"),
    ("MILLRACE_SERVICE_KEY", "key"),
    ("MILLRACE_API_URL", "http://127.0.0.1/api/v1"),
    (
        "MILLRACE_PAGE_TOKEN_KEY",
        "a key of these tests, of 32 bytes and more",
    ),
    ("MILLRACE_TMP_MB", "10240"),
    ("MILLRACE_TOKEN_ISSUER", "millrace-local"),
    ("MILLRACE_TOKEN_AUDIENCE", "millrace"),
    ("MILLRACE_CORS_ORIGINS", "*"),
    ("MILLRACE_LOG", "warn"),
];

pub struct Function {
    process: Child,
    log: PathBuf,
    runtime: RuntimeApi,
    invocations: u32,
    /// Time from the start of the process until it waited for work.
    pub started_in: Duration,
}

#[derive(Debug)]
pub struct Answer {
    /// Of a request: the JSON with `statusCode` and `body`; of a batch: the failed messages.
    pub body: Value,
    /// Time at which the answer came.
    pub at: Instant,
    /// Time from the event to the answer.
    pub took: Duration,
}

impl Answer {
    pub fn status(&self) -> u64 {
        self.body["statusCode"].as_u64().unwrap_or_default()
    }

    /// Returns the JSON in a request's answer.
    pub fn json(&self) -> Value {
        let body = self.body["body"].as_str().unwrap_or_default();
        serde_json::from_str(body).unwrap_or_default()
    }
}

impl Function {
    /// Starts a program, and waits until it waits for work. `data_dir` belongs to the service; `folder`
    /// replaces `/tmp` and holds the log.
    pub async fn start(program: &Path, aws: &Aws, data_dir: &Path, folder: &Path) -> Self {
        Self::start_with(program, aws, (data_dir, folder), &[]).await
    }

    /// Starts a program with further variables.
    pub async fn start_with(
        program: &Path,
        aws: &Aws,
        (data_dir, folder): (&Path, &Path),
        variables: &[(&str, &str)],
    ) -> Self {
        let runtime = RuntimeApi::start().await;
        let name = program
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let log = folder.join(format!("{name}.log"));
        let output = File::options().create(true).append(true).open(&log);
        let output = output.expect("the log can be written");
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(
                LOADER
                    .into_iter()
                    .filter_map(|name| Some((name, environment::variable(name)?))),
            )
            .envs(VARIABLES)
            .envs(aws.variables())
            .env("AWS_LAMBDA_RUNTIME_API", runtime.address())
            .env("MILLRACE_CACHE_DIR", folder)
            .env("MILLRACE_JWKS", data_dir.join("keys/jwks.json"))
            .env("TMPDIR", folder)
            .envs(variables.iter().copied())
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("the log can be written twice"))
            .stderr(output);
        let started = Instant::now();
        let process = command.spawn().expect("the function starts");
        let mut function = Self {
            process,
            runtime,
            log,
            invocations: 0,
            started_in: Duration::ZERO,
        };
        function.started_in = function.waits().await - started;
        function
    }

    /// Sends an event, and waits until the function has answered and waits for the next one.
    pub async fn invoke(&mut self, event: Value) -> Answer {
        self.invocations += 1;
        let start = Instant::now();
        self.runtime
            .give(&format!("invocation-{}", self.invocations), event, TIMEOUT);
        let (at, body) = match self.runtime.next_message(PATIENCE).await {
            Some(FunctionMessage::Answers(at, body)) => (at, body),
            other => self.give_up("answer", other),
        };
        self.waits().await;
        Answer {
            body: read(&String::from_utf8_lossy(&body)),
            at,
            took: at - start,
        }
    }

    async fn waits(&mut self) -> Instant {
        match self.runtime.next_message(PATIENCE).await {
            Some(FunctionMessage::Waits(at)) => at,
            other => self.give_up("wait for work", other),
        }
    }

    fn give_up(&self, step: &str, message: Option<FunctionMessage>) -> ! {
        let outcome = match message {
            Some(FunctionMessage::Fails(error)) => format!("fails: {error}"),
            Some(other) => format!("says {other:?}"),
            None => "says nothing".to_owned(),
        };
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        panic!("The function does not {step}, but {outcome}. Its log: {log}");
    }

    /// Freezes the process, as Lambda does while a function waits for work.
    pub fn freeze(&self) {
        self.signal("-STOP");
    }

    pub fn thaw(&self) {
        self.signal("-CONT");
    }

    /// Returns the ids of the process and of all its descendants.
    pub fn processes(&self) -> Vec<u32> {
        let mut ids = vec![self.process.id()];
        let mut next = 0;
        while let Some(id) = ids.get(next) {
            let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
            let children = children.unwrap_or_default();
            ids.extend(
                children
                    .split_whitespace()
                    .filter_map(|id| id.parse::<u32>().ok()),
            );
            next += 1;
        }
        ids
    }

    fn signal(&self, signal: &str) {
        let id = self.process.id().to_string();
        let status = Command::new("kill").args([signal, &id]).status();
        assert!(status.is_ok_and(|status| status.success()), "kill {signal} {id}");
    }
}

/// Parses an answer. In a streamed answer, eight zero bytes separate status and headers from the body.
fn read(answer: &str) -> Value {
    let (head, streamed) = match answer.split_once("\0\0\0\0\0\0\0\0") {
        Some((head, body)) => (head, Some(body)),
        None => (answer, None),
    };
    let mut answer: Value = serde_json::from_str(head).expect("a function answers with JSON");
    if let Some(body) = streamed {
        answer["body"] = body.into();
    }
    answer
}

impl Drop for Function {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
