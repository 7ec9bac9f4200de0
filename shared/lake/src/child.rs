//! The child process, seen from inside: the same program, started with a private argument.
//!
//! It has no credentials in its environment, a limited address space, and no thread that does anything but
//! wait besides the one that works. It ends when its standard input does, also in the middle of a job, so
//! that a parent that was killed leaves nothing behind.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, abort, exit};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use duckdb::{Connection, InterruptHandle};
use platform::{Error, Result};
use rlimit::Resource;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::Bounds;
use crate::checked::Checked;
use crate::fence;
use crate::file_format::FileFormat;
use crate::jobs::{self, query::Planned};
use crate::limits::EngineLimits;
use crate::protocol::{Failure, Job, Reply, Request, Tier, read_frame, write_frame};

/// The private argument.
pub(crate) const ARGUMENT: &str = "millrace-lake-child";

/// Stack of the working thread: the parse tree of the deepest expression that DuckDB takes, and DuckDB's
/// binder on it.
pub(crate) const STACK_BYTES: usize = 64 * 1024 * 1024;
/// How often a job past its deadline is interrupted again: an interruption between two statements is lost.
const INTERRUPT_EVERY: Duration = Duration::from_millis(50);

/// What a child is started with, as its second argument.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Settings {
    pub(crate) limits: EngineLimits,
    /// The child's own empty directory.
    pub(crate) temp: PathBuf,
}

/// Becomes the child process if this process was started as one, and then never returns.
///
/// Call it first in `main` of every program that uses [`crate::Engine`] with its own executable.
pub fn run_if_child() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|argument| argument == ARGUMENT) {
        let code = run(arguments.next());
        exit(if code == ExitCode::SUCCESS { 0 } else { 1 });
    }
}

fn run(settings: Option<OsString>) -> ExitCode {
    let settings: Option<Settings> = settings
        .and_then(|text| text.into_string().ok())
        .and_then(|text| serde_json::from_str(&text).ok());
    let Some(settings) = settings else {
        return ExitCode::FAILURE;
    };
    if limit(&settings.limits).is_err() {
        return ExitCode::FAILURE;
    }
    let (sender, jobs) = mpsc::channel();
    let unfinished = Arc::new(AtomicUsize::new(0));
    let reader = Reader {
        temp: settings.temp.clone(),
        unfinished: Arc::clone(&unfinished),
    };
    let worker = thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || work(&settings, &jobs, &unfinished));
    let Ok(worker) = worker else {
        return ExitCode::FAILURE;
    };
    if thread::Builder::new().spawn(move || reader.run(&sender)).is_err() {
        return ExitCode::FAILURE;
    }
    match worker.join() {
        Ok(Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn limit(limits: &EngineLimits) -> io::Result<()> {
    Resource::CORE.set(0, 0)?;
    Resource::AS.set(limits.address_space_bytes, limits.address_space_bytes)?;
    let file_bytes = limits.max_file_bytes.max(limits.temp_bytes);
    Resource::FSIZE.set(file_bytes, file_bytes)
}

/// The thread that reads requests, so that the end of the input is seen also during a job.
struct Reader {
    temp: PathBuf,
    /// Jobs that were read and not answered: counted before they are handed over, so that none is missed.
    unfinished: Arc<AtomicUsize>,
}

impl Reader {
    fn run(&self, sender: &mpsc::Sender<Request>) {
        let mut input = io::stdin().lock();
        while let Ok((request, _)) = read_frame(&mut input) {
            self.unfinished.fetch_add(1, Ordering::SeqCst);
            if sender.send(request).is_err() {
                break;
            }
        }
        // The parent removes the directory too, unless it was killed.
        let _ = std::fs::remove_dir_all(&self.temp);
        if self.unfinished.load(Ordering::SeqCst) > 0 {
            // Not `exit`: its handlers would take DuckDB apart under the running job.
            abort();
        }
    }
}

fn work(settings: &Settings, jobs: &mpsc::Receiver<Request>, unfinished: &AtomicUsize) -> Result<()> {
    let connection = fence::open(&settings.limits, &settings.temp)?;
    // Not the standard library's own, which looks for the ends of lines in all that it is given.
    let output = io::stdout().as_fd().try_clone_to_owned();
    let output = File::from(output.map_err(Error::internal)?);
    let mut context = Context::new(connection, output)?;
    while let Ok(request) = jobs.recv() {
        let done = context.run_within(Duration::from_millis(request.deadline_ms), request.job);
        let written = match done {
            Ok((value, body)) => write_frame(&mut context.output, &Reply::Done(value), &body),
            Err(error) => write_frame(&mut context.output, &Reply::Failed(Failure::from(error)), &[]),
        };
        unfinished.fetch_sub(1, Ordering::SeqCst);
        written.map_err(Error::internal)?;
    }
    Ok(())
}

/// What jobs work with.
pub(crate) struct Context {
    pub(crate) connection: Connection,
    /// The names of the version's tables; None before the fence is closed.
    pub(crate) tables: Option<Vec<String>>,
    /// Those of them that have their view.
    pub(crate) defined: HashMap<String, Defined>,
    /// How many databases were attached.
    pub(crate) attachments: u32,
    /// The statements that passed the check over these tables.
    pub(crate) checked: Checked,
    /// The statement that is to be run next.
    pub(crate) planned: Option<Planned>,
    /// Where replies go.
    pub(crate) output: File,
    /// The folder that this child is for: that of an import, or of the platform's own statements.
    folder: Option<PathBuf>,
    deadline: Deadline,
}

/// How a table was made known.
pub(crate) struct Defined {
    pub(crate) tier: Tier,
    /// The database that holds its copy.
    pub(crate) attached: Option<String>,
}

impl Context {
    pub(crate) fn new(connection: Connection, output: File) -> Result<Self> {
        let deadline = Deadline::watch(connection.interrupt_handle())?;
        Ok(Self {
            connection,
            tables: None,
            defined: HashMap::new(),
            attachments: 0,
            checked: Checked::default(),
            planned: None,
            output,
            folder: None,
            deadline,
        })
    }

    /// Runs one job, and interrupts it when it takes longer.
    pub(crate) fn run_within(&mut self, duration: Duration, job: Job) -> Result<(Value, Vec<u8>)> {
        self.deadline.start(duration);
        let done = self.run(job);
        self.deadline.stop();
        done
    }

    /// Runs one job: what it says, and the last part of the body of its reply.
    pub(crate) fn run(&mut self, job: Job) -> Result<(Value, Vec<u8>)> {
        match job {
            Job::Bind { tables, files } => done(jobs::bind::run(self, tables, &files)),
            Job::Plan { sql, params } => reply(&jobs::query::plan(self, sql, params.as_ref())?),
            Job::Query {
                tables,
                rows,
                bytes,
                format,
            } => {
                let (written, body) = jobs::query::run(self, &tables, Bounds { rows, bytes }, format)?;
                Ok((serde_json::to_value(written).map_err(Error::internal)?, body))
            }
            Job::Ping => done(Ok(())),
            Job::Validate { tables } => done(jobs::query::validate(self, &tables)),
            Job::Describe { tables } => reply(&jobs::describe::run(self, &tables)?),
            Job::Sample { table, rows, bytes } => {
                let body = jobs::query::sample(self, &table, Bounds { rows, bytes })?;
                Ok((Value::Null, body))
            }
            Job::Stage { format, input } => reply(&match format {
                FileFormat::Csv => jobs::stage_csv::run(self, &input)?,
                FileFormat::Json | FileFormat::Ndjson => jobs::stage_json::run(self, &input)?,
                FileFormat::Parquet => jobs::stage_parquet::run(self, &input)?,
            }),
            Job::CheckKeys(input) => reply(&jobs::check_keys::run(self, &input)?),
            Job::CheckRows(input) => done(jobs::check_rows::run(self, &input)),
            Job::Rewrite(input) => reply(&jobs::rewrite::run(self, &input)?),
            Job::Export(input) => done(jobs::export::run(self, &input)),
            Job::Folder(input) => jobs::folder::run(self, &input),
        }
    }

    /// Closes the fence around a folder, where no job before did, and refuses another folder and files that
    /// are not directly in it.
    pub(crate) fn enclose<'a>(
        &mut self,
        folder: &Path,
        files: impl IntoIterator<Item = &'a Path>,
    ) -> Result<()> {
        if self.folder.is_none() {
            fence::close(&self.connection, [], [folder], "")?;
            self.folder = Some(folder.to_owned());
        }
        if self.folder.as_deref() != Some(folder) {
            return Err(Error::internal("the child is for another folder"));
        }
        match files.into_iter().all(|file| file.parent() == Some(folder)) {
            true => Ok(()),
            false => Err(Error::internal("a file of an import is not in its folder")),
        }
    }

    /// The names of the bound tables.
    pub(crate) fn tables(&self) -> Result<&[String]> {
        self.tables
            .as_deref()
            .ok_or_else(|| Error::internal("the child is not bound to a version"))
    }
}

fn done(result: Result<()>) -> Result<(Value, Vec<u8>)> {
    result.map(|()| (Value::Null, Vec::new()))
}

fn reply(value: &impl Serialize) -> Result<(Value, Vec<u8>)> {
    Ok((serde_json::to_value(value).map_err(Error::internal)?, Vec::new()))
}

/// Interrupts the connection when a job takes longer than it may.
struct Deadline {
    shared: Arc<(Mutex<Option<Instant>>, Condvar)>,
}

impl Deadline {
    fn watch(handle: Arc<InterruptHandle>) -> Result<Self> {
        let shared: Arc<(Mutex<Option<Instant>>, Condvar)> = Arc::default();
        let watched = Arc::clone(&shared);
        thread::Builder::new()
            .spawn(move || {
                let (lock, changed) = &*watched;
                let mut due = lock.lock().unwrap_or_else(PoisonError::into_inner);
                loop {
                    let wait = match *due {
                        None => Duration::MAX,
                        Some(instant) => instant.saturating_duration_since(Instant::now()),
                    };
                    let wait = if wait.is_zero() {
                        handle.interrupt();
                        INTERRUPT_EVERY
                    } else {
                        // Longer waits overflow in some implementations.
                        wait.min(Duration::from_secs(3_600))
                    };
                    due = changed
                        .wait_timeout(due, wait)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0;
                }
            })
            .map_err(Error::internal)?;
        Ok(Self { shared })
    }

    fn start(&self, duration: Duration) {
        self.set(Some(Instant::now() + duration));
    }

    fn stop(&self) {
        self.set(None);
    }

    fn set(&self, due: Option<Instant>) {
        *self.shared.0.lock().unwrap_or_else(PoisonError::into_inner) = due;
        self.shared.1.notify_all();
    }
}
