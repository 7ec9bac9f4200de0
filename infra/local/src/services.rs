//! The twins of the cloud's record and object services, in this process, over the data directory.
//!
//! Both answer HTTP on ports of their own, so that everything above goes the same way as in the cloud, SDK
//! included. They answer only programs that hold a secret of the directory: the records see it with each
//! request, the objects see signatures made with it.

use std::future::pending;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use aws_config::SdkConfig;
use axum::Router;
use axum::body::Body;
use axum::error_handling::HandleError;
use axum::extract::Request;
use axum::http::StatusCode;
use base64::Engine as _;
use dynoxide::Database;
use platform::aws::{Keys, sdk_config_for};
use platform::config::{ConfigError, Secret};
use platform::objects::Objects;
use platform::queue::SqsQueue;
use platform::records::Table;
use platform::records::schema::{TableKind, create_table};
use rand::Rng as _;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use tokio::net::TcpListener;
use tokio::runtime;
use tower::ServiceExt;
use tracing::error;

use crate::data_dir::{DataDir, Endpoints, read_or_make};
use crate::guard;
use crate::object_files::ObjectFiles;
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
    /// The object store.
    pub objects: SdkConfig,
    endpoints: Endpoints,
    /// What the record store and the queues ask for.
    secret: Secret,
}

impl Services {
    /// Starts them over a directory that this process has for itself; connects to those of the process that has it
    /// otherwise.
    pub async fn open(data: &DataDir) -> Result<Self, ConfigError> {
        let secret = Secret::new(secret(data, "services")?);
        let object_store = Secret::new(self::secret(data, "object-store")?);
        let endpoints = if data.is_ours() {
            start(data, &secret, &object_store).await?
        } else {
            data.endpoints()?
        };
        let services = Self {
            endpoints: endpoints.clone(),
            records: sdk_config_for(&endpoints.records, Keys::shown(&secret)),
            objects: sdk_config_for(&endpoints.objects, Keys::signing(&object_store)),
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
        Objects::connect(&self.objects, name)
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

async fn start(data: &DataDir, secret: &Secret, object_store: &Secret) -> Result<Endpoints, ConfigError> {
    let path = data.private_file("records.sqlite")?;
    let database = Database::new(&path.to_string_lossy()).map_err(broken)?;
    let records_at = serve_records(database, secret.clone()).map_err(broken)?;

    std::fs::create_dir_all(data.path("objects").join(DATA_BUCKET)).map_err(broken)?;
    let files =
        s3s_fs::FileSystem::new(data.path("objects")).map_err(|error| broken(format!("{error:?}")))?;
    let mut builder = S3ServiceBuilder::new(ObjectFiles::new(files, data.path("objects")));
    builder.set_auth(SimpleAuth::from_single("local", object_store.expose()));
    let service = ServiceExt::<Request>::map_response(builder.build(), |response| response.map(Body::new));
    let service = HandleError::new(service, |_| async { StatusCode::INTERNAL_SERVER_ERROR });
    let (objects, objects_at) = listen().await?;
    let router = guard::for_signed_requests(Router::new().fallback_service(service));
    tokio::spawn(serve(objects, router, Limits::internal(), pending()));

    Ok(Endpoints {
        records: format!("http://{records_at}"),
        objects: format!("http://{objects_at}"),
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

fn broken(error: impl std::fmt::Display) -> ConfigError {
    ConfigError::new(format!("The local services did not start: {error}."))
}
