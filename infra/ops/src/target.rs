//! Opens the target of the command: a data directory, or a deployed stage.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use events::records::subscriptions::Subscriptions;
use events::retention::Retention;
use identity::Identity;
use local::arguments::DEFAULT_DATA_DIR;
use local::data_dir::DataDir;
use local::services::Services;
use local::signing_key::LocalSigningKey;
use platform::auth::Principal;
use platform::bus::Bus;
use platform::config::variables::Variable;
use platform::config::{AwsEnvironment, ConfigError, Environment, variables};
use platform::deployment::{Backend, Deployment};
use platform::http::audit;
use platform::objects::Objects;
use platform::outbound::Outbound;
use platform::queue::Queue;
use platform::records::Table;
use platform::records::audit::{AuditAction, AuditTrail};
use platform::sealing::Sealer;
use platform::signing::SigningKey;
use platform::{Clock, Error, Result, Tenant};

/// The data to work on, with account and project.
#[derive(Args)]
pub struct TargetArguments {
    /// Data directory of the local runner.
    #[arg(long, env = "DATA_DIR", default_value = DEFAULT_DATA_DIR, global = true)]
    data_dir: PathBuf,
    /// Works on a deployed stage instead, named by MILLRACE_RECORDS_TABLE and so on.
    #[arg(long, global = true)]
    deployed: bool,
    /// Account.
    #[arg(long, default_value = "acme", global = true)]
    pub account: String,
    /// Project.
    #[arg(long, default_value = "demo", global = true)]
    pub project: String,
}

pub struct Target {
    pub clock: Clock,
    /// Account and project from the arguments.
    pub tenant: Tenant,
    pub records: Table,
    pub audit_table: Table,
    pub runs: Table,
    pub events: Table,
    /// A message on a bus without a reader is not lost: the sweeper publishes the event again.
    pub bus: Arc<dyn Bus>,
    /// Queue of hints at workflow runs. Without a reader they are lost: the local runner finds the run at its
    /// own start.
    pub tasks: Arc<dyn Queue>,
    /// Bucket of store data and artifacts.
    pub objects: Objects,
    pub retention: Retention,
    deployment: Deployment,
    /// None for a deployed stage.
    local: Option<Local>,
}

/// Data directory of the local runner, which this keeps open.
struct Local {
    data_dir: DataDir,
    services: Services,
}

impl TargetArguments {
    /// Opens the data directory for its keys. Fails for a deployed stage.
    pub fn keys(&self) -> Result<DataDir> {
        if self.deployed {
            return Err(Error::invalid(
                "A deployed stage takes the tokens of its own issuer; this makes local ones.",
            ));
        }
        self.require_data_dir()?;
        DataDir::open_keys(&self.data_dir).map_err(refused)
    }

    /// Opens the data directory for its keys, and creates it if it is missing.
    pub fn made_keys(&self) -> Result<DataDir> {
        DataDir::open_keys(&self.data_dir).map_err(refused)
    }

    /// Returns the key of the log's digests: from the data directory, or the stage's `MILLRACE_DIGEST_KEY`.
    pub async fn digest_key(&self) -> Result<Arc<dyn SigningKey>> {
        match self.deployed {
            true => deployed_key(variables::DIGEST_KEY).await,
            false => Ok(Arc::new(self.local_digest_key()?)),
        }
    }

    /// Returns the key of service tokens: from the data directory, or the stage's `MILLRACE_SERVICE_KEY`.
    pub async fn service_key(&self) -> Result<Arc<dyn SigningKey>> {
        match self.deployed {
            true => deployed_key(variables::SERVICE_KEY).await,
            false => Ok(Arc::new(self.local_service_key()?)),
        }
    }

    /// Returns the key of the log's digests to rotate. Fails for a deployed stage.
    pub fn local_digest_key(&self) -> Result<LocalSigningKey> {
        LocalSigningKey::of_digests(&self.signing_keys()?).map_err(refused)
    }

    /// Returns the key of service tokens to rotate. Fails for a deployed stage.
    pub fn local_service_key(&self) -> Result<LocalSigningKey> {
        LocalSigningKey::of_services(&self.signing_keys()?).map_err(refused)
    }

    fn signing_keys(&self) -> Result<DataDir> {
        if self.deployed {
            return Err(Error::invalid(
                "The keys of a deployed stage are in KMS: docs/runbook.md says how they are replaced.",
            ));
        }
        self.require_data_dir()?;
        DataDir::open_keys(&self.data_dir).map_err(refused)
    }

    /// Returns the path of a data directory that holds its own records and objects. Where DynamoDB or S3
    /// holds them, the error says what to back up instead.
    pub fn embedded(&self) -> Result<&Path> {
        let environment = Environment::read().map_err(refused)?;
        let is = |variable, value| environment.optional(variable) == Some(value);
        if self.deployed || is(variables::RECORDS, "dynamodb") {
            return Err(Error::invalid(
                "The records are in DynamoDB, which no file is a backup of. Use point-in-time recovery of the tables, and \
                 versioning of the bucket in S3; docs/deploy.md says how they are restored.",
            ));
        }
        if is(variables::OBJECTS, "s3") {
            return Err(Error::invalid(
                "The objects are in S3, which no file is a backup of. Use versioning of the bucket, and for the records a \
                 continuous copy, as in docs/storage.md.",
            ));
        }
        Ok(&self.data_dir)
    }

    /// Opens such a data directory, which must exist.
    pub fn embedded_data(&self) -> Result<DataDir> {
        let path = self.embedded()?;
        self.require_data_dir()?;
        DataDir::open_keys(path).map_err(refused)
    }

    /// Refuses a folder that no runner made: a new data directory would be empty, and no runner would accept
    /// its keys.
    fn require_data_dir(&self) -> Result<()> {
        if DataDir::is_present(&self.data_dir) {
            return Ok(());
        }
        let path = std::path::absolute(&self.data_dir);
        Err(Error::invalid(format!(
            "There is no data directory of Millrace at {}. The local runner makes it when it starts, and prints its path after \
             'data': name that one by DATA_DIR=<path> or --data-dir <path>.",
            path.as_ref().unwrap_or(&self.data_dir).display()
        )))
    }

    pub async fn open(&self) -> Result<Target> {
        let tenant = Tenant::new(&self.account, &self.project)?;
        let environment = Environment::read().map_err(refused)?;
        let (deployment, local) = match self.deployed {
            true => (Deployment::new(environment, deployed().await?), None),
            false => {
                self.require_data_dir()?;
                let data_dir = DataDir::open(&self.data_dir).map_err(refused)?;
                let services = Services::from_environment(&data_dir, &environment).map_err(refused)?;
                (services.deployment(), Some(Local { data_dir, services }))
            }
        };
        Target::of(deployment, tenant, local).map_err(refused)
    }
}

/// Returns the keys of KMS that a variable names.
async fn deployed_key(variable: Variable) -> Result<Arc<dyn SigningKey>> {
    let environment = Environment::read().map_err(refused)?;
    let keys = environment.required(variable).map_err(refused)?;
    deployed().await?.signing_key(keys).map_err(refused)
}

/// Returns the services of a deployed stage, with the operator's credentials.
#[cfg(feature = "aws")]
async fn deployed() -> Result<Arc<dyn Backend>> {
    Ok(Arc::new(aws::Aws::of_operator().await))
}

#[cfg(not(feature = "aws"))]
async fn deployed() -> Result<Arc<dyn Backend>> {
    let reason = platform::config::WITHOUT_AWS;
    Err(Error::invalid(format!(
        "A deployed stage is in AWS, and {reason}."
    )))
}

impl Target {
    fn of(
        deployment: Deployment,
        tenant: Tenant,
        local: Option<Local>,
    ) -> std::result::Result<Self, ConfigError> {
        Ok(Self {
            clock: deployment.clock(),
            tenant,
            records: deployment.table(variables::RECORDS_TABLE)?,
            audit_table: deployment.table(variables::AUDIT_TABLE)?,
            runs: deployment.table(variables::RUNS_TABLE)?,
            events: deployment.table(variables::EVENTS_TABLE)?,
            bus: deployment.bus(variables::EVENT_BUS)?,
            tasks: deployment.queue(variables::TASK_QUEUE)?,
            objects: deployment.bucket(variables::DATA_BUCKET)?,
            retention: Retention::from_environment(deployment.environment())?,
            deployment,
            local,
        })
    }

    /// Returns what authenticates the callers.
    pub fn identity(&self) -> Result<Identity> {
        Identity::from_deployment(&self.deployment).map_err(refused)
    }

    /// Returns the subscriptions, as many of which a project may have as the setting says.
    pub fn subscriptions(&self) -> Result<Subscriptions> {
        let subscriptions = Subscriptions::new(self.records.clone());
        subscriptions
            .limited_by(self.deployment.environment())
            .map_err(refused)
    }

    /// Returns the sealer of signing secrets.
    pub fn sealer(&self) -> Result<Arc<dyn Sealer>> {
        self.deployment.sealer(variables::SEALING_KEY).map_err(refused)
    }

    /// Returns the client that decides which URLs are allowed; on a laptop, those of this machine are too,
    /// except the runner's own names.
    pub fn outbound(&self) -> Result<Outbound> {
        match self.is_local() {
            true => Outbound::local(&AwsEnvironment::read())
                .map(|outbound| outbound.excluding(self.deployment.own_servers())),
            false => Outbound::from_deployment(&self.deployment),
        }
        .map_err(refused)
    }

    /// True for a data directory of the local runner.
    pub fn is_local(&self) -> bool {
        self.local.is_some()
    }

    /// Refuses a data directory that another process has open.
    pub fn require_alone(&self) -> Result<()> {
        match &self.local {
            Some(local) => local.data_dir.require_alone().map_err(refused),
            None => Ok(()),
        }
    }

    /// Removes what erased data left in a data directory: bytes in the database, and copies in the cache.
    pub async fn scrub(&self) -> Result<()> {
        let Some(local) = &self.local else {
            return Ok(());
        };
        local.data_dir.clear_cache().map_err(refused)?;
        local.services.scrub().await
    }

    /// Records in the audit trail what the operator did in the target's project.
    pub async fn audit(&self, action: AuditAction, resource_type: &str, resource_id: &str) -> Result<()> {
        self.audit_in(&self.tenant, action, resource_type, resource_id)
            .await
    }

    /// Records in the audit trail what the operator did in another project.
    pub async fn audit_in(
        &self,
        tenant: &Tenant,
        action: AuditAction,
        resource_type: &str,
        resource_id: &str,
    ) -> Result<()> {
        self.audit_for(tenant, action, (resource_type, resource_id), None)
            .await
    }

    /// Records in the audit trail of the account what the operator did to one of its projects.
    pub async fn audit_in_account(&self, action: AuditAction, project: &str) -> Result<()> {
        let operator = Principal {
            project_id: None,
            ..Principal::system(&self.tenant)
        };
        let now = self.clock.now();
        let mut event = audit::event(action, "project", &operator, now);
        event.resource_id = project.to_owned();
        event.request_id = platform::ids::new_id(now);
        AuditTrail::new(self.audit_table.clone()).insert(&event).await
    }

    /// Records what the operator did; about a private run for its owner alone.
    pub async fn audit_for(
        &self,
        tenant: &Tenant,
        action: AuditAction,
        (resource_type, resource_id): (&str, &str),
        private_to: Option<&str>,
    ) -> Result<()> {
        let operator = Principal::system(tenant);
        let now = self.clock.now();
        let mut event = audit::event(action, resource_type, &operator, now);
        event.resource_id = resource_id.to_owned();
        event.request_id = platform::ids::new_id(now);
        event.private_to = private_to.map(str::to_owned);
        AuditTrail::new(self.audit_table.clone()).insert(&event).await
    }
}

pub fn refused(error: ConfigError) -> Error {
    Error::invalid(error.to_string())
}
