//! Runs the service over a data directory: all functions, wired as in `template.yaml`.

use std::sync::Arc;
use std::time::Duration;

use aide::axum::ApiRouter;
use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn_with_state;
use axum::response::Redirect;
use axum::routing::get;
use event_log::archive::{Archiver, ArchiverConfig, Crash};
use event_log::{LogStore, LogStoreConfig};
use identity::Identity;
use ingest_function::Ingest;
use lake::store::{DataStores, MAX_BACKGROUND_INPUT_BYTES, Step, StoreConfig};
use matcher_function::Matcher;
use platform::archive_hints::ArchiveHints;
use platform::config::{ConfigError, Environment, variables};
use platform::deployment::Deployment;
use platform::fair::FairPermits;
use platform::http::API_ROOT;
use platform::records::audit::AuditTrail;
use platform::{Error, Platform};
use runs::process::{Evaluator, Expressions};
use sandbox::Sandbox;
use stream_function::Stream;
use subscriptions_function::SubscriptionServices;
use workflow::api::Api;
use workflow::engine::Engine;
use workflow::live::Followers;
use workflow::wiring::Wiring;
use workflows_function::Workflows;

use crate::cloud::BEDROCK;
use crate::gateway;
use crate::hosts::{Hosts, only_known_hosts};
use crate::object_links;
use crate::queue::handler;
use crate::queues::{ARCHIVE, AUDIT_RETRY, EVENTS, IMPORTS, TASKS};
use crate::reference;
use crate::services::{Ports, Services};
use crate::upkeep::Upkeep;

const MIB: u64 = 1_024 * 1_024;
/// Cache of data files for background imports, in bytes.
const IMPORTER_CACHE_BYTES: u64 = 1_024 * MIB;
/// Deadline of one step of an import. No gateway cuts it off here.
const IMPORT_DEADLINE: Duration = Duration::from_secs(600);
/// Maximum number of concurrent child processes that evaluate expressions of processes.
const MAX_EVALUATIONS: usize = 4;
/// Maximum number of concurrent queries of data stores, and of requests that read the log.
const MAX_QUERIES: usize = 4;
/// Maximum number of concurrent checks of prompt templates.
const MAX_PROMPT_CHECKS: usize = 2;

/// Time limit of a request body: API Gateway's limit for a whole answer.
const BODY: Duration = Duration::from_secs(29);

/// Maximum number of concurrent requests; one account gets at most half.
const MAX_REQUESTS: usize = 64;
/// Maximum number of waiting requests of one account; far fewer than the maximum of connections.
const MAX_WAITING_REQUESTS_OF_ACCOUNT: usize = 256;

/// Path of the ingest base URL; in the cloud ingest has a URL of its own.
pub(crate) const INGEST_ROOT: &str = "/ingest";

#[derive(Clone)]
pub struct Service {
    pub platform: Platform,
    identity: Arc<Identity>,
    pub stores: DataStores,
    pub subscriptions: SubscriptionServices,
    pub workflows: Workflows,
    pub followers: Arc<Followers>,
    pub prompt_checks: Sandbox,
    services: Services,
    log: LogStore,
    stream: Stream,
    ingest: Ingest,
    upkeep: Arc<Upkeep>,
}

impl Service {
    /// Builds the service over the services of a data directory, and starts the consumers of its queues.
    pub fn new(services: &Services, ports: Ports) -> Result<Self, ConfigError> {
        let services = services.clone().at(ports);
        let deployment = services.deployment();
        let environment = deployment.environment();
        let registry = samples::registry(environment)?;
        let subscriptions = SubscriptionServices::from_deployment(&deployment, &registry)?;
        let evaluator = Evaluator::sandboxed(MAX_EVALUATIONS).map_err(unusable)?;
        let registry = runs::process::with_expressions(registry, Expressions::sandboxed(evaluator.clone()));
        let activities = runs::Services::from_deployment(&deployment, BEDROCK, evaluator)?;
        let followers = Arc::new(Followers::default());
        let wiring = Wiring {
            listener: Some(followers.clone()),
            api: Some(Arc::new(Api::from_deployment(&deployment)?)),
            ..Wiring::from_deployment(&deployment)?
        };
        let engine = wiring.engine(runs::with_activities(registry, &activities))?;
        let config = store_config(environment)?;
        let importer = DataStores::from_deployment(&deployment, None, &importer_config(&config))?;
        consume(&services, &deployment, &engine, &importer)?;
        let identity = Arc::new(Identity::from_deployment(&deployment)?);
        Ok(Self {
            platform: Platform {
                requests: Some(FairPermits::new(MAX_REQUESTS, MAX_WAITING_REQUESTS_OF_ACCOUNT)),
                ..Platform::from_deployment(&deployment, Arc::<Identity>::clone(&identity))?
            },
            identity,
            stores: DataStores::from_deployment(
                &deployment,
                Some(deployment.queue(variables::IMPORT_QUEUE)?),
                &config,
            )?,
            subscriptions,
            workflows: Workflows::from_deployment(&deployment, engine.clone())?,
            stream: Stream::told(engine.clone(), wiring.runs, followers.clone()),
            followers,
            prompt_checks: prompts_function::sandbox(MAX_PROMPT_CHECKS).map_err(unusable)?,
            log: LogStore::from_deployment(&deployment, &log_config(environment)?)?,
            ingest: Ingest::from_deployment(&deployment)?,
            upkeep: Arc::new(Upkeep::from_deployment(&deployment, engine, importer)?),
            services,
        })
    }

    /// Returns the settings, with the addresses of this process.
    pub fn environment(&self) -> &Environment {
        self.services.environment()
    }

    /// Takes over the work of the previous process on the directory, and repeats what a schedule does in a
    /// deployment.
    pub fn resume_upkeep(&self) {
        Arc::clone(&self.upkeep).start(self.services.clone());
    }
}

/// Passes the messages of each queue to its function.
fn consume(
    services: &Services,
    deployment: &Deployment,
    engine: &Engine,
    importer: &DataStores,
) -> Result<(), ConfigError> {
    let environment = deployment.environment();
    let archiver = Archiver::from_deployment(deployment, &archiver_config(environment)?)?;
    let archiver = (archiver, ArchiveHints::from_deployment(deployment)?);
    let trail = AuditTrail::new(deployment.table(variables::AUDIT_TABLE)?);
    let matcher = Arc::new(Matcher::from_deployment(deployment, engine.clone())?);
    services.consume(
        ARCHIVE,
        handler(archiver, |(archiver, hints), batch| async move {
            archiver_function::handle(&archiver, &hints, batch).await
        }),
    );
    services.consume(
        AUDIT_RETRY,
        handler(trail, |trail, batch| async move {
            audit_writer_function::handle(&trail, batch).await
        }),
    );
    services.consume(
        EVENTS,
        handler(matcher, |matcher, batch| async move {
            matcher_function::handle(&matcher, batch).await
        }),
    );
    services.consume(
        IMPORTS,
        handler(importer.clone(), |stores, batch| async move {
            importer_function::handle(&stores, batch).await
        }),
    );
    services.consume(
        TASKS,
        handler(engine.clone(), |engine, batch| async move {
            worker_function::handle(&engine, batch).await
        }),
    );
    Ok(())
}

fn store_config(environment: &Environment) -> Result<StoreConfig, ConfigError> {
    Ok(StoreConfig {
        directory: environment.cache_folder(),
        max_children: MAX_QUERIES,
        import_deadline: IMPORT_DEADLINE,
        crash_at: Step::from_environment(environment)?,
        ..StoreConfig::from_environment(environment)?
    })
}

fn importer_config(config: &StoreConfig) -> StoreConfig {
    StoreConfig {
        directory: config.directory.join("importer"),
        cache_bytes: IMPORTER_CACHE_BYTES,
        max_children: IMPORTS.concurrency as usize,
        max_copied_bytes: 0,
        max_input_bytes: MAX_BACKGROUND_INPUT_BYTES,
        ..config.clone()
    }
}

fn log_config(environment: &Environment) -> Result<LogStoreConfig, ConfigError> {
    Ok(LogStoreConfig {
        directory: environment.cache_folder().join("log"),
        max_children: MAX_QUERIES,
        ..LogStoreConfig::from_environment(environment)?
    })
}

fn archiver_config(environment: &Environment) -> Result<ArchiverConfig, ConfigError> {
    Ok(ArchiverConfig {
        folder: environment.cache_folder().join("archiver"),
        crash: Crash::from_environment(environment)?,
        ..ArchiverConfig::from_environment(environment)?
    })
}

fn unusable(error: Error) -> ConfigError {
    ConfigError::new(error.to_string())
}

impl Service {
    /// Returns every function's routes relative to the API root.
    pub fn routes(&self) -> ApiRouter {
        ApiRouter::new()
            .merge(access_function::routes(
                self.platform.clone(),
                self.identity.clone(),
            ))
            .merge(audit_function::routes(
                self.platform.clone(),
                self.log.clone(),
                self.subscriptions.tokens.clone(),
            ))
            .merge(datastores_function::routes(
                self.platform.clone(),
                self.stores.clone(),
            ))
            .merge(prompts_function::routes(
                self.platform.clone(),
                self.prompt_checks.clone(),
            ))
            .merge(stream_function::routes(
                self.platform.clone(),
                self.stream.clone(),
            ))
            .merge(subscriptions_function::routes(
                self.platform.clone(),
                self.subscriptions.clone(),
            ))
            .merge(workflows_function::routes(
                self.platform.clone(),
                self.workflows.clone(),
            ))
    }

    /// Returns the whole server: the API, its OpenAPI document at `/openapi.json`, its reference page at
    /// `/docs`, and the console, to which `/` redirects where there is one.
    pub fn router(&self, console: Option<Router>) -> Result<Router, ConfigError> {
        let document = self.openapi()?;
        let reference = reference::page("/openapi.json");
        let first = if console.is_some() { "/console" } else { "/docs" };
        let pages = ApiRouter::new()
            .route("/", get(move || async move { Redirect::temporary(first) }))
            .route("/docs", get(|| async { reference }))
            // Browsers request this file, and log an error where it is missing.
            .route("/favicon.ico", get(|| async { StatusCode::NO_CONTENT }))
            .route(
                "/openapi.json",
                get(|| async { ([(CONTENT_TYPE, "application/json")], document) }),
            );
        let api: Router = ApiRouter::<()>::new()
            .nest(API_ROOT, self.routes())
            .nest(INGEST_ROOT, ingest_function::routes(self.ingest.clone()))
            .merge(pages)
            .into();
        let api = api.merge(console.unwrap_or_default());
        let links = self.services.files().cloned().map(object_links::routes);
        let api = api.merge(links.unwrap_or_default());
        let hosts = Hosts::from_environment(self.services.environment());
        let api = api.layer(from_fn_with_state(hosts, only_known_hosts));
        let edge = platform::http::edge(api, self.platform.clock.clone(), self.platform.edge.clone());
        Ok(edge.layer(from_fn_with_state(BODY, gateway::read_to_end)))
    }

    pub fn openapi(&self) -> Result<String, ConfigError> {
        let failed = |error| ConfigError::new(format!("The OpenAPI document could not be written: {error}."));
        let ingest = ingest_function::routes(self.ingest.clone());
        let mut document =
            reference::document(self.routes(), ingest, reference::webhooks()?).map_err(failed)?;
        reference::add_examples(&mut document)?;
        serde_json::to_string_pretty(&document).map_err(failed)
    }
}
