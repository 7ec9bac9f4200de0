//! A service to test: a runner that was started for one test, or one that runs elsewhere.

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

/// A running service, and the [`Client`] for it.
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
    /// The service of `BASE_URL`, else a new local one.
    pub async fn start() -> Self {
        match environment::variable("BASE_URL") {
            Some(url) => Self {
                client: Client::new(&url),
                folder: tempfile::tempdir().expect("a temporary folder"),
                local: None,
            },
            None => Self::start_over(Vec::new()),
        }
    }

    /// A service in which the test has an account and a project of its own: a new local one, or that of
    /// `BASE_URL` where `KEYS_DIR` names the keys of its tokens. None, and a line that says so, without
    /// these keys.
    pub async fn start_own() -> Option<Self> {
        if environment::variable("KEYS_DIR").is_none() && is_elsewhere() {
            return None;
        }
        Some(Self::start().await)
    }

    /// The same; a new local one has variables in its environment.
    pub async fn start_own_with(variables: &[(&str, &str)]) -> Option<Self> {
        match environment::variable("BASE_URL") {
            Some(_) => Self::start_own().await,
            None => Self::start_local_with(variables).await,
        }
    }

    /// A new local service. None, and a line that says so, where `BASE_URL` names another one.
    pub async fn start_local() -> Option<Self> {
        if is_elsewhere() {
            return None;
        }
        Some(Self::start().await)
    }

    /// The same with variables in the environment of the service.
    pub async fn start_local_with(variables: &[(&str, &str)]) -> Option<Self> {
        if is_elsewhere() {
            return None;
        }
        let variables = variables.iter();
        let variables = variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Some(Self::start_over(variables.collect()))
    }

    fn start_over(variables: Vec<(String, String)>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let variables = faults::with_those_of_all(variables);
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

    /// A client of the present runner, which repeats requests to one that makes faults.
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

    /// How often each fault has happened that the runners of this test made.
    pub fn faults(&self) -> BTreeMap<String, u64> {
        faults::counted(&self.folder.path().join(COUNTS))
    }

    /// An account and a project that no other test uses; for a service elsewhere without `KEYS_DIR`, those
    /// of its tokens.
    pub fn scope(&self) -> Scope {
        Scope::new(self.known_operator())
    }

    /// What stands before `/webhooks/events/…` in the URL of an ingest channel.
    pub fn ingest_url(&self) -> String {
        match environment::variable("INGEST_URL") {
            Some(url) if self.is_shared() => url.trim_end_matches('/').to_owned(),
            _ => format!("{}/ingest", self.origin()),
        }
    }

    /// Whether the service runs elsewhere, so that others may work in the same project.
    pub fn is_shared(&self) -> bool {
        self.local.is_none()
    }

    /// Whether the path of an operation can be called: an emulator that cannot stream has none of `/stream`.
    pub fn has(&self, path: &str) -> bool {
        let cannot_stream = self.is_shared() && environment::variable("WITHOUT_STREAMING").is_some();
        !(cannot_stream && path.ends_with("/stream"))
    }

    /// The OpenAPI document: what a local service serves; elsewhere it is the checkout's, which a test
    /// holds against that.
    pub async fn openapi(&self) -> Value {
        if self.is_shared() {
            let text = include_str!("../../infra/openapi.json");
            return serde_json::from_str(text).expect("the document is JSON");
        }
        let url = format!("{}/openapi.json", self.origin());
        let served = self.request(Method::GET, &url).await;
        served.expect_status(200).body
    }

    /// The operator command.
    pub fn operator(&self) -> Operator {
        self.known_operator()
            .expect("a test that needs the operator command starts with Service::start_own")
    }

    fn known_operator(&self) -> Option<Operator> {
        match &self.local {
            Some(local) => Some(Operator::new(&local.data_dir)),
            None => environment::variable("KEYS_DIR").map(|folder| Operator::deployed(Path::new(&folder))),
        }
    }

    /// The data directory; for local services.
    pub fn data_dir(&self) -> PathBuf {
        self.local().data_dir.clone()
    }

    /// The folder of the keys that tokens are signed with; after [`Service::start_own`].
    pub fn keys(&self) -> PathBuf {
        let folder = match &self.local {
            Some(local) => local.data_dir.clone(),
            None => environment::variable("KEYS_DIR")
                .map(PathBuf::from)
                .unwrap_or_default(),
        };
        folder.join("keys")
    }

    /// What the service has logged; nothing is known of a service elsewhere.
    pub fn log(&self) -> String {
        let text = self
            .local
            .as_ref()
            .map(|local| std::fs::read_to_string(&local.log));
        text.and_then(Result::ok).unwrap_or_default()
    }

    /// The runner's process; for local services.
    pub fn process(&mut self) -> &mut Process {
        &mut self.local_mut().process
    }

    /// Kills the runner and starts another one over the same data directory; it has another port.
    pub fn restart(&mut self) {
        let folder = self.folder.path().to_owned();
        let local = self.local_mut();
        local.process.kill();
        faults::advance(&mut local.variables);
        let variables = with_counts(&folder, &local.variables);
        local.process = Process::start(&local.data_dir, &local.log, &variables);
        self.client = self.new_client();
    }

    /// Stops the runner and starts another one by a launcher.
    pub fn restart_by(&mut self, launcher: &[&str]) {
        let local = self.local_mut();
        local.process.stop();
        local.process = Process::start_by(launcher, &local.data_dir, &local.log, &local.variables);
        self.client = Client::new(self.local().process.base_url());
    }

    /// Kills the runner and starts another one over another data directory, from now on.
    pub fn restart_over(&mut self, data_dir: &Path) {
        self.local_mut().process.kill();
        self.local_mut().data_dir = data_dir.to_owned();
        self.restart();
    }

    /// Kills the runner and starts another one with other variables in its environment, from now on.
    pub fn restart_with(&mut self, variables: &[(&str, &str)]) {
        let variables = variables.iter();
        let variables = variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        self.local_mut().variables = faults::with_those_of_all(variables.collect());
        self.restart();
    }

    /// The temporary folder of the test, for files of its own.
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

/// The variables of a runner, with the file of its counts where it makes faults. Tells the seed.
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

/// Whether `BASE_URL` names a service elsewhere; then it says that the test is skipped.
#[expect(clippy::print_stdout, reason = "the test runner shows why a test did nothing")]
pub fn is_elsewhere() -> bool {
    let elsewhere = environment::variable("BASE_URL").is_some();
    if elsewhere {
        println!("skipped: it needs the programs themselves, and BASE_URL names a service elsewhere");
    }
    elsewhere
}
