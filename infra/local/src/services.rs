//! Opens the records and objects of the local runner: embedded in this process over the data directory, or in
//! AWS if the environment says so.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use embedded::sqlite::SqliteRecords;
use platform::config::{ConfigError, Environment, Secret};
use platform::objects::Objects;
use platform::queue::Queue;
use platform::records::Table;
use platform::records::schema::TableKind;
use platform::records::store::RecordStore;
use platform::{Clock, Result, UtcTime};
use rand::Rng as _;
use tokio::net::TcpListener;
use tracing::warn;

use crate::cloud::Cloud;
use crate::data_dir::{DataDir, read_or_make};
use crate::layers::{Bare, Layers};
use crate::objects::LocalObjects;
use crate::queue_server::{OtherRunner, RemoteQueue};

pub const RECORDS_TABLE: &str = "millrace-records";
pub const AUDIT_TABLE: &str = "millrace-audit";
pub const RUNS_TABLE: &str = "millrace-runs";
pub const EVENTS_TABLE: &str = "millrace-events";
/// Bucket of store data and artifacts.
pub const DATA_BUCKET: &str = "millrace-data";
/// Every table, with the kind that determines its indexes.
pub const TABLES: [(&str, TableKind); 4] = [
    (RECORDS_TABLE, TableKind::Records),
    (AUDIT_TABLE, TableKind::Records),
    (RUNS_TABLE, TableKind::Listed),
    (EVENTS_TABLE, TableKind::Listed),
];

pub(crate) const RECORDS_FILE: &str = "records.sqlite";
/// Pause between two removals of expired records.
const EXPIRY: Duration = Duration::from_secs(60);
/// Maximum number of expired records that are removed at once.
pub const EXPIRED_AT_ONCE: usize = 10_000;

/// Records and objects, and the queues of the process that has the directory open.
#[derive(Clone)]
pub struct Services {
    records: Arc<dyn RecordStore>,
    /// None where the records are not in the data directory.
    embedded: Option<Arc<SqliteRecords>>,
    objects: LocalObjects,
    layers: Arc<dyn Layers>,
    /// Endpoint of the queues of the process that has the directory open.
    queues: Option<String>,
    /// Secret that the queues require.
    secret: Secret,
}

impl Services {
    /// Opens records and objects in the data directory.
    pub fn open(data: &DataDir) -> Result<Self, ConfigError> {
        Self::from_environment(data, &Environment::from_variables([])?)
    }

    /// Opens the services that the environment selects. `MILLRACE_RECORDS` is `sqlite`, in the data
    /// directory, which is the default, or `dynamodb`, which the SDK's variables reach; `MILLRACE_OBJECTS`
    /// selects the same for objects.
    pub fn from_environment(data: &DataDir, environment: &Environment) -> Result<Self, ConfigError> {
        let (records, embedded): (Arc<dyn RecordStore>, _) = match environment
            .optional("MILLRACE_RECORDS")
            .unwrap_or("sqlite")
        {
            "sqlite" => {
                let embedded = open_records(data)?;
                (embedded.clone(), Some(embedded))
            }
            "dynamodb" => (Cloud::from_environment().records()?, None),
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

    /// Returns the same services behind these layers.
    #[must_use]
    pub fn behind(self, layers: Arc<dyn Layers>) -> Self {
        Self {
            records: layers.records(self.records),
            objects: self.objects.behind(Arc::clone(&layers)),
            layers,
            ..self
        }
    }

    pub fn layers(&self) -> &dyn Layers {
        self.layers.as_ref()
    }

    /// Returns a table. A missing table is an error of its first use.
    pub fn table(&self, name: &str) -> Table {
        Table::new(Arc::clone(&self.records), name)
    }

    /// Returns a bucket. In S3 it is the configured bucket, whatever the name.
    pub fn bucket(&self, name: &str) -> Objects {
        self.objects.bucket(name)
    }

    /// Returns the objects for links, which only the runner answers.
    pub fn objects(&self) -> &LocalObjects {
        &self.objects
    }

    /// Starts the regular removal of expired records, which DynamoDB does on its own.
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

    /// Removes records of the data directory that expired before `now`, at most [`EXPIRED_AT_ONCE`]. Returns
    /// their number.
    pub async fn expire(&self, now: UtcTime) -> Result<usize> {
        match &self.embedded {
            Some(records) => records.expired(now.as_seconds(), EXPIRED_AT_ONCE).await,
            None => Ok(0),
        }
    }

    /// Returns the secret that callers of the queues must send.
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    /// Returns a queue of the process that has the directory open; None where that process has no queues.
    pub fn queue(&self, name: &str) -> Option<Arc<dyn Queue>> {
        let endpoint = self.queues.as_ref()?;
        Some(Arc::new(RemoteQueue {
            runner: OtherRunner::new(endpoint, &self.secret),
            name: name.to_owned(),
        }))
    }
}

pub(crate) fn open_records(data: &DataDir) -> Result<Arc<SqliteRecords>, ConfigError> {
    let path = data.private_file(RECORDS_FILE)?;
    SqliteRecords::open(&path, &TABLES).map(Arc::new)
}

/// Reads a secret of this directory, or makes it on first use.
pub(crate) fn secret(data: &DataDir, name: &str) -> Result<String, ConfigError> {
    let path = data.path("keys").join(name);
    let made = read_or_make(&path, || Ok(random_secret().expose().as_bytes().to_vec()))?;
    String::from_utf8(made)
        .map_err(|_| ConfigError::new(format!("{} is not a key; remove it.", path.display())))
}

/// Makes a secret of letters, digits, `-` and `_`.
pub(crate) fn random_secret() -> Secret {
    let mut random = [0_u8; 24];
    rand::rng().fill_bytes(&mut random);
    Secret::new(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(random))
}

/// Listens on a free port of this machine.
pub(crate) async fn listen() -> Result<(TcpListener, std::net::SocketAddr), ConfigError> {
    let broken =
        |error: std::io::Error| ConfigError::new(format!("No port of 127.0.0.1 can be used: {error}."));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(broken)?;
    let address = listener.local_addr().map_err(broken)?;
    Ok((listener, address))
}

/// Converts an error that makes the data directory unusable.
pub(crate) fn broken(error: impl std::fmt::Display) -> ConfigError {
    ConfigError::new(format!("The data directory cannot be used: {error}."))
}
