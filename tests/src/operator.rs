//! The operator command, on the data directory of a local service.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::program::{self, Finished};

/// The operator command for one data directory.
#[derive(Clone, Debug)]
pub struct Operator {
    data_dir: PathBuf,
}

impl Operator {
    /// For a data directory.
    pub fn new(data_dir: &Path) -> Self {
        Self {
            data_dir: data_dir.to_owned(),
        }
    }

    /// Runs `ops` with these arguments, to whatever end.
    pub fn run(&self, arguments: &[&str]) -> Finished {
        self.run_with(arguments, &[])
    }

    /// The same with variables in its environment.
    pub fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Finished {
        let data_dir = self.data_dir.to_string_lossy();
        let arguments: Vec<_> = ["--data-dir", data_dir.as_ref()]
            .into_iter()
            .chain(arguments.iter().copied())
            .collect();
        program::run("ops", &arguments, variables)
    }

    /// Runs `ops --json` with these arguments: the one JSON value that it prints.
    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Value {
        let arguments: Vec<_> = std::iter::once("--json")
            .chain(arguments.iter().copied())
            .collect();
        let finished = self.run(&arguments).expect_success();
        serde_json::from_str(&finished.stdout)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {finished:?}"))
    }

    /// A token: `ops token` with these arguments.
    #[track_caller]
    pub fn token(&self, arguments: &[&str]) -> String {
        let arguments: Vec<_> = std::iter::once("token")
            .chain(arguments.iter().copied())
            .collect();
        self.run(&arguments).expect_success().line().to_owned()
    }
}
