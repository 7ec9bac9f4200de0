//! A local runner as a process of its own.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::faults;
use crate::program::{self, DEADLINE};

/// How long the runner may take until it is ready, on a busy machine.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// A running local runner; it is killed when it is dropped.
pub struct Process {
    child: Child,
    lines: mpsc::Receiver<String>,
    base_url: String,
    token: String,
}

impl Process {
    /// Starts a runner on a free port over `data_dir`, with `variables` in its environment, and waits until it is ready. Its
    /// log goes to `log`. It is given the folder as `make run` gives it: by a name relative to where it runs.
    pub fn start(data_dir: &Path, log: &Path, variables: &[(String, String)]) -> Self {
        Self::start_by(&[], data_dir, log, variables)
    }

    /// The same by a launcher, which becomes the runner: it has the launcher's id.
    pub fn start_by(launcher: &[&str], data_dir: &Path, log: &Path, variables: &[(String, String)]) -> Self {
        let log_file = File::options()
            .create(true)
            .append(true)
            .open(log)
            .expect("the log can be written");
        let (place, name) = (data_dir.parent(), data_dir.file_name());
        let runner = match faults::seed_of(variables) {
            Some(_) => "faulty-millrace",
            None => "millrace",
        };
        let mut child = program::command_by(launcher, runner)
            .current_dir(place.expect("the data directory is in a folder"))
            .args(["--port", "0", "--data-dir"])
            .arg(name.expect("the data directory has a name"))
            // As `make run` has it.
            .env("MILLRACE_LOCAL_TARGETS", "true")
            .envs(variables.iter().cloned())
            .stdout(Stdio::piped())
            .stderr(log_file)
            .spawn()
            .expect("the runner starts");
        let lines = lines(&mut child);
        let deadline = Instant::now() + READY_WITHIN;
        let mut process = Self {
            child,
            lines,
            base_url: String::new(),
            token: String::new(),
        };
        while process.token.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = process.lines.recv_timeout(left) else {
                let log = std::fs::read_to_string(log).unwrap_or_default();
                panic!("the runner is not ready after {READY_WITHIN:?}; its log:\n{log}");
            };
            match line.trim().split_once(' ') {
                Some(("API", url)) => process.base_url = url.trim().to_owned(),
                Some(("export", token)) => process.token = token.trim_start_matches("TOKEN=").to_owned(),
                _ => {}
            }
        }
        assert!(
            !process.base_url.is_empty(),
            "the runner printed no address of its API"
        );
        process
    }

    /// The root of its API.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The token that it prints when it is ready.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Its id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How much memory it takes, in KB; 0 where the system does not say.
    pub fn memory_kb(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.trim().split(' ').next());
        number.and_then(|number| number.parse().ok()).unwrap_or_default()
    }

    /// Asks it to end, as `kill` does, and waits until it has: its exit code.
    pub fn stop(&mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        let asked = Command::new("kill").arg(&id).status();
        assert!(
            asked.is_ok_and(|status| status.success()),
            "process {id} cannot be asked to end"
        );
        // Its output ends when it does.
        loop {
            match self.lines.recv_timeout(DEADLINE) {
                Ok(_) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => panic!("the runner has not ended after {DEADLINE:?}"),
            }
        }
        self.child.wait().ok().and_then(|status| status.code())
    }

    /// Ends it as `kill -9` does, in the middle of whatever it does, and waits until it is gone.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What it prints, line by line. The pipe is read to its end, so that it never fills.
fn lines(child: &mut Child) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    let stdout = child.stdout.take().expect("its output is a pipe");
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    receiver
}
