//! Runs the operator command, on the data directory of a local service or on a deployed stage.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::environment;
use crate::program::{self, Finished};

#[derive(Clone, Debug)]
pub struct Operator {
    /// Data directory; of a deployed stage, it holds only the keys.
    data_dir: PathBuf,
    is_deployed: bool,
}

impl Operator {
    /// Works on a data directory.
    pub fn new(data_dir: &Path) -> Self {
        Self {
            data_dir: data_dir.to_owned(),
            is_deployed: false,
        }
    }

    /// Works on the deployed stage that the environment names; the stage accepts tokens that the keys of
    /// `keys_dir` sign.
    pub fn deployed(keys_dir: &Path) -> Self {
        Self {
            data_dir: keys_dir.to_owned(),
            is_deployed: true,
        }
    }

    /// Runs `ops` with these arguments, whether it succeeds or not.
    pub fn run(&self, arguments: &[&str]) -> Finished {
        self.run_with(arguments, &[])
    }

    /// Runs `ops` with these arguments and variables.
    pub fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Finished {
        let data_dir = self.data_dir.to_string_lossy();
        let mut all = vec!["--data-dir", data_dir.as_ref()];
        all.extend(arguments);
        // A deployed stage makes no tokens.
        if !self.is_deployed || arguments.first() == Some(&"token") {
            return program::run(program::OPS, &all, variables);
        }
        all.push("--deployed");
        let deployment = environment::of_deployment();
        let variables: Vec<_> = deployment
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .chain(variables.iter().copied())
            .collect();
        program::run(program::OPS, &all, &variables)
    }

    /// Runs `ops --json` with these arguments. Returns the one JSON value that it prints.
    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Value {
        let arguments: Vec<_> = std::iter::once("--json")
            .chain(arguments.iter().copied())
            .collect();
        let finished = self.run(&arguments).expect_success();
        serde_json::from_str(&finished.stdout)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {finished:?}"))
    }

    /// Returns the token that `ops token` prints with these arguments.
    #[track_caller]
    pub fn token(&self, arguments: &[&str]) -> String {
        let arguments: Vec<_> = std::iter::once("token")
            .chain(arguments.iter().copied())
            .collect();
        self.run(&arguments).expect_success().line().to_owned()
    }
}
