//! Opens the services of a data directory, as the backend of a deployment: the local runner's functions are
//! wired by the code that wires those of AWS.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
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
use crate::runner::INGEST_ROOT;
use crate::sealer::LocalSealer;
use crate::secrets::{queue_secret, secret};
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
const SERVICE_KEY: &str = "service-signing";
const DIGEST_KEY: &str = "digest-signing";

/// Value that this process gives to a variable of a deployment.
#[derive(Clone, Copy)]
enum Own {
    Text(&'static str),
    /// Path in the data directory.
    Path(&'static str),
    /// Secret of the data directory.
    Secret(&'static str),
}

/// Variables with a value of this process, beside those of its queues and its bucket.
const OWN: [(Variable, Own); 14] = [
    (variables::RECORDS_TABLE, Own::Text(RECORDS_TABLE)),
    (variables::AUDIT_TABLE, Own::Text(AUDIT_TABLE)),
    (variables::RUNS_TABLE, Own::Text(RUNS_TABLE)),
    (variables::EVENTS_TABLE, Own::Text(EVENTS_TABLE)),
    (
        variables::EVENT_DEAD_LETTER_QUEUE,
        Own::Text("event-dead-letters"),
    ),
    (variables::EVENT_BUS, Own::Text("events")),
    (variables::SEALING_KEY, Own::Text("secrets")),
    (variables::SERVICE_KEY, Own::Text(SERVICE_KEY)),
    (variables::DIGEST_KEY, Own::Text(DIGEST_KEY)),
    (variables::TOKEN_ISSUER, Own::Text(ISSUER)),
    (variables::TOKEN_AUDIENCE, Own::Text(AUDIENCE)),
    (variables::CACHE_DIR, Own::Path("cache")),
    (variables::JWKS, Own::Path("keys/jwks.json")),
    (variables::PAGE_TOKEN_KEY, Own::Secret("page-tokens")),
];
/// Further variables that this process does not read, or sets once it knows its port.
const IGNORED: [Variable; 5] = [
    variables::API_URL,
    variables::METRICS_NAMESPACE,
    variables::PAGE_TOKEN_SECRET,
    variables::TMP_MB,
    variables::TOKEN_SHARED_SECRET,
];
/// Default of `MILLRACE_CACHE_MB` here, enough for a few active stores: the cache is on the same disk as the
/// object store.
const CACHE_MB: &str = "2048";

pub(crate) const RECORDS_FILE: &str = "records.sqlite";
/// Maximum number of expired records that are removed at once.
pub const EXPIRED_AT_ONCE: usize = 10_000;

/// Ports that the runner listens at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ports {
    /// Of everything that callers reach.
    pub public: u16,
    /// On the loopback interface, of the queues, and of the API for the service's own runs: these need no
    /// certificate.
    pub internal: u16,
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
            environment: with_own_values(data, environment)?,
            records,
            embedded,
            objects,
            layers: Arc::new(Bare),
            sealer: Arc::new(LocalSealer::open(data)?),
            service_key: LocalSigningKey::of_services(data)?,
            digest_key: LocalSigningKey::of_digests(data)?,
            queues: Arc::new(queues.into()),
            other: (!data.is_ours()).then(|| data.queues()).flatten(),
            secret: queue_secret(data)?,
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
        let at = |port| format!("http://{}:{port}", Ipv4Addr::LOCALHOST);
        let origin = self.environment.optional(variables::PUBLIC_URL);
        let origin = origin.map_or_else(|| at(ports.public), str::to_owned);
        let api = format!("{}{API_ROOT}", at(ports.internal));
        let ingest = self.environment.optional(variables::INGEST_URL);
        let ingest = ingest.map_or_else(|| format!("{origin}{INGEST_ROOT}"), str::to_owned);
        Self {
            objects: self.objects.with_links(&origin, self.layers.clock()),
            environment: self.environment.with([
                (variables::API_URL, api),
                (variables::INGEST_URL, ingest),
                (variables::PUBLIC_URL, origin),
            ]),
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

    /// Removes what erased records left in the data directory: bytes in its database.
    pub async fn scrub(&self) -> Result<()> {
        match &self.embedded {
            Some(records) => records.scrub().await,
            None => Ok(()),
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

    fn signing_key(&self, key_id: String) -> Result<Arc<dyn SigningKey>, ConfigError> {
        match key_id.as_str() {
            SERVICE_KEY => Ok(Arc::new(self.service_key.clone())),
            DIGEST_KEY => Ok(Arc::new(self.digest_key.clone())),
            _ => Err(ConfigError::new(format!(
                "The data directory has no signing key '{key_id}'."
            ))),
        }
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
            ports: vec![self.ports.public, self.ports.internal],
            names: Hosts::from_environment(&self.environment).names().to_vec(),
        }
    }
}

/// Variables of the identity provider, which is this process unless the environment names another.
const IDENTITY: [Variable; 3] = [
    variables::JWKS,
    variables::TOKEN_AUDIENCE,
    variables::TOKEN_ISSUER,
];

/// Returns every variable with a value of this process. The bucket is of the environment where objects are in
/// S3, and so are the tokens where it names an identity provider.
fn own_values(environment: &Environment) -> impl Iterator<Item = (Variable, Own)> {
    let is_external = identity::names_provider(environment);
    let queues = QUEUES.map(|(variable, settings)| (variable, Own::Text(settings.name)));
    let is_in_files = environment.optional(variables::OBJECTS) != Some("s3");
    let bucket = is_in_files.then_some((variables::DATA_BUCKET, Own::Text(DATA_BUCKET)));
    let own = OWN.into_iter().chain(queues).chain(bucket);
    own.filter(move |(variable, _)| !is_external || !IDENTITY.contains(variable))
}

/// Fails if a variable is set that the runner would ignore: its user expects an effect.
pub(crate) fn refuse_ignored(environment: &Environment) -> Result<(), ConfigError> {
    let own = own_values(environment).map(|(variable, _)| variable);
    let is_external = identity::names_provider(environment);
    let ignored = IGNORED.into_iter();
    let ignored = ignored.filter(|variable| !is_external || *variable != variables::TOKEN_SHARED_SECRET);
    let mut all = own.chain(ignored);
    match all.find(|variable| environment.optional(*variable).is_some()) {
        None => Ok(()),
        Some(variable) => Err(ConfigError::new(format!(
            "The variable {variable} is for deployed functions, and the local runner would ignore it: it has keys, tables, queues, a \
             bucket and folders of its own, and tokens unless MILLRACE_JWKS or MILLRACE_IDENTITY names an identity provider. \
             Remove it."
        ))),
    }
}

/// Returns the environment with the values of this process.
fn with_own_values(data: &DataDir, environment: &Environment) -> Result<Environment, ConfigError> {
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
    let mut values = Vec::new();
    for (variable, own) in own_values(environment) {
        let value = match own {
            Own::Text(text) => text.to_owned(),
            Own::Path(name) => path(name)?,
            Own::Secret(name) => secret(data, name)?,
        };
        values.push((variable, value));
    }
    if environment.optional(variables::CACHE_MB).is_none() {
        values.push((variables::CACHE_MB, CACHE_MB.to_owned()));
    }
    Ok(environment.clone().with(values))
}

pub(crate) fn open_records(data: &DataDir) -> Result<Arc<SqliteRecords>, ConfigError> {
    let path = data.private_file(RECORDS_FILE)?;
    SqliteRecords::open(&path, &TABLES).map(Arc::new)
}

/// Listens on a free port of this machine.
pub(crate) async fn listen() -> Result<(TcpListener, SocketAddr), ConfigError> {
    let broken =
        |error: std::io::Error| ConfigError::new(format!("No port of 127.0.0.1 can be used: {error}."));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(broken)?;
    let address = listener.local_addr().map_err(broken)?;
    Ok((listener, address))
}

/// Listens at the address that a variable names.
pub(crate) async fn listen_at(variable: Variable, address: SocketAddr) -> Result<TcpListener, ConfigError> {
    TcpListener::bind(address).await.map_err(|error| {
        ConfigError::new(format!(
            "The variable {variable} is '{address}', which cannot be listened at: {error}. Set it to another one."
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(values: &[(Variable, &str)]) -> Environment {
        let empty = Environment::from_variables([]).unwrap();
        empty.with(
            values
                .iter()
                .map(|(variable, value)| (*variable, (*value).to_owned())),
        )
    }

    #[test]
    fn variable_that_the_runner_sets_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(folder.path()).unwrap();
        let services = Services::open(&data).unwrap().at(Ports::default());
        let own = [
            variables::CACHE_MB,
            variables::INGEST_URL,
            variables::JWKS,
            variables::PUBLIC_URL,
        ];
        for variable in variables::ALL.iter().filter(|variable| !own.contains(variable)) {
            let is_refused = refuse_ignored(&environment(&[(*variable, "x")])).is_err();
            let is_set = services.environment().optional(*variable).is_some();
            assert!(is_refused || !is_set, "{variable}");
        }
        let in_s3 = environment(&[(variables::OBJECTS, "s3"), (variables::DATA_BUCKET, "data")]);
        assert!(refuse_ignored(&in_s3).is_ok());
        let values = with_own_values(&data, &in_s3).unwrap();
        assert_eq!(values.optional(variables::DATA_BUCKET), Some("data"));
    }

    #[test]
    fn identity_provider_of_the_environment_counts() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(folder.path()).unwrap();
        let provider = [
            (variables::JWKS, "https://id.example.com/jwks"),
            (variables::TOKEN_ISSUER, "https://id.example.com"),
            (variables::TOKEN_AUDIENCE, "millrace"),
        ];
        let settings = environment(&provider);
        refuse_ignored(&settings).unwrap();
        let services = Services::from_environment(&data, &settings).unwrap();
        for (variable, value) in provider {
            assert_eq!(
                services.environment().optional(variable),
                Some(value),
                "{variable}"
            );
        }
        // Without keys, the runner's own tokens count, and the variable would do nothing.
        assert!(refuse_ignored(&environment(&provider[1..2])).is_err());
    }

    #[test]
    fn cache_size_of_the_environment_counts() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(folder.path()).unwrap();
        for (values, size) in [(&[][..], "2048"), (&[(variables::CACHE_MB, "7")], "7")] {
            let environment = environment(values);
            refuse_ignored(&environment).unwrap();
            let services = Services::from_environment(&data, &environment).unwrap();
            assert_eq!(services.environment().optional(variables::CACHE_MB), Some(size));
        }
    }

    #[test]
    fn signing_key_of_another_name_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let services = Services::open(&DataDir::open(folder.path()).unwrap()).unwrap();
        for (name, is_own) in [(SERVICE_KEY, true), (DIGEST_KEY, true), ("services", false)] {
            assert_eq!(services.signing_key(name.to_owned()).is_ok(), is_own, "{name}");
        }
    }
}
