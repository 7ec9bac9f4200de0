//! Runs the Restate server with the same steps on its Rust SDK: the comparison for workflow runs.
//!
//! The server comes from npm, into the build's folder; the steps are `tests/peers/restate`, built here.
//! Nothing else in the project needs either.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::json;

use crate::{Result, programs};

/// Version of the server.
const VERSION: &str = "1.7.12";
/// Longest wait for the server.
const PATIENCE: Duration = Duration::from_secs(60);

/// Server and its service; both are killed when this is dropped.
pub struct Restate {
    server: Child,
    service: Child,
    ingress: String,
    http: Client,
}

impl Restate {
    /// Starts both over a folder.
    pub async fn start(folder: &Path) -> Result<Self> {
        let (server, service) = (install()?, build()?);
        let [node, admin, ingress, steps] = [(); 4].map(|()| free_port());
        let (node, admin, ingress, steps) = (node?, admin?, ingress?, steps?);
        let service = programs::command(&service)
            .arg(format!("127.0.0.1:{steps}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let server = programs::command(&server)
            .env("RESTATE_BASE_DIR", folder)
            .env("RESTATE_LISTEN_MODE", "tcp")
            .env("RESTATE_BIND_IP", "127.0.0.1")
            .env("RESTATE_BIND_PORT", node.to_string())
            .env("RESTATE_ADVERTISED_HOST", "127.0.0.1")
            .env("RESTATE_ADMIN__BIND_ADDRESS", format!("127.0.0.1:{admin}"))
            .env("RESTATE_INGRESS__BIND_ADDRESS", format!("127.0.0.1:{ingress}"))
            .env("RESTATE_DISABLE_TELEMETRY", "true")
            .env("RESTATE_LOG_FILTER", "warn")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let restate = Self {
            server,
            service,
            ingress: format!("http://127.0.0.1:{ingress}"),
            http: Client::builder().no_proxy().timeout(PATIENCE).build()?,
        };
        restate.register(admin, steps).await?;
        Ok(restate)
    }

    async fn register(&self, admin: u16, steps: u16) -> Result<()> {
        let url = format!("http://127.0.0.1:{admin}/deployments");
        let body = json!({ "uri": format!("http://127.0.0.1:{steps}") });
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.http.post(&url).json(&body).send().await {
                Ok(answer) if answer.status().is_success() => break,
                _ if Instant::now() > deadline => return Err("The Restate server is not ready.".into()),
                _ => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
        while self.run(1).await.is_err() {
            if Instant::now() > deadline {
                return Err("The Restate server runs no steps.".into());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    /// Runs `steps` steps. Returns the time from start to result, in milliseconds.
    async fn run(&self, steps: u32) -> Result<f64> {
        let began = Instant::now();
        let url = format!("{}/Steps/run", self.ingress);
        let answer = self
            .http
            .post(url)
            .json(&steps)
            .send()
            .await?
            .error_for_status()?;
        answer.bytes().await?;
        Ok(began.elapsed().as_secs_f64() * 1e3)
    }

    /// Starts runs of `steps` steps with concurrent clients. Returns each run's time in milliseconds, and the
    /// total in seconds.
    pub async fn load(self: &Arc<Self>, clients: u32, runs: u64, steps: u32) -> Result<(Vec<f64>, f64)> {
        let next = Arc::new(AtomicU64::new(0));
        let began = Instant::now();
        let clients: Vec<_> = (0..clients)
            .map(|_| {
                let (restate, next) = (Arc::clone(self), Arc::clone(&next));
                tokio::spawn(async move {
                    let mut took = Vec::new();
                    while next.fetch_add(1, Ordering::Relaxed) < runs {
                        took.push(restate.run(steps).await?);
                    }
                    Ok::<_, crate::Error>(took)
                })
            })
            .collect();
        let mut took = Vec::new();
        for client in clients {
            took.extend(client.await??);
        }
        Ok((took, began.elapsed().as_secs_f64()))
    }
}

impl Drop for Restate {
    fn drop(&mut self) {
        for child in [&mut self.server, &mut self.service] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Installs the server's program from npm.
fn install() -> Result<PathBuf> {
    let folder = programs::folder()?.join(format!("../bench-restate-{VERSION}"));
    if server(&folder).is_none() {
        std::fs::create_dir_all(&folder)?;
        let npm = Command::new("npm")
            .args(["install", "--no-save", "--prefix"])
            .arg(&folder)
            .arg(format!("@restatedev/restate-server@{VERSION}"))
            .output()?;
        if !npm.status.success() {
            let stderr = String::from_utf8_lossy(&npm.stderr);
            return Err(format!("npm did not install the Restate server: {}", stderr.trim()).into());
        }
    }
    server(&folder).ok_or_else(|| "npm has no Restate server for this machine".into())
}

/// Returns the server's own program. The program that npm puts on the path only starts the server, so killing
/// that one leaves the server running.
fn server(folder: &Path) -> Option<PathBuf> {
    let packages = std::fs::read_dir(folder.join("node_modules/@restatedev")).ok()?;
    let programs = packages
        .flatten()
        .map(|package| package.path().join("bin/restate-server"));
    let mut servers = programs.filter(|program| program.to_string_lossy().contains("restate-server-"));
    servers.find(|program| program.is_file())
}

/// Builds the program with the steps.
fn build() -> Result<PathBuf> {
    let target = programs::folder()?.join("../bench-restate-steps");
    let built = Command::new("cargo")
        .args([
            "build",
            "-q",
            "--release",
            "--locked",
            "--manifest-path",
            "tests/peers/restate/Cargo.toml",
        ])
        .env("CARGO_TARGET_DIR", &target)
        .output()?;
    if !built.status.success() {
        let stderr = String::from_utf8_lossy(&built.stderr);
        return Err(format!("The steps for Restate were not built: {}", stderr.trim()).into());
    }
    Ok(target.join("release/restate-steps"))
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
