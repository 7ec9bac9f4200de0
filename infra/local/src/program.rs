//! Implements the service as a program: `millrace`, and the runner of tests that makes faults.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use platform::config::variables;
use platform::config::{ConfigError, Environment};
use platform::deployment::Backend as _;
use platform::http::service::normalized;
use platform::metrics::init_prometheus;
use platform::telemetry::{self, Format};
use sd_notify::NotifyState;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tracing::info;

use crate::arguments::{Arguments, Mode};
use crate::console;
use crate::data_dir::{DataDir, broken};
use crate::gauges;
use crate::greeting::Greeting;
use crate::health::Health;
use crate::issuer::Issuer;
use crate::layers::Layers;
use crate::queue_server;
use crate::runner::Service;
use crate::server::{self, Front, Limits};
use crate::services::{self, Ports, RECORDS_TABLE, Services};
use crate::settings::Settings;
use crate::takeover::listen_and_own;
use crate::tls::Tls;

/// Time that open work gets when the runner stops.
const LAST_WORK: Duration = Duration::from_secs(2);
/// Folder in the data directory for certificates and the account at their authority.
const CERTIFICATES: &str = "certificates";

/// Runs the process's work and exits if the process is a child of a runner. `main` must call this first.
pub fn run_if_child() {
    lake::run_if_child();
    prompts_function::run_if_child();
    runs::process::run_if_child();
}

/// Runs the service until the process is asked to stop.
pub fn run(arguments: Arguments, mode: Mode, layers: Arc<dyn Layers>) -> ExitCode {
    match start(&arguments, mode, layers) {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => {
            let _ = writeln!(io::stderr(), "millrace: {refusal}");
            ExitCode::FAILURE
        }
    }
}

fn start(arguments: &Arguments, mode: Mode, layers: Arc<dyn Layers>) -> Result<(), ConfigError> {
    let environment = Environment::read()?;
    services::refuse_ignored(&environment)?;
    let (settings, environment) = Settings::read(arguments, mode, environment)?;
    let format = match mode {
        Mode::Development => Format::Text,
        Mode::Production => Format::Json,
    };
    telemetry::init(&environment, format, "info")?;
    if settings.metrics.is_some() {
        init_prometheus()?;
    }
    if settings.replace {
        // In a runtime of its own, which ends what this starts.
        runtime()?.block_on(async { try_settings(&environment) })?;
    }
    let runtime = runtime()?;
    let ended = runtime.block_on(serve(&settings, &environment, layers));
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
    let service = Service::new(&services, Ports::default())?;
    console::routes(service.environment(), issuer, services.clock()).map(drop)
}

/// Returns the data directory, which is this process's until its last work has ended.
async fn serve(
    settings: &Settings,
    environment: &Environment,
    layers: Arc<dyn Layers>,
) -> Result<DataDir, ConfigError> {
    let (listener, data) = listen_and_own(settings).await?;
    let address = listener.local_addr().map_err(broken)?;
    let certificates = data.path(CERTIFICATES);
    let tls = settings
        .tls
        .as_ref()
        .map(|source| Tls::start(source, certificates));
    let front = Front {
        tls: tls.transpose()?,
        proxies: settings.proxies.clone(),
    };
    let issuer = Issuer::of_runner(&data, environment)?.map(Arc::new);
    let services = Services::from_environment(&data, environment)?.behind(layers);
    let clock = services.clock();
    let (internal_listener, internal_address) = services::listen().await?;
    let ports = Ports {
        public: address.port(),
        internal: internal_address.port(),
    };
    let service = Service::new(&services, ports)?;
    let origin = service.environment().required(variables::PUBLIC_URL)?;
    let health = Health::new(services.table(RECORDS_TABLE));
    let console = console::routes(service.environment(), issuer.clone(), clock.clone())?;
    let has_console = console.is_some();
    let router = service.router(console)?.merge(health.routes());
    let replaced = Arc::new(Notify::new());
    queue_server::serve(
        internal_listener,
        services.queues(),
        Arc::clone(&replaced),
        services.secret(),
        router.clone(),
    );
    data.publish_queues(format!("http://{internal_address}"))?;
    data.publish_address(address, &origin)?;
    let mut metrics = None;
    if let Some(address) = settings.metrics {
        let listener = services::listen_at(variables::METRICS_LISTEN, address).await?;
        metrics = Some(listener.local_addr().map_err(broken)?);
        let routes = health.routes().merge(gauges::routes(services.clone()));
        tokio::spawn(server::serve(
            listener,
            routes,
            Limits::internal(),
            std::future::pending(),
        ));
    }
    service
        .stores
        .warm()
        .and_then(|()| service.prompt_checks.warm())
        .map_err(|error| ConfigError::new(error.to_string()))?;
    service.resume_upkeep();
    health.set_ready(true);
    if settings.mode == Mode::Development {
        let greeting = Greeting {
            origin: &origin,
            data: &data,
            data_dir: &settings.data_dir,
            has_console,
            command: environment.optional(variables::COMMAND).unwrap_or("millrace"),
            issuer: issuer.as_deref(),
        };
        greeting.print(&clock)?;
    } else {
        let version = env!("CARGO_PKG_VERSION");
        let metrics = metrics.map(tracing::field::display);
        info!(version, %origin, %address, metrics, data_dir = %data.root().display(), "ready");
    }
    // Fails where no supervisor listens.
    let _ = sd_notify::notify(&[NotifyState::Ready]);

    let followers = service.followers.clone();
    let stop = async move {
        tokio::select! { () = stopped() => {}, () = replaced.notified() => info!("another runner takes over") }
        health.set_ready(false);
        let _ = sd_notify::notify(&[NotifyState::Stopping]);
        // Without this, streams end only with their runs.
        followers.end();
    };
    server::serve_behind(listener, front, normalized(router), Limits::public(), stop).await;
    Ok(data)
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
