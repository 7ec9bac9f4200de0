//! Runs a local runner in a process of its own.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::faults;
use crate::program::{self, DEADLINE};

/// Longest wait for the runner, on a busy machine.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// Running local runner; it is killed when this is dropped.
pub struct Process {
    child: Child,
    lines: mpsc::Receiver<String>,
    base_url: String,
    token: String,
    environment: String,
}

impl Process {
    /// Starts a runner on a free port over `data_dir`, with `variables` in its environment, and waits until
    /// it is ready. Its log goes to `log`. As with `make run`, the folder is a relative path.
    pub fn start(data_dir: &Path, log: &Path, variables: &[(String, String)]) -> Self {
        Self::start_by(&[], data_dir, log, variables)
    }

    /// Starts a runner through a launcher that is replaced by the runner, so that both have the same process
    /// id.
    pub fn start_by(launcher: &[&str], data_dir: &Path, log: &Path, variables: &[(String, String)]) -> Self {
        let (place, name) = (data_dir.parent(), data_dir.file_name());
        let runner = match faults::seed_of(variables) {
            Some(_) => "faulty-millrace",
            None => "millrace",
        };
        let mut command = program::command_by(launcher, runner);
        command
            .current_dir(place.expect("the data directory is in a folder"))
            .args(["--port", "0", "--data-dir"])
            .arg(name.expect("the data directory has a name"))
            .envs(variables.iter().cloned());
        Self::start_command(command, log)
    }

    /// Starts a runner by a command that is whole, such as that of an installed package.
    pub fn start_command(mut command: Command, log: &Path) -> Self {
        let log_file = File::options()
            .create(true)
            .append(true)
            .open(log)
            .expect("the log can be written");
        let mut child = command
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
            environment: String::new(),
        };
        loop {
            let time_left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = process.lines.recv_timeout(time_left) else {
                let log = std::fs::read_to_string(log).unwrap_or_default();
                panic!("the runner is not ready after {READY_WITHIN:?}; its log:\n{log}");
            };
            match line.trim().split_once(' ') {
                Some(("API", url)) => process.base_url = url.trim().to_owned(),
                Some(("export", token)) => process.token = token.trim_start_matches("TOKEN=").to_owned(),
                Some(("eval", _)) => line.trim().clone_into(&mut process.environment),
                _ if line.trim() == "Try:" => break,
                _ => {}
            }
        }
        assert!(
            !process.base_url.is_empty(),
            "the runner printed no address of its API"
        );
        process
    }

    /// Returns the command by which a shell gets the variables, as it prints it.
    pub fn environment(&self) -> &str {
        &self.environment
    }

    /// Returns the root of its API.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Returns the token that it prints when it is ready.
    pub fn token(&self) -> &str {
        &self.token
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns its memory in KB; 0 where the system does not report it.
    pub fn memory_kb(&self) -> u64 {
        memory_kb(self.child.id())
    }

    /// Returns the processor time of its threads so far, in milliseconds and steps of ten; None where the
    /// system does not report it. It hardly depends on what else the machine does.
    pub fn processor_ms(&self) -> Option<u64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        // The second field is the name, in parentheses, and may contain anything.
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_whitespace().skip(11);
        let (user, system) = (fields.next()?, fields.next()?);
        Some((user.parse::<u64>().ok()? + system.parse::<u64>().ok()?) * 10)
    }

    /// Asks the process to stop, as `kill` does, and waits until it has. Returns its exit code.
    pub fn stop(&mut self) -> Option<i32> {
        self.stop_by("TERM")
    }

    /// Sends the process a signal, and waits until it has ended and so have those that it started. Returns
    /// its exit code.
    pub fn stop_by(&mut self, signal: &str) -> Option<i32> {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args(["-s", signal, &id]).status();
        assert!(
            status.is_ok_and(|status| status.success()),
            "process {id} cannot be sent {signal}"
        );
        // The output ends when the process ends.
        loop {
            match self.lines.recv_timeout(DEADLINE) {
                Ok(_) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => panic!("the runner has not ended after {DEADLINE:?}"),
            }
        }
        self.child.wait().ok().and_then(|status| status.code())
    }

    /// Kills the process, as `kill -9` does, and waits until it is gone.
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

/// Returns its output, line by line. Reads the pipe to its end, so that it never fills.
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

/// Returns the memory of a process in KB; 0 where the system does not report it.
pub fn memory_kb(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.trim().split(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or_default()
}
