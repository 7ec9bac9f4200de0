//! Controls the child process from its parent.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use platform::config::{LIBRARY_PATH, library_path};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::{fence, frame};

/// Address space that mimalloc, the local runner's allocator, reserves in advance; set because the child's
/// memory is limited.
const ALLOCATOR_RESERVE: &str = "MIMALLOC_ARENA_RESERVE";
const SIGKILL: i32 = 9;

/// Maximum time until a child that closed its pipe has ended.
const GRACE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Processor time of one task, over all threads of the child.
    pub processor: Duration,
    /// Memory that the child may write to, including its stacks. The operating system enforces it.
    pub memory_bytes: u64,
    /// How long the parent waits for an answer, if the machine is too busy for the child.
    pub patience: Duration,
}

/// Reason why there is no answer. The child cannot be used again.
#[derive(Debug)]
pub enum Ended {
    /// The child had ended before it received the task, or was killed from outside.
    Lost,
    /// The task ended the child; contains the exit status.
    OverTask(String),
    /// The child refused to work, because it could not close its fence.
    Unfenced,
    /// No answer arrived in time.
    Late,
}

/// A running child; it is killed when dropped.
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
            // No credentials and no names of resources, whatever the task may be able to do.
            .env_clear()
            .env(ALLOCATOR_RESERVE, "0")
            // A key that ends the parent in a terminal must not reach the child, whose pipe closes then
            // anyway.
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

    /// Returns the child's answer to a task.
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
            return Err(match self.end().await {
                Ended::Unfenced => Ended::Unfenced,
                _ => Ended::Lost,
            });
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

    /// Determines why the child closed its pipe. Its limits end it with signals other than those of `kill -9`
    /// and of a kernel that is out of memory.
    async fn end(&mut self) -> Ended {
        match timeout(GRACE, self.child.wait()).await {
            Ok(Ok(status)) if status.signal() == Some(SIGKILL) => Ended::Lost,
            Ok(Ok(status)) if fence::is_unfenced(status) => Ended::Unfenced,
            Ok(Ok(status)) => Ended::OverTask(status.to_string()),
            _ => Ended::OverTask("still running".to_owned()),
        }
    }
}
