//! Finds the programs under test, and runs them to their end.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use crate::environment;

/// Time limit of a program that must end.
pub const DEADLINE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct Finished {
    /// Exit code; None where a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    /// Returns itself if the program succeeded.
    #[track_caller]
    pub fn expect_success(self) -> Self {
        assert_eq!(self.code, Some(0), "the program failed: {self:?}");
        self
    }

    /// Returns itself if the program refused: a code other than 0 and one short sentence as error, not a
    /// panic.
    #[track_caller]
    pub fn expect_refusal(self) -> Self {
        assert!(
            self.code.is_some_and(|code| code != 0),
            "the program did not refuse: {self:?}"
        );
        assert!(!self.stderr.trim().is_empty(), "it says nothing: {self:?}");
        for noise in ["panicked", "RUST_BACKTRACE", "Error {", "Os {"] {
            assert!(
                !self.stderr.contains(noise),
                "not a sentence for people: {self:?}"
            );
        }
        self
    }

    /// Returns its output, without the last line's end.
    pub fn line(&self) -> &str {
        self.stdout.trim_end()
    }
}

/// Returns a program of this workspace: from the folder of `MILLRACE_BIN`, or else from the build of the
/// tests.
pub fn binary(name: &str) -> PathBuf {
    let folder = match environment::variable("MILLRACE_BIN") {
        Some(runner) => PathBuf::from(runner).parent().map(PathBuf::from),
        None => std::env::current_exe()
            .ok()
            .and_then(|test| Some(test.parent()?.parent()?.to_owned())),
    };
    let path = folder.unwrap_or_default().join(name);
    assert!(
        path.is_file(),
        "There is no program {}: run `cargo build --workspace --bins` first, or set MILLRACE_BIN to a built runner.",
        path.display()
    );
    path
}

/// Returns the Python with third-party libraries.
pub fn tools_python() -> String {
    environment::variable("TOOLS_PYTHON").expect("TOOLS_PYTHON is not set: start the tests by `tests/run`")
}

/// Returns a program of those that build and check what is shipped.
pub fn dist_tool(program: &str) -> PathBuf {
    peers("DIST_TOOLS").join(program)
}

/// Returns a third-party program that is installed from PyPI.
pub fn peers_python(program: &str) -> PathBuf {
    peers("PEERS_PYTHON").join(program)
}

/// Returns the folder of the third-party packages that are installed from npm.
pub fn peers_node() -> PathBuf {
    peers("PEERS_NODE")
}

fn peers(variable: &str) -> PathBuf {
    let folder = environment::variable(variable);
    let folder = folder.unwrap_or_else(|| panic!("{variable} is not set: start the tests by `tests/run`"));
    PathBuf::from(folder)
}

pub const OPS: &str = "millrace ops";

/// Returns a command for a program of this workspace, and its subcommand after a space, without the variables
/// that would affect it.
pub fn command(name: &str) -> Command {
    command_by(&[], name)
}

/// Returns a command for a launcher that gets the program as its last argument.
pub fn command_by(launcher: &[&str], name: &str) -> Command {
    let (program, subcommand) = name
        .split_once(' ')
        .map_or((name, None), |(program, word)| (program, Some(word)));
    let mut command = match launcher {
        [] => Command::new(binary(program)),
        [launcher, arguments @ ..] => {
            let mut command = Command::new(launcher);
            command.args(arguments).arg(binary(program));
            command
        }
    };
    command.args(subcommand);
    for variable in environment::of_programs() {
        command.env_remove(variable);
    }
    command.stdin(Stdio::null());
    command
}

/// Runs a program of this workspace to its end, with `variables` in its environment.
pub fn run(name: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Finished {
    let mut command = command(name);
    command.args(arguments).envs(variables.iter().copied());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let stdout = collected(child.stdout.take());
    let stderr = collected(child.stderr.take());
    let texts = (stdout.recv_timeout(DEADLINE), stderr.recv_timeout(DEADLINE));
    let (Ok(stdout), Ok(stderr)) = texts else {
        let _ = child.kill();
        let _ = child.wait();
        panic!("{name} {arguments:?} did not end within {DEADLINE:?}");
    };
    let status = child.wait().expect("the program ended");
    Finished {
        code: status.code(),
        stdout,
        stderr,
    }
}

/// Returns the whole text of a pipe, once it is closed.
fn collected(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}
