//! Opens the services of a data directory, as the backend of a deployment: the local runner's functions are
//! wired by the code that wires those of AWS.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use embedded::files::FileObjects;
use embedded::sqlite::SqliteRecords;
use platform::bus::Bus;
use platform::config::variables::{self, Variable};
use platform::config::{ConfigError, Environment, Secret};
use platform::deployment::{Backend, Deployment};
use platform::http::API_ROOT;
use platform::objects::remote::RemoteObjects;
use platform::objects::{ObjectStore, Objects};
use platform::outbound::OwnServers;
use platform::queue::Queue;
use platform::records::Table;
use platform::records::schema::TableKind;
use platform::records::store::RecordStore;
use platform::sealing::Sealer;
use platform::secrets::SecretStore;
use platform::signing::SigningKey;
use platform::{Clock, Result, UtcTime};
use tokio::net::TcpListener;

use crate::bus::LocalBus;
use crate::cloud;
use crate::data_dir::DataDir;
use crate::hosts::Hosts;
use crate::issuer::{AUDIENCE, ISSUER};
use crate::layers::{Bare, Layers};
use crate::objects::LocalObjects;
use crate::queue::{Handler, LocalQueue, SetAside};
use crate::queue_server::{OtherRunner, RemoteQueue};
use crate::queues::{EVENTS, QUEUES, Settings};
use crate::sealer::LocalSealer;
use crate::secrets::secret;
use crate::signing_key::LocalSigningKey;

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

/// Names of the signing keys.
const SERVICE_KEY: &str = "services";
const DIGEST_KEY: &str = "digests";
/// What a deployment names by variables, beside its queues, and the name of it in this process.
const NAMES: [(Variable, &str); 11] = [
    (variables::RECORDS_TABLE, RECORDS_TABLE),
    (variables::AUDIT_TABLE, AUDIT_TABLE),
    (variables::RUNS_TABLE, RUNS_TABLE),
    (variables::EVENTS_TABLE, EVENTS_TABLE),
    (variables::EVENT_DEAD_LETTER_QUEUE, "event-dead-letters"),
    (variables::EVENT_BUS, "events"),
    (variables::SEALING_KEY, "secrets"),
    (variables::SERVICE_KEY, SERVICE_KEY),
    (variables::DIGEST_KEY, DIGEST_KEY),
    (variables::TOKEN_ISSUER, ISSUER),
    (variables::TOKEN_AUDIENCE, AUDIENCE),
];
/// Further variables of a deployment whose value is this process's own.
const OTHERS: [Variable; 5] = [
    variables::API_URL,
    variables::JWKS,
    variables::PAGE_TOKEN_KEY,
    variables::PAGE_TOKEN_SECRET,
    variables::TOKEN_SHARED_SECRET,
];

pub(crate) const RECORDS_FILE: &str = "records.sqlite";
/// Maximum number of expired records that are removed at once.
pub const EXPIRED_AT_ONCE: usize = 10_000;

/// Ports of the runner on the loopback interface: all that it listens at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ports {
    /// Of the API, which runs call, and of everything else that is public.
    pub public: u16,
    pub queues: u16,
}

/// Services of a data directory: records and objects, keys, queues in memory, and what it uses of AWS.
#[derive(Clone)]
pub struct Services {
    environment: Environment,
    records: Arc<dyn RecordStore>,
    /// None where the records are not in the data directory.
    embedded: Option<Arc<SqliteRecords>>,
    objects: LocalObjects,
    layers: Arc<dyn Layers>,
    sealer: Arc<LocalSealer>,
    service_key: LocalSigningKey,
    digest_key: LocalSigningKey,
    queues: Arc<BTreeMap<&'static str, Arc<LocalQueue>>>,
    /// Endpoint of the queues of another process that has the directory open.
    other: Option<String>,
    /// Secret that the queues require.
    secret: Secret,
    /// None in a program that is built without AWS.
    aws: Option<Arc<dyn Backend>>,
    ports: Ports,
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
        let aws = cloud::aws();
        let (records, embedded): (Arc<dyn RecordStore>, _) = match environment
            .optional(variables::RECORDS)
            .unwrap_or("sqlite")
        {
            "sqlite" => {
                let embedded = open_records(data)?;
                (embedded.clone(), Some(embedded))
            }
            "dynamodb" => {
                let aws = aws.as_ref();
                let aws = aws.ok_or_else(|| ConfigError::without_aws(variables::RECORDS, "dynamodb"))?;
                (aws.records(), None)
            }
            other => {
                return Err(ConfigError::new(format!(
                    "The variable MILLRACE_RECORDS is '{other}'. Set it to sqlite or dynamodb, or leave it out."
                )));
            }
        };
        let objects = LocalObjects::open(data, environment, aws.as_ref())?;
        let queues = QUEUES.map(|(_, settings)| (settings.name, LocalQueue::new(settings)));
        Ok(Self {
            environment: with_own_names(data, environment, &objects)?,
            records,
            embedded,
            objects,
            layers: Arc::new(Bare),
            sealer: Arc::new(LocalSealer::open(data)?),
            service_key: LocalSigningKey::of_services(data)?,
            digest_key: LocalSigningKey::of_digests(data)?,
            queues: Arc::new(queues.into()),
            other: (!data.is_ours()).then(|| data.queues()).flatten(),
            secret: Secret::new(secret(data, "services")?),
            aws,
            ports: Ports::default(),
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

    /// Returns the same services for a runner that listens at these ports.
    #[must_use]
    pub fn at(self, ports: Ports) -> Self {
        let origin = format!("http://{}:{}", Ipv4Addr::LOCALHOST, ports.public);
        let api = (variables::API_URL, format!("{origin}{API_ROOT}"));
        Self {
            environment: self.environment.with([api]),
            objects: self.objects.with_links(&origin, self.layers.clock()),
            ports,
            ..self
        }
    }

    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Returns this process as a deployment.
    pub fn deployment(&self) -> Deployment {
        Deployment::new(self.environment.clone(), Arc::new(self.clone()))
    }

    /// Returns a table. A missing table is an error of its first use.
    pub fn table(&self, name: &str) -> Table {
        Table::new(Arc::clone(&self.records), name)
    }

    pub fn bucket(&self, name: &str) -> Objects {
        Objects::new(self.objects.store(), name)
    }

    /// Returns the objects, where they are files.
    pub fn files(&self) -> Option<&FileObjects> {
        match &self.objects {
            LocalObjects::Files { files, .. } => Some(files),
            LocalObjects::S3(_) => None,
        }
    }

    /// Removes records of the data directory that expired before `now`, at most [`EXPIRED_AT_ONCE`], which
    /// DynamoDB does on its own. Returns their number.
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

    /// Returns the queues of this process, by name.
    pub fn queues(&self) -> Arc<BTreeMap<&'static str, Arc<LocalQueue>>> {
        Arc::clone(&self.queues)
    }

    /// Passes the messages of a queue to a function.
    pub fn consume(&self, queue: Settings, handler: Handler) {
        if let Some(queue) = self.queues.get(queue.name) {
            queue.consume(handler);
        }
    }

    /// Returns a queue of the process that has the directory open.
    fn queue_named(&self, name: &str) -> Option<Arc<dyn Queue>> {
        let queue = self.queues.get(name)?;
        Some(match &self.other {
            Some(endpoint) => Arc::new(RemoteQueue {
                runner: OtherRunner::new(endpoint, &self.secret),
                name: name.to_owned(),
            }),
            None => Arc::<LocalQueue>::clone(queue),
        })
    }
}

impl Backend for Services {
    fn records(&self) -> Arc<dyn RecordStore> {
        Arc::clone(&self.records)
    }

    fn objects(&self) -> Arc<dyn ObjectStore> {
        self.objects.store()
    }

    fn queue(&self, url: String) -> Arc<dyn Queue> {
        match self.queue_named(&url) {
            Some(queue) => self.layers.queue(queue),
            None => Arc::new(SetAside),
        }
    }

    fn bus(&self, _: &str) -> Arc<dyn Bus> {
        let targets = self.queue_named(EVENTS.name).into_iter().collect();
        self.layers
            .bus(Arc::new(LocalBus::new(self.layers.clock(), targets)))
    }

    fn sealer(&self, _: String) -> Arc<dyn Sealer> {
        Arc::<LocalSealer>::clone(&self.sealer)
    }

    fn signing_key(&self, key_id: String) -> Arc<dyn SigningKey> {
        Arc::new(match key_id.as_str() {
            DIGEST_KEY => self.digest_key.clone(),
            _ => self.service_key.clone(),
        })
    }

    fn secrets(&self) -> Option<Arc<dyn SecretStore>> {
        self.aws.as_ref()?.secrets()
    }

    fn remote_objects(&self) -> Option<Arc<dyn RemoteObjects>> {
        self.aws.as_ref()?.remote_objects()
    }

    fn clock(&self) -> Clock {
        self.layers.clock()
    }

    fn own_servers(&self) -> OwnServers {
        OwnServers {
            ports: vec![self.ports.public, self.ports.queues],
            names: Hosts::from_environment(&self.environment).names().to_vec(),
        }
    }
}

/// Fails if a variable is set that the runner would ignore: its user expects an effect.
pub(crate) fn refuse_ignored(environment: &Environment) -> Result<(), ConfigError> {
    let names = NAMES.into_iter().map(|(variable, _)| variable);
    let queues = QUEUES.into_iter().map(|(variable, _)| variable);
    let mut all = names.chain(queues).chain(OTHERS);
    match all.find(|variable| environment.optional(*variable).is_some()) {
        None => Ok(()),
        Some(variable) => Err(ConfigError::new(format!(
            "The variable {variable} is for deployed functions, and the local runner would ignore it: it has tokens, keys, tables \
             and queues of its own. Remove it."
        ))),
    }
}

/// Returns the environment with the names of this process's own services.
fn with_own_names(
    data: &DataDir,
    environment: &Environment,
    objects: &LocalObjects,
) -> Result<Environment, ConfigError> {
    let names = NAMES.map(|(variable, name)| (variable, name.to_owned()));
    let queues = QUEUES.map(|(variable, settings)| (variable, settings.name.to_owned()));
    let path = |name| {
        let path = data.path(name);
        let text = path.to_str().map(str::to_owned);
        text.ok_or_else(|| {
            ConfigError::new(format!(
                "The path {} is not UTF-8. Set the data directory to one that is.",
                path.display()
            ))
        })
    };
    let own = [
        (variables::CACHE_DIR, path("cache")?),
        (variables::CORS_ORIGINS, "*".to_owned()),
        (variables::JWKS, path("keys/jwks.json")?),
        (variables::PAGE_TOKEN_KEY, secret(data, "page-tokens")?),
    ];
    let bucket = match objects {
        LocalObjects::Files { .. } => Some((variables::DATA_BUCKET, DATA_BUCKET.to_owned())),
        LocalObjects::S3(_) => None,
    };
    let environment = environment.clone().with(names).with(queues);
    Ok(environment.with(own).with(bucket))
}

pub(crate) fn open_records(data: &DataDir) -> Result<Arc<SqliteRecords>, ConfigError> {
    let path = data.private_file(RECORDS_FILE)?;
    SqliteRecords::open(&path, &TABLES).map(Arc::new)
}

/// Listens on a free port of this machine.
pub(crate) async fn listen() -> Result<(TcpListener, std::net::SocketAddr), ConfigError> {
    let broken =
        |error: std::io::Error| ConfigError::new(format!("No port of 127.0.0.1 can be used: {error}."));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(broken)?;
    let address = listener.local_addr().map_err(broken)?;
    Ok((listener, address))
}
