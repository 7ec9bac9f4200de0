//! Runs the service over a data directory: all functions, wired as in `template.yaml`.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use aide::axum::ApiRouter;
use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn_with_state;
use axum::response::Redirect;
use axum::routing::get;
use lake::records::stores::Stores;
use lake::store::{
    DataStores, ImportServices, MAX_BACKGROUND_INPUT_BYTES, MAX_INPUT_BYTES, Retention, Step, StoreConfig,
    compact_at_segments, import_patience,
};
use models::ModelConfig;
use platform::Platform;
use platform::api::Api;
use platform::archive_hints::ArchiveHints;
use platform::auth::Verifier;
use platform::auth::service::ServiceTokens;
use platform::config::{
    AwsEnvironment, ConfigError, CorsOrigins, EdgeConfig, Environment, Retention as Records,
};
use platform::fair::FairPermits;
use platform::http::audit::AuditLog;
use platform::http::openapi;
use platform::http::service::API_ROOT;
use platform::outbound::{Outbound, OwnServers};
use platform::queue::Queue;
use platform::records::api_keys::ApiKeys;
use platform::records::audit::AuditTrail;
use platform::sources::Sources;
use runs::process::{Evaluator, Expressions};
use sandbox::Sandbox;
use tracing::warn;

use crate::cloud::Cloud;
use crate::data_dir::DataDir;
use crate::event_log::LocalEventLog;
use crate::events::LocalEvents;
use crate::gateway;
use crate::hosts::{Hosts, only_known_hosts};
use crate::issuer::Issuer;
use crate::object_links;
use crate::objects::LocalObjects;
use crate::queue::{LocalQueue, Settings};
use crate::reference;
use crate::resuming::is_over;
use crate::runs::LocalRuns;
use crate::services::{AUDIT_TABLE, DATA_BUCKET, RECORDS_TABLE, Services};
use crate::signing_key::LocalSigningKey;

/// Settings of the audit retry queue of `template.yaml`.
const AUDIT_RETRY: Settings = Settings {
    batch_size: 10,
    max_receives: 10,
    concurrency: 1,
    group_share: usize::MAX,
};

/// Settings of the import queue of `template.yaml`, with one concurrent import per account.
const IMPORTS: Settings = Settings {
    batch_size: 1,
    max_receives: 10,
    concurrency: MAX_BACKGROUND_IMPORTS,
    group_share: 1,
};
/// Maximum number of concurrent imports in the background.
const MAX_BACKGROUND_IMPORTS: u32 = 2;
/// Pause between two sweeps for overdue imports.
const IMPORT_SWEEP: Duration = Duration::from_secs(60);

/// Cache of data files, in bytes, enough for a few active stores; it is on the same disk as the object store.
const CACHE_BYTES: u64 = 2 * 1_024 * 1_024 * 1_024;
/// Largest table that queries get a native copy of.
const COPIED_TABLE_MB: u64 = 512;
/// Memory limit of one query.
const QUERY_MEMORY_BYTES: u64 = 512 * 1_024 * 1_024;
/// Cache of data files for background imports, in bytes.
const IMPORTER_CACHE_BYTES: u64 = 1_024 * 1_024 * 1_024;
/// Deadline of one step of an import. No gateway cuts it off here.
const IMPORT_DEADLINE: Duration = Duration::from_secs(600);
/// Pause between two garbage collections.
const COLLECTION: Duration = Duration::from_secs(3_600);
/// Maximum number of concurrent child processes that evaluate expressions of processes.
const MAX_EVALUATIONS: usize = 4;
/// Maximum number of concurrent queries.
const MAX_QUERIES: usize = 4;

/// Time limit of a request body: API Gateway's limit for a whole answer.
const BODY: Duration = Duration::from_secs(29);

/// Maximum number of concurrent requests; one account gets at most half.
const MAX_REQUESTS: usize = 64;
/// Maximum number of waiting requests of one account; far fewer than the maximum of connections.
const MAX_WAITING_REQUESTS_OF_ACCOUNT: usize = 256;
/// Maximum number of concurrent checks of prompt templates.
const MAX_PROMPT_CHECKS: usize = 2;

/// Path of the ingest base URL; in the cloud ingest has a URL of its own.
const INGEST_ROOT: &str = "/ingest";

/// Ports of the runner on the loopback interface: all that it listens at.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    /// Of the API, which runs call, and of everything else that is public.
    pub public: u16,
    pub queues: u16,
}

#[derive(Clone)]
pub struct Service {
    pub platform: Platform,
    pub stores: DataStores,
    /// The importer's view of the data stores, with its own children and caches.
    importer: DataStores,
    imports: Arc<dyn Queue>,
    pub runs: LocalRuns,
    pub event_log: LocalEventLog,
    pub events: LocalEvents,
    retention: Retention,
    objects: LocalObjects,
    hosts: Hosts,
    /// Children that check prompt templates.
    pub prompt_checks: Sandbox,
}

impl Service {
    /// Builds the service over an open directory and its services. Without ports, runs cannot call the API.
    pub fn new(
        data: &DataDir,
        services: &Services,
        environment: &Environment,
        ports: Option<Ports>,
    ) -> Result<Self, ConfigError> {
        let port = ports.map(|ports| ports.public);
        let hosts = Hosts::from_environment(environment);
        let service_key = Arc::new(LocalSigningKey::of_services(data)?);
        let event_log = LocalEventLog::new(data, services, environment, &services.layers().clock())?;
        let platform = platform(data, services, service_key.clone(), event_log.hints.clone());
        let api = port.map(|port| {
            let tokens = ServiceTokens::new(service_key, platform.clock.clone());
            Api::new(
                &format!("http://{}:{port}{API_ROOT}", Ipv4Addr::LOCALHOST),
                tokens,
            )
        });
        let api = api.transpose()?.map(Arc::new);
        let config = StoreConfig {
            program: None,
            directory: data.path("cache"),
            cache_bytes: CACHE_BYTES,
            max_copied_bytes: environment.number("MILLRACE_COPIED_TABLE_MB", COPIED_TABLE_MB)?
                * 1_024
                * 1_024,
            compact_at_segments: compact_at_segments(environment)?,
            query_memory_bytes: QUERY_MEMORY_BYTES,
            max_children: MAX_QUERIES,
            import_deadline: IMPORT_DEADLINE,
            import_patience: import_patience(environment)?,
            max_input_bytes: MAX_INPUT_BYTES,
            crash_at: Step::from_environment(environment)?,
        };
        let outbound = Outbound::from_environment(environment, &AwsEnvironment::read())?;
        let outbound = outbound.excluding(OwnServers {
            ports: ports
                .iter()
                .flat_map(|ports| [ports.public, ports.queues])
                .collect(),
            names: hosts.names().to_vec(),
        });
        // Models, named secrets and the buckets of imports come from the environment, because they have no
        // local emulation.
        let cloud = Cloud::from_environment();
        let registry = samples::registry(environment)?;
        let types = registry.workflow_names();
        let events = LocalEvents::new(data, services, &platform, environment, (&outbound, types))?;
        let evaluator =
            Evaluator::sandboxed(MAX_EVALUATIONS).map_err(|error| ConfigError::new(error.to_string()))?;
        let registry = runs::process::with_expressions(registry, Expressions::sandboxed(evaluator.clone()));
        let registry = runs::with_activities(
            registry,
            &worker_services(&cloud, environment, &platform, &events, evaluator)?,
        );
        let runs = LocalRuns::new(
            data,
            services,
            &platform.clock,
            (events.bus.clone(), api),
            registry,
            Records::from_environment(environment)?,
        )?;
        events.deliver_with(&runs.workflows.engine);
        let sources =
            Sources::from_environment(environment, &cloud.secrets(), cloud.remote_objects(), outbound)?;
        let objects = match port {
            Some(port) => {
                let origin = format!("http://{}:{port}", Ipv4Addr::LOCALHOST);
                services.objects().with_links(&origin, &platform.clock)
            }
            None => services.objects().clone(),
        };
        let stores = |queue, config: &StoreConfig| {
            let objects = objects.bucket(DATA_BUCKET);
            let records = Stores::new(platform.records.clone());
            let imports = ImportServices {
                sources: Some(sources.clone()),
                queue,
            };
            DataStores::new(platform.clock.clone(), records, objects, imports, config)
        };
        let of_importer = StoreConfig {
            directory: data.path("cache/importer"),
            cache_bytes: IMPORTER_CACHE_BYTES,
            max_children: MAX_BACKGROUND_IMPORTS as usize,
            max_copied_bytes: 0,
            max_input_bytes: MAX_BACKGROUND_INPUT_BYTES,
            ..config.clone()
        };
        let importer = stores(None, &of_importer)?;
        let handler = importer.clone();
        let imports = LocalQueue::start(
            "imports",
            IMPORTS,
            platform.clock.clone(),
            Arc::new(move |batch| {
                let stores = handler.clone();
                Box::pin(async move { importer_function::handle(&stores, batch).await })
            }),
        );
        let imports = services.layers().queue(imports);
        Ok(Self {
            stores: stores(Some(imports.clone()), &config)?,
            runs,
            event_log,
            events,
            platform,
            importer,
            imports,
            retention: Retention::from_environment(environment)?,
            objects,
            hosts,
            prompt_checks: prompts_function::sandbox(MAX_PROMPT_CHECKS)
                .map_err(|error| ConfigError::new(error.to_string()))?,
        })
    }

    /// Takes over the imports and runs of the previous process on the directory, then sweeps overdue ones,
    /// and collects garbage regularly.
    pub fn resume_upkeep(&self) {
        self.runs.resume();
        self.event_log.resume();
        let (importer, queue) = (self.importer.clone(), Arc::clone(&self.imports));
        tokio::spawn(async move {
            while !is_over("imports", importer.requeue_all_imports(queue.as_ref()).await).await {}
            loop {
                tokio::time::sleep(IMPORT_SWEEP).await;
                if let Err(cause) = importer_function::sweep(&importer, queue.as_ref()).await {
                    warn!(%cause, "overdue imports were not looked for");
                }
            }
        });
        let (stores, retention) = (self.importer.clone(), self.retention);
        let (objects, clock) = (self.objects.bucket(DATA_BUCKET), self.platform.clock.clone());
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(COLLECTION).await;
                if let Err(cause) = workflow::removal::remove_update_details(&objects, clock.now()).await {
                    warn!(%cause, "details of old update messages were not removed");
                }
                if let Err(cause) = importer_function::collect(&stores, retention).await {
                    warn!(%cause, "garbage was not collected");
                }
            }
        });
    }
}

/// Returns the services of activities.
fn worker_services(
    cloud: &Cloud,
    environment: &Environment,
    platform: &Platform,
    events: &LocalEvents,
    evaluator: Evaluator,
) -> Result<runs::Services, ConfigError> {
    let config = ModelConfig::from_environment(environment, &cloud.secrets())?;
    let model = cloud.model(&config, platform.clock.clone())?;
    Ok(runs::Services::new(
        events.webhooks.clone(),
        platform.records.clone(),
        events.bus.clone(),
        (model, config.provider()),
        evaluator,
    ))
}

fn platform(
    data: &DataDir,
    services: &Services,
    service_key: Arc<LocalSigningKey>,
    archive_hints: ArchiveHints,
) -> Platform {
    let clock = services.layers().clock();
    let records = services.table(RECORDS_TABLE);
    let trail = AuditTrail::new(services.table(AUDIT_TABLE));
    let writer = trail.clone();
    let retry = LocalQueue::start(
        "audit-retry",
        AUDIT_RETRY,
        clock.clone(),
        Arc::new(move |batch| {
            let trail = writer.clone();
            Box::pin(async move { audit_writer_function::handle(&trail, batch).await })
        }),
    );
    let retry = services.layers().queue(retry);
    Platform {
        verifier: Arc::new(Verifier::new(
            Issuer::verifier_config(data),
            service_key,
            clock.clone(),
        )),
        clock,
        api_keys: ApiKeys::new(records.clone()),
        records,
        audit: AuditLog::new(trail, retry).hinting(archive_hints.clone()),
        archive_hints,
        edge: EdgeConfig {
            cors: CorsOrigins::Any,
        },
        requests: Some(FairPermits::new(MAX_REQUESTS, MAX_WAITING_REQUESTS_OF_ACCOUNT)),
    }
}

impl Service {
    /// Returns every function's routes relative to the API root.
    pub fn routes(&self) -> ApiRouter {
        ApiRouter::new()
            .merge(audit_function::routes(
                self.platform.clone(),
                self.event_log.store.clone(),
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
                self.runs.stream.clone(),
            ))
            .merge(subscriptions_function::routes(
                self.platform.clone(),
                self.events.subscriptions.clone(),
            ))
            .merge(workflows_function::routes(
                self.platform.clone(),
                self.runs.workflows.clone(),
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
            .nest(INGEST_ROOT, ingest_function::routes(self.events.ingest.clone()))
            .merge(pages)
            .into();
        let api = api.merge(console.unwrap_or_default());
        let api = match &self.objects {
            LocalObjects::Files { files, .. } => api.merge(object_links::routes(files.clone())),
            LocalObjects::S3(_) => api,
        };
        let api = api.layer(from_fn_with_state(self.hosts.clone(), only_known_hosts));
        let edge = platform::http::edge(api, self.platform.clock.clone(), self.platform.edge.clone());
        Ok(edge.layer(from_fn_with_state(BODY, gateway::read_to_end)))
    }

    pub fn openapi(&self) -> Result<String, ConfigError> {
        let failed = |error| ConfigError::new(format!("The OpenAPI document could not be written: {error}."));
        let ingest = ingest_function::routes(self.events.ingest.clone());
        let mut document =
            openapi::document(self.routes(), ingest, reference::webhooks()?).map_err(failed)?;
        reference::add_examples(&mut document)?;
        serde_json::to_string_pretty(&document).map_err(failed)
    }
}
