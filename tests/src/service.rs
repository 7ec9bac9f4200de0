//! Provides the service to test: a runner that is started for one test, or a service that runs elsewhere.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use reqwest::Method;
use serde_json::Value;
use tempfile::TempDir;

use crate::client::Client;
use crate::environment;
use crate::faults;
use crate::operator::Operator;
use crate::process::Process;
use crate::scope::Scope;

/// Folder of the test in which runners that make faults count them.
const COUNTS: &str = "faults";

/// End of the name of a test that needs the local runner.
const LOCALLY: &str = "_locally";

/// Running service, and the [`Client`] for it.
pub struct Service {
    client: Client,
    folder: TempDir,
    local: Option<Local>,
}

struct Local {
    process: Process,
    data_dir: PathBuf,
    log: PathBuf,
    variables: Vec<(String, String)>,
}

impl Service {
    /// Returns the service of `BASE_URL`, or else starts a local one.
    pub async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// Returns such a service; a local one gets these variables in its environment.
    pub async fn start_with(variables: &[(&str, &str)]) -> Self {
        match environment::variable("BASE_URL") {
            Some(url) => Self {
                client: Client::new(&url),
                folder: tempfile::tempdir().expect("a temporary folder"),
                local: None,
            },
            None => Self::start_over(variables),
        }
    }

    /// Starts a local service, for a test that needs its process or its data directory.
    pub async fn start_local() -> Self {
        Self::start_local_with(&[]).await
    }

    /// Starts a local service with variables in its environment.
    ///
    /// # Panics
    ///
    /// Panics in a test whose name does not end with `_locally`, and where `BASE_URL` is set.
    pub async fn start_local_with(variables: &[(&str, &str)]) -> Self {
        let thread = std::thread::current();
        // Each test has a thread of its name, which begins with its module.
        let test = thread.name().filter(|name| name.contains("::"));
        assert!(
            test.is_none_or(|name| name.ends_with(LOCALLY)),
            "{test:?} starts the local runner: let its name end with {LOCALLY}, by which `make test-lambda` leaves it out"
        );
        assert!(
            environment::variable("BASE_URL").is_none(),
            "BASE_URL names a service elsewhere, and this test needs the local runner: leave it out by `-- --skip {LOCALLY}`"
        );
        Self::start_over(variables)
    }

    fn start_over(variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let variables = faults::with_those_of_all(owned(variables));
        let (data, log) = (folder.path().join("data"), folder.path().join("log"));
        let process = Process::start(&data, &log, &with_counts(folder.path(), &variables));
        let mut service = Self {
            client: Client::new(process.base_url()),
            folder,
            local: Some(Local {
                process,
                data_dir: data,
                log,
                variables,
            }),
        };
        service.client = service.new_client();
        service
    }

    /// Returns a client of the current runner. If the runner makes faults, the client retries after a 503.
    fn new_client(&self) -> Client {
        let Local {
            process, variables, ..
        } = self.local();
        let client = Client::new(process.base_url());
        match faults::seed_of(variables) {
            Some(_) => client.patient(),
            None => client,
        }
    }

    /// Returns how often each fault has happened in the runners of this test.
    pub fn faults(&self) -> BTreeMap<String, u64> {
        faults::counts(&self.folder.path().join(COUNTS))
    }

    /// Returns an account and a project that no other test uses.
    pub fn scope(&self) -> Scope {
        Scope::new(self.operator())
    }

    /// Returns the base of `/webhooks/events/…` in the URL of an ingest channel.
    pub fn ingest_url(&self) -> String {
        match environment::variable("INGEST_URL") {
            Some(url) if self.is_shared() => url.trim_end_matches('/').to_owned(),
            _ => format!("{}/ingest", self.origin()),
        }
    }

    /// True if the service runs elsewhere, so that others may work in the same project.
    pub fn is_shared(&self) -> bool {
        self.local.is_none()
    }

    /// True if the path of an operation can be called: an emulator that cannot stream has no path with
    /// `/stream`.
    pub fn has(&self, path: &str) -> bool {
        let cannot_stream = self.is_shared() && environment::variable("WITHOUT_STREAMING").is_some();
        !(cannot_stream && path.ends_with("/stream"))
    }

    /// Returns the OpenAPI document of a local service. For a service elsewhere it is that of the checkout; a
    /// test compares the two.
    pub async fn openapi(&self) -> Value {
        if self.is_shared() {
            let text = include_str!("../../infra/openapi.json");
            return serde_json::from_str(text).expect("the document is JSON");
        }
        let url = format!("{}/openapi.json", self.origin());
        let served = self.request(Method::GET, &url).await;
        served.expect_status(200).body
    }

    pub fn operator(&self) -> Operator {
        match &self.local {
            Some(local) => Operator::new(&local.data_dir),
            None => Operator::deployed(&keys_dir()),
        }
    }

    /// Returns the data directory of a local service.
    pub fn data_dir(&self) -> PathBuf {
        self.local().data_dir.clone()
    }

    /// Returns the folder of the keys that sign tokens.
    pub fn keys(&self) -> PathBuf {
        let folder = self.local.as_ref().map(|local| local.data_dir.clone());
        folder.unwrap_or_else(keys_dir).join("keys")
    }

    /// Returns the service's log; empty for a service elsewhere.
    pub fn log(&self) -> String {
        let text = self
            .local
            .as_ref()
            .map(|local| std::fs::read_to_string(&local.log));
        text.and_then(Result::ok).unwrap_or_default()
    }

    /// Returns the process of a local runner.
    pub fn process(&mut self) -> &mut Process {
        &mut self.local_mut().process
    }

    /// Kills the runner and starts another one over the same data directory, on another port.
    pub fn restart(&mut self) {
        let folder = self.folder.path().to_owned();
        let local = self.local_mut();
        local.process.kill();
        faults::advance(&mut local.variables);
        let variables = with_counts(&folder, &local.variables);
        local.process = Process::start(&local.data_dir, &local.log, &variables);
        self.client = self.new_client();
    }

    /// Stops the runner and starts another one through a launcher.
    pub fn restart_by(&mut self, launcher: &[&str]) {
        let local = self.local_mut();
        local.process.stop();
        local.process = Process::start_by(launcher, &local.data_dir, &local.log, &local.variables);
        self.client = Client::new(self.local().process.base_url());
    }

    /// Kills the runner and starts another one over another data directory, which stays in use.
    pub fn restart_over(&mut self, data_dir: &Path) {
        self.local_mut().process.kill();
        self.local_mut().data_dir = data_dir.to_owned();
        self.restart();
    }

    /// Kills the runner and starts another one with other variables, which stay in use.
    pub fn restart_with(&mut self, variables: &[(&str, &str)]) {
        self.local_mut().variables = faults::with_those_of_all(owned(variables));
        self.restart();
    }

    /// Returns the temporary folder of the test, for files of its own.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn local(&self) -> &Local {
        self.local
            .as_ref()
            .expect("a test that needs the process starts with Service::start_local")
    }

    fn local_mut(&mut self) -> &mut Local {
        self.local
            .as_mut()
            .expect("a test that needs the process starts with Service::start_local")
    }
}

/// Adds to a runner's variables the file of its counts, where it makes faults. Prints the seed.
#[expect(
    clippy::print_stdout,
    reason = "the test runner shows it where the test fails"
)]
fn with_counts(folder: &Path, variables: &[(String, String)]) -> Vec<(String, String)> {
    let mut variables = variables.to_vec();
    if let Some(seed) = faults::seed_of(&variables) {
        println!("the runner makes faults by the seed {seed}");
        let counts = folder.join(COUNTS);
        std::fs::create_dir_all(&counts).expect("the folder can be made");
        let file = counts.join(seed.to_string()).display().to_string();
        variables.push(("FAULTS_COUNTS".to_owned(), file));
    }
    variables
}

impl Deref for Service {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

/// Returns the folder in which `ops --data-dir` finds the keys of the service of `BASE_URL`.
fn keys_dir() -> PathBuf {
    let folder = environment::variable("KEYS_DIR");
    folder
        .expect(
            "BASE_URL is set, so set KEYS_DIR to the folder of the keys whose tokens that service accepts",
        )
        .into()
}

fn owned(variables: &[(&str, &str)]) -> Vec<(String, String)> {
    let variables = variables.iter();
    let variables = variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    variables.collect()
}
