//! The records and objects of the local runner: embedded in this process over the data directory, or in AWS
//! where the environment says so.

use std::sync::Arc;
use std::time::Duration;

use aws::{Aws, Keys, SqsQueue, sdk_config_for};
use base64::Engine as _;
use embedded::sqlite::SqliteRecords;
use platform::config::{ConfigError, Environment, Secret};
use platform::deployment::Backend as _;
use platform::objects::Objects;
use platform::queue::Queue;
use platform::records::Table;
use platform::records::schema::TableKind;
use platform::records::store::RecordStore;
use platform::{Clock, Result, UtcTime};
use rand::Rng as _;
use tokio::net::TcpListener;
use tracing::warn;

use crate::data_dir::{DataDir, read_or_make};
use crate::layers::{Bare, Layers};
use crate::objects::LocalObjects;

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
/// Every table, with the kind that decides about its indexes.
pub const TABLES: [(&str, TableKind); 4] = [
    (RECORDS_TABLE, TableKind::Records),
    (AUDIT_TABLE, TableKind::Records),
    (RUNS_TABLE, TableKind::Listed),
    (EVENTS_TABLE, TableKind::Listed),
];

/// File of the records in a data directory.
pub(crate) const RECORDS_FILE: &str = "records.sqlite";
/// How often expired records are removed.
const EXPIRY: Duration = Duration::from_secs(60);
/// Expired records that are removed in one go.
pub const EXPIRED_AT_ONCE: usize = 10_000;

/// Where records and objects are, and the queues of the process that has the directory open.
#[derive(Clone)]
pub struct Services {
    records: Arc<dyn RecordStore>,
    /// The records, where they are in the data directory.
    embedded: Option<Arc<SqliteRecords>>,
    objects: LocalObjects,
    layers: Arc<dyn Layers>,
    /// Where the queues of the process that has the directory open answer.
    queues: Option<String>,
    /// What the queues ask for.
    secret: Secret,
}

impl Services {
    /// Everything in the data directory.
    pub fn open(data: &DataDir) -> Result<Self, ConfigError> {
        Self::from_environment(data, &Environment::from_variables([])?)
    }

    /// As `MILLRACE_RECORDS` says: `sqlite`, in the data directory, where it is missing, or `dynamodb`, which
    /// the SDK's variables reach. `MILLRACE_OBJECTS` says the same of objects.
    pub fn from_environment(data: &DataDir, environment: &Environment) -> Result<Self, ConfigError> {
        let (records, embedded): (Arc<dyn RecordStore>, _) = match environment
            .optional("MILLRACE_RECORDS")
            .unwrap_or("sqlite")
        {
            "sqlite" => {
                let embedded = open_records(data)?;
                (embedded.clone(), Some(embedded))
            }
            "dynamodb" => (Aws::from_environment().records(), None),
            other => {
                return Err(ConfigError::new(format!(
                    "The variable MILLRACE_RECORDS is '{other}'. Set it to sqlite or dynamodb, or leave it out."
                )));
            }
        };
        Ok(Self {
            records,
            embedded,
            objects: LocalObjects::open(data, environment)?,
            layers: Arc::new(Bare),
            queues: (!data.is_ours()).then(|| data.queues()).flatten(),
            secret: Secret::new(secret(data, "services")?),
        })
    }

    /// The same behind these layers.
    #[must_use]
    pub fn behind(self, layers: Arc<dyn Layers>) -> Self {
        Self {
            records: layers.records(self.records),
            objects: self.objects.behind(Arc::clone(&layers)),
            layers,
            ..self
        }
    }

    /// What stands around queues, the bus and the clock.
    pub fn layers(&self) -> &dyn Layers {
        self.layers.as_ref()
    }

    /// A table that does not exist is an error of its first use.
    pub fn table(&self, name: &str) -> Table {
        Table::new(Arc::clone(&self.records), name)
    }

    /// In S3 it is the configured bucket, whatever the name.
    pub fn bucket(&self, name: &str) -> Objects {
        self.objects.bucket(name)
    }

    /// For links, which the runner alone answers.
    pub fn objects(&self) -> &LocalObjects {
        &self.objects
    }

    /// Removes expired records from now on, as DynamoDB does by itself.
    pub fn remove_expired(&self, clock: Clock) {
        let services = self.clone();
        tokio::spawn(async move {
            loop {
                let removed = services.expire(clock.now()).await;
                if let Err(cause) = &removed {
                    warn!(%cause, "expired records are not removed");
                }
                if !removed.is_ok_and(|removed| removed == EXPIRED_AT_ONCE) {
                    tokio::time::sleep(EXPIRY).await;
                }
            }
        });
    }

    /// Removes records of the data directory that have expired by then, at most [`EXPIRED_AT_ONCE`]; how
    /// many.
    pub async fn expire(&self, now: UtcTime) -> Result<usize> {
        match &self.embedded {
            Some(records) => records.expired(now.as_seconds(), EXPIRED_AT_ONCE).await,
            None => Ok(0),
        }
    }

    /// What a caller of the queues must show.
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    /// The queue of this name of the process that has the directory open; None where that has no queues.
    pub fn queue(&self, name: &str) -> Option<Arc<dyn Queue>> {
        let endpoint = self.queues.as_ref()?;
        let sdk = sdk_config_for(endpoint, Keys::shown(&self.secret));
        Some(Arc::new(SqsQueue::connect(&sdk, format!("{endpoint}/{name}"))))
    }
}

pub(crate) fn open_records(data: &DataDir) -> Result<Arc<SqliteRecords>, ConfigError> {
    let path = data.private_file(RECORDS_FILE)?;
    SqliteRecords::open(&path, &TABLES).map(Arc::new)
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
    String::from_utf8(made)
        .map_err(|_| ConfigError::new(format!("{} is not a key; remove it.", path.display())))
}

/// A free port of this machine to listen on.
pub(crate) async fn listen() -> Result<(TcpListener, std::net::SocketAddr), ConfigError> {
    let broken =
        |error: std::io::Error| ConfigError::new(format!("No port of 127.0.0.1 can be used: {error}."));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(broken)?;
    let address = listener.local_addr().map_err(broken)?;
    Ok((listener, address))
}

/// What keeps the data directory from being used.
pub(crate) fn broken(error: impl std::fmt::Display) -> ConfigError {
    ConfigError::new(format!("The data directory cannot be used: {error}."))
}
