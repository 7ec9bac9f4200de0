//! Runs `millrace serve` in a process of its own, for users of an identity provider that the test stands in
//! for.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::Client;
use crate::operator::Operator;
use crate::program::{self, DEADLINE};

/// Longest wait for the service, on a busy machine.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// Running service; it is killed when this is dropped.
pub struct Server {
    child: Child,
    lines: mpsc::Receiver<String>,
    log: Vec<String>,
    /// Line of its log that says that it is ready.
    ready: Value,
    address: SocketAddr,
    provider: Operator,
}

impl Server {
    /// Starts a service on a free port, whose data directory is `data` in `folder`, and waits until it is
    /// ready.
    pub fn start(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::of(command(&[], folder, arguments, variables), folder)
    }

    /// Starts the service of such a [`command`] for the same folder.
    pub fn of(mut command: Command, folder: &Path) -> Self {
        let provider = Operator::new(&folder.join("provider"));
        let mut child = command
            .stderr(Stdio::piped())
            .spawn()
            .expect("the service starts");
        let lines = lines(&mut child);
        let mut server = Self {
            child,
            lines,
            log: Vec::new(),
            ready: Value::Null,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            provider,
        };
        let ready = server.wait_for("ready");
        server.address = serde_json::from_value(ready["address"].clone()).expect("an address");
        server.ready = ready;
        server
    }

    /// Returns the first line of its log with this message, and waits for it.
    pub fn wait_for(&mut self, message: &str) -> Value {
        let deadline = Instant::now() + READY_WITHIN;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                panic!("the log has no message '{message}':\n{}", self.log.join("\n"));
            };
            let entry = serde_json::from_str::<Value>(&line).unwrap_or_default();
            self.log.push(line);
            if entry["message"] == message {
                return entry;
            }
        }
    }

    /// Returns the line of its log that says that it is ready.
    pub fn ready(&self) -> &Value {
        &self.ready
    }

    /// Returns where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns a client of its address over plain HTTP.
    pub fn client(&self) -> Client {
        Client::new(&format!("http://{}/api/v1", self.address))
    }

    /// Returns a token of the identity provider for a developer.
    pub fn token(&self) -> String {
        let printed = self.provider.run(&["token"]).expect_success();
        printed.line().to_owned()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args(["-s", name, &id]).status();
        assert!(
            status.is_ok_and(|status| status.success()),
            "process {id} takes no signal"
        );
    }

    /// Waits until it has ended. Returns its exit code; None where a signal ended it.
    pub fn ended(&mut self) -> Option<i32> {
        // Its log ends with the process.
        loop {
            match self.lines.recv_timeout(DEADLINE) {
                Ok(line) => self.log.push(line),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    panic!("the service has not ended after {DEADLINE:?}")
                }
            }
        }
        self.child.wait().ok().and_then(|status| status.code())
    }

    /// Returns the log, which is whole once the process has ended.
    pub fn log(&mut self) -> String {
        self.log.extend(self.lines.try_iter());
        self.log.join("\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the command of such a service, by a launcher that is replaced by it, with the settings of the
/// identity provider.
pub fn command(launcher: &[&str], folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = program::command_by(launcher, "millrace serve");
    command
        .arg("--data-dir")
        .arg(folder.join("data"))
        .args(arguments)
        .env("MILLRACE_LISTEN", "127.0.0.1:0")
        .env("MILLRACE_PUBLIC_URL", "https://millrace.example.com")
        .env("MILLRACE_IDENTITY", identity(folder).to_string())
        .envs(variables.iter().copied());
    command
}

/// Starts such a service, which must refuse to start. Returns what it says.
#[track_caller]
pub fn refusal(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let mut command = command(&[], folder, arguments, variables);
    let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output();
    let output = output.expect("the program starts");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{arguments:?} {variables:?}: {text}");
    text
}

/// Returns the settings of a provider whose keys are below `folder`, and makes the keys.
pub fn identity(folder: &Path) -> Value {
    let keys: PathBuf = folder.join("provider");
    let provider = Operator::new(&keys);
    provider.run(&["token", "--make-keys"]).expect_success();
    json!({
        "preset": "millrace", "issuer": "millrace-local", "audience": "millrace", "jwks": keys.join("keys/jwks.json"),
    })
}

/// Returns its log, line by line. Reads the pipe to its end, so that it never fills.
fn lines(child: &mut Child) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    let stderr = child.stderr.take().expect("its log is a pipe");
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    receiver
}
