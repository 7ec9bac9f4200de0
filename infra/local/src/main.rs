//! `millrace`: the local runner's command.

use std::io::Write as _;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use local::data_dir::DataDir;
use local::issuer::{Issuer, LIFETIME_SECONDS, Subject};
use local::queue_server;
use local::runner::Service;
use local::services::{Services, at_once};
use mimalloc::MiMalloc;
use platform::Clock;
use platform::config::{ConfigError, Environment};
use platform::http::serve::normalized;
use platform::telemetry::{self, Format};
use tokio::net::TcpListener;

/// The C library's allocator takes a lock that the threads of the HTTP server and of the AWS SDK wait for.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// How long work that is under way may go on when the runner ends.
const LAST_WORK: Duration = Duration::from_secs(2);

/// Runs the whole of Millrace on this machine.
#[derive(Parser)]
#[command(name = "millrace", version)]
struct Arguments {
    /// Port to listen on, on 127.0.0.1; 0 takes a free one.
    #[arg(long, env = "PORT", default_value_t = 3000)]
    port: u16,
    /// Folder that keeps everything.
    #[arg(long, env = "DATA_DIR", default_value = ".millrace")]
    data_dir: PathBuf,
}

fn main() -> std::process::ExitCode {
    lake::run_if_child();
    match start(Arguments::parse()) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(refusal) => {
            let _ = writeln!(std::io::stderr(), "millrace: {refusal}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn start(arguments: Arguments) -> Result<(), ConfigError> {
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|error| ConfigError::new(format!("The runner did not start: {error}.")))?;
    let ended = runtime.block_on(run(arguments));
    // Code of a workflow that never gives way is not waited for.
    runtime.shutdown_timeout(LAST_WORK);
    ended
}

async fn run(arguments: Arguments) -> Result<(), ConfigError> {
    let environment = Environment::read()?;
    telemetry::init(&environment, Format::Text, "info,s3s=warn,dynoxide=error")?;
    let listener = listen(arguments.port).await?;
    let port = listener
        .local_addr()
        .map_or(arguments.port, |address| address.port());
    let data = DataDir::open(&arguments.data_dir)?;
    if !data.is_ours() {
        return Err(ConfigError::new(format!(
            "Another process has the data directory {} open. Stop it, or set DATA_DIR to another folder.",
            data.root().display()
        )));
    }
    let issuer = Issuer::open(&data)?;
    let services = Services::open(&data).await?;
    let service = Service::new(&data, &services, &environment)?;
    let queues = [
        ("events", service.events.queue.clone()),
        ("tasks", service.runs.tasks.clone()),
    ];
    let queues = queue_server::serve(queues.into()).await?;
    services.publish(&data, queues)?;
    let router = service.router()?;
    service
        .stores
        .warm()
        .map_err(|error| ConfigError::new(error.to_string()))?;
    service
        .resume_upkeep()
        .await
        .map_err(|error| ConfigError::new(error.to_string()))?;
    let token = issuer
        .token(&Subject::default(), Clock::System.now(), LIFETIME_SECONDS)
        .map_err(|error| ConfigError::new(error.to_string()))?;
    greet(port, &data, &token);

    let followers = service.runs.followers.clone();
    let server = axum::ServiceExt::<axum::extract::Request>::into_make_service(normalized(router));
    axum::serve(at_once(listener), server)
        .with_graceful_shutdown(async move {
            stopped().await;
            // Streams end by themselves only with their runs.
            followers.end();
        })
        .await
        .map_err(|error| ConfigError::new(format!("The server failed: {error}.")))
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

fn greet(port: u16, data: &DataDir, token: &str) {
    let base = format!("http://127.0.0.1:{port}");
    let text = format!(
        r#"Millrace is ready.

  API         {base}/api/v1
  ingest      {base}/ingest
  reference   {base}/docs
  data        {}

A token of the developer 'dev' of account 'acme', project 'demo', good for 12 hours ('make -s token' prints another):

export TOKEN={token}

Try:

curl -s -H "Authorization: Bearer $TOKEN" {base}/api/v1/prompts
curl -s -H "Authorization: Bearer $TOKEN" -H 'content-type: application/json' {base}/api/v1/prompts \
  -d '{{"name":"Greeting","role":"user","content_type":"handlebars","content":"Hello {{{{name}}}}!"}}'
curl -s -H "Authorization: Bearer $TOKEN" {base}/api/v1/audit-trail

"#,
        data.root().display(),
    );
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
