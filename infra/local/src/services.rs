//! The services that hold records and objects, over the data directory.
//!
//! The twin of DynamoDB answers HTTP on a port of its own, so that everything above goes the same way as in the
//! cloud, SDK included. It answers only programs that hold a secret of the directory. Objects are files, or in a
//! bucket of S3.

use std::future::pending;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use aws_config::SdkConfig;
use base64::Engine as _;
use dynoxide::Database;
use platform::aws::{Keys, sdk_config_for};
use platform::config::{ConfigError, Environment, Secret};
use platform::objects::Objects;
use platform::queue::SqsQueue;
use platform::records::Table;
use platform::records::schema::{TableKind, create_table};
use rand::Rng as _;
use tokio::net::TcpListener;
use tokio::runtime;
use tracing::error;

use crate::data_dir::{DataDir, Endpoints, read_or_make};
use crate::guard;
use crate::objects::LocalObjects;
use crate::record_server;
use crate::server::{Limits, serve};

/// Name of the table of records.
pub const RECORDS_TABLE: &str = "millrace-records";
/// Name of the table of audit records.
pub const AUDIT_TABLE: &str = "millrace-audit";
/// Name of the table of workflow runs.
pub const RUNS_TABLE: &str = "millrace-runs";
/// Name of the table of events and deliveries.
pub const EVENTS_TABLE: &str = "millrace-events";
/// Name of the bucket of store data and artifacts.
pub const DATA_BUCKET: &str = "millrace-data";

/// How often expired records are removed.
const TTL_SWEEP: Duration = Duration::from_secs(60);

/// How to reach the services.
#[derive(Clone)]
pub struct Services {
    /// The tables.
    pub records: SdkConfig,
    objects: LocalObjects,
    endpoints: Endpoints,
    /// What the record store and the queues ask for.
    secret: Secret,
}

impl Services {
    /// Starts them over a directory that this process has for itself; connects to those of the process that has it
    /// otherwise.
    pub async fn open(data: &DataDir) -> Result<Self, ConfigError> {
        Self::open_with(data, &Environment::from_variables([])?).await
    }

    /// The same, with objects as the environment says.
    pub async fn open_with(data: &DataDir, environment: &Environment) -> Result<Self, ConfigError> {
        let secret = Secret::new(secret(data, "services")?);
        let endpoints = if data.is_ours() {
            start(data, &secret)?
        } else {
            data.endpoints()?
        };
        let services = Self {
            endpoints: endpoints.clone(),
            records: sdk_config_for(&endpoints.records, Keys::shown(&secret)),
            objects: LocalObjects::open(data, environment)?,
            secret,
        };
        if data.is_ours() {
            for (table, kind) in [
                (RECORDS_TABLE, TableKind::Records),
                (AUDIT_TABLE, TableKind::Records),
                (RUNS_TABLE, TableKind::Listed),
                (EVENTS_TABLE, TableKind::Listed),
            ] {
                create_table(&services.records, table, kind)
                    .await
                    .map_err(broken)?;
            }
        }
        Ok(services)
    }

    /// The table of this name.
    pub fn table(&self, name: &str) -> Table {
        Table::connect(&self.records, name)
    }

    /// The bucket of this name.
    pub fn bucket(&self, name: &str) -> Objects {
        self.objects.bucket(name)
    }

    /// The objects.
    pub fn objects(&self) -> &LocalObjects {
        &self.objects
    }

    /// What a caller of the record store and the queues must show.
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    /// Says in the directory where the services answer, and where the queues do: for a process that stays.
    pub fn publish(&self, data: &DataDir, queues: String) -> Result<(), ConfigError> {
        data.publish(&Endpoints {
            queues: Some(queues),
            ..self.endpoints.clone()
        })
    }

    /// The queue of this name of the process that has the directory open; None where that has no queues.
    pub fn queue(&self, name: &str) -> Option<SqsQueue> {
        let endpoint = self.endpoints.queues.as_ref()?;
        let sdk = sdk_config_for(endpoint, Keys::shown(&self.secret));
        Some(SqsQueue::connect(&sdk, format!("{endpoint}/{name}")))
    }
}

fn start(data: &DataDir, secret: &Secret) -> Result<Endpoints, ConfigError> {
    let path = data.private_file("records.sqlite")?;
    let database = Database::new(&path.to_string_lossy()).map_err(broken)?;
    let records_at = serve_records(database, secret.clone()).map_err(broken)?;
    Ok(Endpoints {
        records: format!("http://{records_at}"),
        queues: None,
    })
}

/// The twin of DynamoDB does its work at once, on the thread that its request came in on, and one request at a time: with a
/// thread of its own, nothing else waits for it.
fn serve_records(database: Database, secret: Secret) -> std::io::Result<SocketAddr> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let serve = async move {
        match TcpListener::from_std(listener) {
            Ok(listener) => {
                tokio::spawn(sweep(database.clone()));
                let router = guard::for_holders_of(secret, record_server::routes(database));
                serve(listener, router, Limits::internal(), pending()).await;
            }
            Err(error) => error!(%error, "the record store did not start"),
        }
    };
    thread::Builder::new()
        .name("records".to_owned())
        .spawn(move || runtime.block_on(serve))?;
    Ok(address)
}

/// A free port of this machine to listen on.
pub(crate) async fn listen() -> Result<(TcpListener, SocketAddr), ConfigError> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(broken)?;
    let address = listener.local_addr().map_err(broken)?;
    Ok((listener, address))
}

async fn sweep(database: Database) {
    let mut ticks = tokio::time::interval(TTL_SWEEP);
    loop {
        ticks.tick().await;
        let database = database.clone();
        let _ = tokio::task::spawn_blocking(move || database.sweep_ttl()).await;
    }
}

/// A secret of this directory alone, made when it is first needed.
pub(crate) fn secret(data: &DataDir, name: &str) -> Result<String, ConfigError> {
    let path = data.path("keys").join(name);
    let made = read_or_make(&path, || {
        let mut random = [0_u8; 24];
        rand::rng().fill_bytes(&mut random);
        Ok(base64::engine::general_purpose::URL_SAFE_NO_PAD
            .encode(random)
            .into_bytes())
    })?;
    String::from_utf8(made).map_err(|_| broken(format!("{} is not a key; remove it", path.display())))
}

pub(crate) fn broken(error: impl std::fmt::Display) -> ConfigError {
    ConfigError::new(format!("The local services did not start: {error}."))
}
