//! Runs a child process from the parent's side: starts it with an empty environment and its own directory,
//! sends one job at a time, and kills it when it is dropped.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use platform::config::LIBRARY_PATH;
use platform::{Error, Result};
use rustix::process::{Pid, setpriority_pgrp};
use sandbox::fence::is_unfenced;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use crate::child::frames::{MAX_FRAME_BYTES, frame_head, frame_lengths};
use crate::child::limits::EngineLimits;
use crate::child::settings::{ARGUMENT, Settings};
use crate::jobs::protocol::{Job, JobOutput, Reply, Request};
use crate::statement::messages;

/// Address space that mimalloc, the local runner's allocator, reserves in advance. A child's address space is
/// limited, and DuckDB needs it.
const ALLOCATOR_RESERVE: &str = "MIMALLOC_ARENA_RESERVE";

/// Time that a child has after its deadline to stop by itself.
const GRACE: Duration = Duration::from_secs(1);
/// Time limit for a ping; a new child loads the library first.
const PATIENCE: Duration = Duration::from_secs(5);

/// Time during which a job has normal priority.
const QUICK: Duration = Duration::from_millis(250);
/// The highest niceness.
const LOWEST_RANK: i32 = 19;

#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub(crate) program: PathBuf,
    pub(crate) library_path: Option<OsString>,
    pub(crate) temp_directory: PathBuf,
    pub(crate) limits: EngineLimits,
}

/// Capacity of the pipe for a child's replies.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1_024 * 1_024;

/// Only `drop` takes this apart.
struct Parts {
    child: Child,
    temp: TempDir,
}

pub(crate) struct Process {
    parts: Option<Parts>,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    limits: EngineLimits,
    is_demoted: bool,
}

impl Process {
    /// Starts a child without waiting until it is ready.
    pub(crate) fn start(start: &Start) -> Result<Self> {
        let temp = tempfile::Builder::new()
            .prefix("lake-")
            .tempdir_in(&start.temp_directory)
            .map_err(Error::internal)?;
        let settings = Settings {
            limits: start.limits.clone(),
            temp: temp.path().to_owned(),
        };
        let mut command = Command::new(&start.program);
        command
            .arg(ARGUMENT)
            .arg(serde_json::to_string(&settings).map_err(Error::internal)?)
            // A caller's statement runs in the child, so it gets no credentials and no names of resources.
            .env_clear()
            .env(ALLOCATOR_RESERVE, "0")
            .current_dir(temp.path())
            // With its own process group, the priority applies to all threads of the child and to no other
            // process.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if let Some(library_path) = &start.library_path {
            command.env(LIBRARY_PATH, library_path);
        }
        let mut child = command.spawn().map_err(Error::internal)?;
        let (Some(input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Error::internal("the child has no pipes"));
        };
        // The most that an unprivileged process may set, so that a large answer takes few reads. If it is
        // refused, the pipe keeps its size.
        #[cfg(target_os = "linux")]
        let _ = rustix::pipe::fcntl_setpipe_size(&output, PIPE_BYTES);
        tokio::spawn(log(errors));
        let limits = start.limits.clone();
        Ok(Self {
            parts: Some(Parts { child, temp }),
            input,
            output: BufReader::new(output),
            limits,
            is_demoted: false,
        })
    }

    /// Returns the child's process id while it runs.
    pub(crate) fn id(&self) -> Option<u32> {
        self.parts.as_ref().and_then(|parts| parts.child.id())
    }

    /// Returns whether the child has the lowest priority, because one of its jobs took long.
    pub(crate) fn is_demoted(&self) -> bool {
        self.is_demoted
    }

    /// Returns whether the child still answers. The operating system may have ended an idle child without the
    /// parent's notice, so only a reply proves that it lives.
    pub(crate) async fn answers(&mut self) -> bool {
        let Ok(head) = frame_head(
            &Request {
                deadline_ms: 1_000,
                job: Job::Ping,
            },
            &[],
        ) else {
            return false;
        };
        matches!(
            tokio::time::timeout(PATIENCE, self.exchange(&head)).await,
            Ok(Ok(_))
        )
    }

    /// Runs one job within `deadline`. The inner result is the job's; after an outer error the child is
    /// unusable and must be dropped.
    pub(crate) async fn run(
        &mut self,
        job: Job,
        deadline: Duration,
        takes_long: impl FnOnce(),
    ) -> Result<Result<JobOutput>> {
        let deadline_ms = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
        let head = frame_head(&Request { deadline_ms, job }, &[]).map_err(Error::internal)?;
        match tokio::time::timeout(deadline + GRACE, self.work(&head, takes_long)).await {
            Err(_) => Err(self.too_slow(deadline)),
            Ok(Err(error)) => Err(self.died(&error).await),
            Ok(Ok((Reply::Done(value), body))) => Ok(Ok(JobOutput { value, body })),
            Ok(Ok((Reply::Failed(failure), _))) => {
                let error = match failure.message.as_str() {
                    messages::OUT_OF_MEMORY => self.out_of_memory(),
                    messages::INTERRUPTED => self.too_slow(deadline),
                    messages::FENCED => return Ok(Err(fenced())),
                    _ => return Ok(Err(failure.into())),
                };
                Err(error
                    .with_source(failure.cause.unwrap_or_default())
                    .quoting_data())
            }
        }
    }

    /// Like [`exchange`](Self::exchange), but a long job continues at the lowest priority, so that short jobs
    /// stay fast.
    async fn work(&mut self, head: &[u8], takes_long: impl FnOnce()) -> io::Result<(Reply, Vec<u8>)> {
        let group = self
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        let quick = tokio::time::sleep(QUICK);
        tokio::pin!(quick);
        let mut is_demoted = self.is_demoted;
        let exchanged = {
            let exchange = self.exchange(head);
            tokio::pin!(exchange);
            tokio::select! {
                exchanged = &mut exchange => exchanged,
                () = &mut quick => {
                    takes_long();
                    is_demoted = is_demoted || setpriority_pgrp(group, LOWEST_RANK).is_ok();
                    exchange.await
                }
            }
        };
        self.is_demoted = is_demoted;
        exchanged
    }

    async fn exchange(&mut self, head: &[u8]) -> io::Result<(Reply, Vec<u8>)> {
        self.input.write_all(head).await?;
        self.input.flush().await?;
        let mut body = Vec::new();
        loop {
            let mut lengths = [0; 8];
            self.output.read_exact(&mut lengths).await?;
            let (header_length, body_length) = frame_lengths(lengths)?;
            // Limits all parts together, so that a child that sends endless parts cannot exhaust the parent's
            // memory.
            if body.len() + body_length > MAX_FRAME_BYTES as usize {
                return Err(io::Error::other("the body is too large"));
            }
            let mut header = vec![0; header_length];
            self.output.read_exact(&mut header).await?;
            let whole = body.len() + body_length;
            body.reserve(body_length);
            let mut part = (&mut self.output).take(body_length as u64);
            while part.read_buf(&mut body).await? > 0 {}
            if body.len() < whole {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if header_length > 0 {
                return Ok((serde_json::from_slice(&header)?, body));
            }
        }
    }

    fn too_slow(&self, deadline: Duration) -> Error {
        Error::timeout(format!(
            "It took longer than {} seconds and was stopped.",
            deadline.as_secs_f32()
        ))
    }

    fn out_of_memory(&self) -> Error {
        Error::unprocessable(format!(
            "It needs more memory than the {} MB (and {} MB of temporary files) that it may use; read fewer rows or \
             columns, or aggregate in steps.",
            self.limits.memory_limit_bytes / 1_048_576,
            self.limits.temp_bytes / 1_048_576
        ))
    }

    /// Returns the error of a child that ended by itself, nearly always because the operating system refused
    /// it more memory.
    async fn died(&mut self, error: &io::Error) -> Error {
        let status = match &mut self.parts {
            Some(parts) => match tokio::time::timeout(GRACE, parts.child.wait()).await {
                Ok(Ok(status)) if is_unfenced(status) => {
                    return Error::internal("a child of the engine could not close its fence");
                }
                Ok(Ok(status)) => status.to_string(),
                _ => "still running".to_owned(),
            },
            None => "gone".to_owned(),
        };
        tracing::warn!(%error, status, "a child of the engine ended during a job");
        Error::unprocessable(format!(
            "It was stopped: it used more memory than the {} MB that it may use, or it cannot be carried out.",
            self.limits.memory_limit_bytes / 1_048_576
        ))
        .with_source(format!("the child ended ({status}): {error}"))
    }
}

impl Drop for Process {
    /// Kills the child, and removes its directory after its end.
    fn drop(&mut self) {
        let Some(mut parts) = self.parts.take() else {
            return;
        };
        let _ = parts.child.start_kill();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let _ = parts.child.wait().await;
                drop(parts.temp);
            });
        }
    }
}

/// If only the fence stops a statement, the check of statements has a gap, so this is logged as an error.
fn fenced() -> Error {
    tracing::error!("the fence stopped a statement that the check let pass");
    Error::invalid("The query names something outside of the store's tables.")
}

/// Logs what the child writes to its standard error; it goes nowhere else.
async fn log(errors: ChildStderr) {
    let mut lines = BufReader::new(errors.take(1024 * 1024)).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        tracing::debug!(line, "a child of the engine says");
    }
}
