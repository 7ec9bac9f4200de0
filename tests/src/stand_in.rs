//! Runs `ops model` as a process: the tour's stand-in for a language model.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use crate::program;

/// Running stand-in; it is killed when this is dropped.
pub struct StandIn {
    child: Child,
    base_url: String,
}

impl StandIn {
    /// Starts it on a free port.
    pub fn start() -> Self {
        let mut child = program::command(program::OPS)
            .args(["model", "--port", "0"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the stand-in starts");
        let output = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        let mut lines = output.lines().map_while(Result::ok);
        let base_url = lines.find_map(|line| Some(line.split_once("MILLRACE_MODEL_BASE_URL=")?.1.to_owned()));
        let base_url = base_url.expect("the stand-in says where it is");
        // Read the output, because a full pipe would block the process.
        std::thread::spawn(move || lines.for_each(drop));
        let base_url = base_url.trim_end_matches(" make run").to_owned();
        Self { child, base_url }
    }

    /// Returns the variables that make a service use it.
    pub fn variables(&self) -> [(&'static str, &str); 3] {
        [
            ("MILLRACE_MODEL_PROVIDER", "openai"),
            ("MILLRACE_MODEL", "stand-in"),
            ("MILLRACE_MODEL_BASE_URL", &self.base_url),
        ]
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
