//! The child, seen from its parent.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use platform::config::{LIBRARY_PATH, library_path};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::{Limits, frame};

/// How much of its address space mimalloc, the local runner's allocator, takes in advance: the child's memory
/// is limited.
const ALLOCATOR_RESERVE: &str = "MIMALLOC_ARENA_RESERVE";
const SIGKILL: i32 = 9;

/// How long a child that closed its pipe may take to be gone.
const GRACE: Duration = Duration::from_secs(1);

/// Why there is no answer. The child is of no more use.
#[derive(Debug)]
pub enum Ended {
    /// The child was gone before it took the task, or something outside killed it.
    Lost,
    /// The child ended over the task; with its exit status.
    OverTask(String),
    /// No answer came in time.
    Late,
}

/// A running child; it is killed when it is dropped.
pub struct Process {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
}

impl Process {
    pub fn start(program: &Path, argument: &str, limits: Limits) -> std::io::Result<Self> {
        let mut command = Command::new(program);
        command
            .arg(argument)
            .arg(limits.processor.as_millis().to_string())
            .arg(limits.memory_bytes.to_string())
            // No credentials and no names of resources, whatever the task turns out to be able to do.
            .env_clear()
            .env(ALLOCATOR_RESERVE, "0")
            // The key that ends the parent in a terminal is not for the child, whose pipe closes then.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        if let Some(path) = library_path() {
            command.env(LIBRARY_PATH, path);
        }
        let mut child = command.spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(std::io::Error::other("the child has no pipes"));
        };
        Ok(Self { child, input, output })
    }

    /// What the child makes of a task.
    pub async fn run(&mut self, task: &[u8], patience: Duration) -> Result<Vec<u8>, Ended> {
        timeout(patience, self.exchange(task))
            .await
            .unwrap_or(Err(Ended::Late))
    }

    async fn exchange(&mut self, task: &[u8]) -> Result<Vec<u8>, Ended> {
        let head = frame::head(task).map_err(|error| Ended::OverTask(error.to_string()))?;
        let mut sent = self.input.write_all(&head).await;
        if sent.is_ok() {
            sent = self.input.write_all(task).await;
        }
        if sent.is_err() {
            return Err(Ended::Lost);
        }
        match self.receive().await {
            Ok(answer) => Ok(answer),
            Err(_) => Err(self.end().await),
        }
    }

    async fn receive(&mut self) -> std::io::Result<Vec<u8>> {
        let mut head = [0; 4];
        self.output.read_exact(&mut head).await?;
        let mut answer = vec![0; frame::length(head)?];
        self.output.read_exact(&mut answer).await?;
        Ok(answer)
    }

    /// Why the child closed its pipe. Its limits end it by other signals than `kill -9` and the kernel that
    /// needs memory.
    async fn end(&mut self) -> Ended {
        match timeout(GRACE, self.child.wait()).await {
            Ok(Ok(status)) if status.signal() == Some(SIGKILL) => Ended::Lost,
            Ok(Ok(status)) => Ended::OverTask(status.to_string()),
            _ => Ended::OverTask("still running".to_owned()),
        }
    }
}
