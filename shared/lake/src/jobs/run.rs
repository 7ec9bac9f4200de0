//! Runs the main loop of a child process: the same program, started with a private argument.
//!
//! The process has no credentials in its environment and a limited address space. One thread works; the
//! others only wait. The process ends when its standard input ends, even in the middle of a job, so a killed
//! parent leaves no child behind.
//!
//! The fence of the operating system ([`sandbox::fence`]) holds for threads that start after it, and the
//! first job names the folders. So a child gives up system calls first, opens DuckDB without threads, waits
//! for that job, gives up all other files, and only then starts its threads.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::process::{ExitCode, abort, exit};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use duckdb::Connection;
use platform::{Error, Result};
use rlimit::Resource;
use sandbox::fence::{self, Calls};
use serde::Serialize;
use serde_json::Value;

use crate::child;
use crate::child::context::Context;
use crate::child::frames::{read_frame, write_frame};
use crate::child::limits::EngineLimits;
use crate::child::settings::{ARGUMENT, STACK_BYTES, Settings};
use crate::import::file_format::FileFormat;
use crate::jobs::protocol::{Failure, Job, JobOutput, Reply, Request};
use crate::jobs::{
    bind, check_keys, check_rows, describe, export, folder, query, reach, rewrite, stage_csv, stage_json,
    stage_parquet,
};
use crate::query::answer::Bounds;

/// Becomes the child process if this process was started as one, and then never returns.
///
/// Every program that uses [`crate::Engine`] with its own executable must call it first in `main`.
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
    if let Err(error) = fence::forbid(Calls::Files) {
        fence::fail(&error);
    }
    let Ok(connection) = child::fence::open(&settings.limits, &settings.temp) else {
        return ExitCode::FAILURE;
    };
    let first = match first_job() {
        Ok(Some(request)) => request,
        Ok(None) => {
            let _ = std::fs::remove_dir_all(&settings.temp);
            return ExitCode::SUCCESS;
        }
        Err(_) => return ExitCode::FAILURE,
    };
    let mut folders = reach::folders(&first.job);
    folders.write.push(settings.temp.clone());
    if let Err(error) = fence::enclose(&folders) {
        fence::fail(&error);
    }
    let (sender, jobs) = mpsc::channel();
    let reader = Reader {
        temp: settings.temp.clone(),
        unfinished: Arc::new(AtomicUsize::new(1)),
    };
    let unfinished = Arc::clone(&reader.unfinished);
    if sender.send(first).is_err() {
        return ExitCode::FAILURE;
    }
    let worker = thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || work(connection, &settings.limits, &jobs, &unfinished));
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

/// Waits for the first job that is more than a ping; None if the input ends before it.
fn first_job() -> Result<Option<Request>> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    while let Ok((request, _)) = read_frame::<Request>(&mut input) {
        if !matches!(request.job, Job::Ping) {
            return Ok(Some(request));
        }
        write_frame(&mut output, &Reply::Done(Value::Null), &[]).map_err(Error::internal)?;
    }
    Ok(None)
}

fn limit(limits: &EngineLimits) -> io::Result<()> {
    Resource::AS.set(limits.address_space_bytes, limits.address_space_bytes)?;
    let file_bytes = limits.max_file_bytes.max(limits.temp_bytes);
    Resource::FSIZE.set(file_bytes, file_bytes)
}

/// Thread that reads requests, so that the end of the input is also noticed during a job.
struct Reader {
    temp: PathBuf,
    /// Jobs read and not yet answered. Counted before a job is handed to the worker, so that none is missed.
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
        // The parent also removes the directory, unless it was killed. Behind the fence the empty directory
        // stays until the next start of the service.
        let _ = std::fs::remove_dir_all(&self.temp);
        if self.unfinished.load(Ordering::SeqCst) > 0 {
            // `exit` would run handlers that destroy DuckDB's state while the job runs.
            abort();
        }
    }
}

fn work(
    connection: Connection,
    limits: &EngineLimits,
    jobs: &mpsc::Receiver<Request>,
    unfinished: &AtomicUsize,
) -> Result<()> {
    child::fence::start_threads(&connection, limits)?;
    // The standard library's stdout would search all output for line ends.
    let output = io::stdout().as_fd().try_clone_to_owned();
    let output = File::from(output.map_err(Error::internal)?);
    let mut context = Context::new(connection, output)?;
    while let Ok(request) = jobs.recv() {
        let output = context.within(Duration::from_millis(request.deadline_ms), |context| {
            run_job(context, request.job)
        });
        let sending = match output {
            Ok(JobOutput { value, body }) => write_frame(&mut context.output, &Reply::Done(value), &body),
            Err(error) => write_frame(&mut context.output, &Reply::Failed(Failure::from(error)), &[]),
        };
        unfinished.fetch_sub(1, Ordering::SeqCst);
        sending.map_err(Error::internal)?;
    }
    Ok(())
}

pub(crate) fn run_job(context: &mut Context, job: Job) -> Result<JobOutput> {
    match job {
        Job::Bind { tables, files } => done(bind::run(context, tables, &files)),
        Job::Plan { sql, params } => reply(&query::plan(context, sql, params.as_ref())?),
        Job::Query {
            tables,
            rows,
            bytes,
            format,
        } => {
            let (size, body) = query::run(context, &tables, Bounds { rows, bytes }, format)?;
            let value = serde_json::to_value(size).map_err(Error::internal)?;
            Ok(JobOutput { value, body })
        }
        Job::Ping => done(Ok(())),
        Job::Validate { tables } => done(query::validate(context, &tables)),
        Job::Describe { tables } => reply(&describe::run(context, &tables)?),
        Job::Sample { table, rows, bytes } => {
            let body = query::sample(context, table, Bounds { rows, bytes })?;
            Ok(JobOutput {
                value: Value::Null,
                body,
            })
        }
        Job::Stage { format, input } => reply(&match format {
            FileFormat::Csv => stage_csv::run(context, &input)?,
            FileFormat::Json | FileFormat::Ndjson => stage_json::run(context, &input)?,
            FileFormat::Parquet => stage_parquet::run(context, &input)?,
        }),
        Job::CheckKeys(input) => reply(&check_keys::run(context, &input)?),
        Job::CheckRows(input) => done(check_rows::run(context, &input)),
        Job::Rewrite(input) => reply(&rewrite::run(context, &input)?),
        Job::Export(input) => done(export::run(context, &input)),
        Job::Folder(input) => folder::run(context, &input),
    }
}

fn done(result: Result<()>) -> Result<JobOutput> {
    reply(&result?)
}

fn reply(value: &impl Serialize) -> Result<JobOutput> {
    Ok(JobOutput {
        value: serde_json::to_value(value).map_err(Error::internal)?,
        body: Vec::new(),
    })
}
