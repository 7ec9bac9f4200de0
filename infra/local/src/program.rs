//! Implements the command `millrace`, for every program that is a runner.

use std::io::{self, Write as _};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use platform::config::{ConfigError, Environment};
use platform::deployment::Backend as _;
use platform::http::service::normalized;
use platform::telemetry::{self, Format};
use rustix::fs::FileType;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::time::Instant;
use tracing::info;

use crate::arguments::{Arguments, DEFAULT_DATA_DIR};
use crate::console;
use crate::data_dir::{DataDir, broken};
use crate::issuer::{Issuer, LIFETIME_SECONDS, Subject};
use crate::layers::Layers;
use crate::queue_server::{self, OtherRunner};
use crate::runner::Service;
use crate::secrets::queue_secret;
use crate::server::{self, Limits};
use crate::services::{self, Ports, Services};

/// Longest time that a replaced runner takes to end.
const ENDING: Duration = Duration::from_secs(30);
/// Time between two looks whether it has ended.
const LOOKING: Duration = Duration::from_millis(20);
/// Time that open work gets when the runner stops.
const LAST_WORK: Duration = Duration::from_secs(2);

/// Runs the process's work and exits if the process is a child of a runner. `main` must call this first.
pub fn run_if_child() {
    lake::run_if_child();
    prompts_function::run_if_child();
    runs::process::run_if_child();
}

/// Runs the service until the process is asked to stop.
pub fn run(arguments: Arguments, layers: Arc<dyn Layers>) -> ExitCode {
    match start(arguments, layers) {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => {
            let _ = writeln!(io::stderr(), "millrace: {refusal}");
            ExitCode::FAILURE
        }
    }
}

fn start(arguments: Arguments, layers: Arc<dyn Layers>) -> Result<(), ConfigError> {
    let environment = Environment::read()?;
    services::refuse_ignored(&environment)?;
    telemetry::init(&environment, Format::Text, "info")?;
    if arguments.replace {
        // In a runtime of its own, which ends what this starts.
        runtime()?.block_on(async { try_settings(&environment) })?;
    }
    let runtime = runtime()?;
    let ended = runtime.block_on(serve(arguments, &environment, layers));
    runtime.block_on(telemetry::flush());
    // Workflow code that never yields is not waited for. Nothing of this process may be at work once another
    // one has the data directory.
    runtime.shutdown_timeout(LAST_WORK);
    ended.map(drop)
}

fn runtime() -> Result<Runtime, ConfigError> {
    Runtime::new().map_err(|error| ConfigError::new(format!("The runner did not start: {error}.")))
}

/// Builds the service over an empty directory: a setting that it refuses must not end another runner.
fn try_settings(environment: &Environment) -> Result<(), ConfigError> {
    let folder = tempfile::tempdir().map_err(broken)?;
    let data = DataDir::open(folder.path())?;
    let services = Services::from_environment(&data, environment)?;
    let issuer = Issuer::of_runner(&data, environment)?.map(Arc::new);
    Service::new(&services, Ports::default())?;
    console::routes(environment, issuer, services.clock(), 0).map(drop)
}

/// Opens the data directory, which no other process may have open. With `--replace` it asks the runner that
/// has it to stop, and waits for its end.
async fn own(arguments: &Arguments) -> Result<DataDir, ConfigError> {
    let until = Instant::now() + ENDING;
    // Another runner may have taken over meanwhile, so each is asked.
    let mut last = None;
    loop {
        let data = DataDir::open(&arguments.data_dir)?;
        if data.is_ours() {
            return Ok(data);
        }
        if !arguments.replace || Instant::now() >= until {
            let advice = match arguments.replace {
                true => "It was asked to stop and has not; stop it.",
                false => "Stop it, start this one with --replace, or set DATA_DIR to another folder.",
            };
            return Err(ConfigError::new(format!(
                "Another process has the data directory {} open. {advice}",
                data.root().display()
            )));
        }
        let endpoint = data.queues().filter(|endpoint| last.as_ref() != Some(endpoint));
        if let Some(endpoint) = endpoint {
            let secret = queue_secret(&data)?;
            // One that does not answer is asked again.
            if OtherRunner::new(&endpoint, &secret).stop().await.is_ok() {
                last = Some(endpoint);
            }
        }
        tokio::time::sleep(LOOKING).await;
    }
}

/// Listens on the port, before another runner is asked to stop: where a third program has the port, that one
/// goes on. Its own port is free only after its end.
async fn listen_and_own(arguments: &Arguments) -> Result<(TcpListener, DataDir), ConfigError> {
    let is_others = || {
        // Without a data directory there is no other runner, and a refused start makes none.
        let is_present = DataDir::is_present(&arguments.data_dir);
        is_present.then_some(())?;
        let origin = DataDir::open_keys(&arguments.data_dir).ok()?.origin()?;
        origin.ends_with(&format!(":{}", arguments.port)).then_some(())
    };
    match listen(arguments.port).await {
        Ok(listener) => Ok((listener, own(arguments).await?)),
        Err(refusal) if !arguments.replace || is_others().is_none() => Err(refusal),
        Err(_) => {
            let data = own(arguments).await?;
            Ok((listen(arguments.port).await?, data))
        }
    }
}

/// Returns the data directory, which is this process's until its last work has ended.
async fn serve(
    arguments: Arguments,
    environment: &Environment,
    layers: Arc<dyn Layers>,
) -> Result<DataDir, ConfigError> {
    let (listener, data) = listen_and_own(&arguments).await?;
    let port = listener
        .local_addr()
        .map_or(arguments.port, |address| address.port());
    let issuer = Issuer::of_runner(&data, environment)?.map(Arc::new);
    let services = Services::from_environment(&data, environment)?.behind(layers);
    let clock = services.clock();
    let (queue_listener, queue_address) = services::listen().await?;
    let ports = Ports {
        public: port,
        queues: queue_address.port(),
    };
    let service = Service::new(&services, ports)?;
    let replaced = Arc::new(Notify::new());
    queue_server::serve(
        queue_listener,
        services.queues(),
        Arc::clone(&replaced),
        services.secret(),
    );
    data.publish_queues(format!("http://{queue_address}"))?;
    data.publish_port(port)?;
    let console = console::routes(environment, issuer.clone(), clock.clone(), port)?;
    let has_console = console.is_some();
    let router = service.router(console)?;
    service
        .stores
        .warm()
        .and_then(|()| service.prompt_checks.warm())
        .map_err(|error| ConfigError::new(error.to_string()))?;
    service.resume_upkeep();
    let shown = match &issuer {
        None => Shown::OfProvider,
        Some(_) if !may_print(io::stdout().as_fd()) => Shown::Hidden,
        Some(issuer) => Shown::Token(
            issuer
                .token(&Subject::default(), clock.now(), LIFETIME_SECONDS)
                .map_err(|error| ConfigError::new(error.to_string()))?,
        ),
    };
    greet(port, &data, (&env_command(&arguments), has_console), &shown);

    let followers = service.followers.clone();
    let stop = async move {
        tokio::select! { () = stopped() => {}, () = replaced.notified() => info!("another runner takes over") }
        // Without this, streams end only with their runs.
        followers.end();
    };
    server::serve(listener, normalized(router), Limits::public(), stop).await;
    Ok(data)
}

async fn listen(port: u16) -> Result<TcpListener, ConfigError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .await
        .map_err(|error| {
            ConfigError::new(format!(
                "Port {port} of 127.0.0.1 cannot be used: {error}. Set PORT to another one."
            ))
        })
}

async fn stopped() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    if let Ok(mut terminate) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        tokio::select! { _ = interrupt => {}, _ = terminate.recv() => {} }
        return;
    }
    let _ = interrupt.await;
}

/// Returns the command that prints the variables for another terminal.
fn env_command(arguments: &Arguments) -> String {
    let command = match arguments.installed {
        true => "millrace ops env",
        false => "make -s env",
    };
    match arguments.data_dir == Path::new(DEFAULT_DATA_DIR) {
        true => command.to_owned(),
        false => format!("DATA_DIR='{}' {command}", arguments.data_dir.display()),
    }
}

/// True if a secret printed here stays with the owner: the output is not a file that others can read.
fn may_print(output: BorrowedFd<'_>) -> bool {
    rustix::fs::fstat(output).is_ok_and(|file| {
        FileType::from_raw_mode(file.st_mode) != FileType::RegularFile || file.st_mode & 0o044 == 0
    })
}

/// What is said about access tokens.
enum Shown {
    /// A token of the developer.
    Token(String),
    /// Others can read the output.
    Hidden,
    /// The identity provider issues them.
    OfProvider,
}

/// Prints what a caller needs. `env` is the command that prints it for a shell.
fn greet(port: u16, data: &DataDir, (env, has_console): (&str, bool), shown: &Shown) {
    let variables = match shown {
        Shown::OfProvider => String::new(),
        _ => format!("API, INGEST and TOKEN for another terminal:\n\neval \"$({env})\"\n\n"),
    };
    let token = match shown {
        Shown::Hidden => "Others can read this file, so no token is printed here.".to_owned(),
        Shown::OfProvider => {
            "Access tokens are those of the identity provider in the settings; export one as TOKEN."
                .to_owned()
        }
        Shown::Token(token) => format!(
            "A token of the developer 'dev' of account 'acme', project 'demo', good for 12 hours:\n\nexport TOKEN={token}"
        ),
    };
    let base = format!("http://127.0.0.1:{port}");
    let console = match has_console {
        true => format!("{base}/console"),
        false => "not built; `infra/console/build` builds it for MILLRACE_CONSOLE_DIR".to_owned(),
    };
    let text = format!(
        r#"Millrace is ready.

  console     {console}
  API         {base}/api/v1
  ingest      {base}/ingest
  reference   {base}/docs
  data        {}

{variables}{token}

Try:

curl -s -H "Authorization: Bearer $TOKEN" {base}/api/v1/prompts
curl -s -H "Authorization: Bearer $TOKEN" -H 'content-type: application/json' {base}/api/v1/prompts \
  -d '{{"name":"Greeting","role":"user","content_type":"handlebars","content":"Hello {{{{name}}}}!"}}'
curl -s -H "Authorization: Bearer $TOKEN" {base}/api/v1/audit-trail

"#,
        data.root().display(),
    );
    let mut out = io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
