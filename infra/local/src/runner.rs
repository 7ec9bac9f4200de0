//! The service over a data directory: all functions, wired as `template.yaml` wires them.

use std::sync::Arc;
use std::time::Duration;

use aide::axum::ApiRouter;
use aide::swagger::Swagger;
use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn;
use axum::routing::get;
use lake::store::{DataStores, Step, StoreConfig};
use platform::auth::Verifier;
use platform::config::{ConfigError, CorsOrigins, EdgeConfig, Environment};
use platform::http::audit::AuditLog;
use platform::http::openapi;
use platform::http::serve::API_ROOT;
use platform::objects::Objects;
use platform::records::Table;
use platform::records::api_keys::ApiKeys;
use platform::records::audit::AuditTrail;
use platform::records::stores::Stores;
use platform::{Clock, Platform};

use crate::data_dir::DataDir;
use crate::gateway::whole_body;
use crate::issuer::Issuer;
use crate::queue::{LocalQueue, Settings};
use crate::services::{AUDIT_TABLE, DATA_BUCKET, RECORDS_TABLE, Services};

/// As the audit retry queue of `template.yaml`.
const AUDIT_RETRY: Settings = Settings {
    batch_size: 10,
    visibility: Duration::from_secs(180),
    max_receives: 5,
};

/// Data files kept beside the object store. Both are on the same disk: enough for a few stores at work.
const CACHE_BYTES: u64 = 2 * 1_024 * 1_024 * 1_024;
/// Memory of one query.
const QUERY_MEMORY_BYTES: u64 = 512 * 1_024 * 1_024;
/// One step of an import. No gateway cuts it off here.
const IMPORT_DEADLINE: Duration = Duration::from_secs(600);
/// Queries at a time.
const MAX_QUERIES: usize = 4;

/// The service over a data directory.
#[derive(Clone)]
pub struct Service {
    /// What the functions have in common.
    pub platform: Platform,
    /// The data stores.
    pub stores: DataStores,
}

impl Service {
    /// Over an open directory and its services.
    pub fn new(data: &DataDir, services: &Services) -> Result<Self, ConfigError> {
        let platform = platform(data, services);
        let config = StoreConfig {
            directory: data.path("cache"),
            cache_bytes: CACHE_BYTES,
            query_memory_bytes: QUERY_MEMORY_BYTES,
            max_children: MAX_QUERIES,
            import_deadline: IMPORT_DEADLINE,
            crash_at: Step::from_environment(&Environment::read()?)?,
        };
        let objects = Objects::connect(&services.objects, DATA_BUCKET);
        let stores = DataStores::new(
            platform.clock.clone(),
            Stores::new(platform.records.clone()),
            objects,
            &config,
        )?;
        Ok(Self { platform, stores })
    }
}

fn platform(data: &DataDir, services: &Services) -> Platform {
    let clock = Clock::System;
    let records = Table::connect(&services.records, RECORDS_TABLE);
    let trail = AuditTrail::new(Table::connect(&services.records, AUDIT_TABLE));
    let writer = trail.clone();
    let retry = LocalQueue::start(
        "audit-retry",
        AUDIT_RETRY,
        clock.clone(),
        Arc::new(move |event| {
            let trail = writer.clone();
            Box::pin(async move { audit_writer_function::handle(&trail, event).await })
        }),
    );
    Platform {
        verifier: Arc::new(Verifier::new(Issuer::verifier_config(data), clock.clone())),
        clock,
        api_keys: ApiKeys::new(records.clone()),
        records,
        audit: AuditLog::new(trail.clone(), retry),
        trail,
        edge: EdgeConfig {
            cors: CorsOrigins::Any,
            base_path: String::new(),
        },
    }
}

impl Service {
    /// Every function's routes, below the API root.
    pub fn routes(&self) -> ApiRouter {
        ApiRouter::new()
            .merge(audit_function::routes(self.platform.clone()))
            .merge(datastores_function::routes(
                self.platform.clone(),
                self.stores.clone(),
            ))
            .merge(prompts_function::routes(self.platform.clone()))
    }

    /// The whole server: the API, its OpenAPI document at `/openapi.json` and its reference page at `/docs`.
    pub fn router(&self) -> Result<Router, ConfigError> {
        let document = self.openapi()?;
        let reference = Swagger::new("/openapi.json").with_title("Millrace");
        let pages = ApiRouter::new().route("/docs", reference.axum_route()).route(
            "/openapi.json",
            get(|| async { ([(CONTENT_TYPE, "application/json")], document) }),
        );
        let api: Router = ApiRouter::new().nest(API_ROOT, self.routes()).merge(pages).into();
        let edge = platform::http::edge(api, self.platform.clock.clone(), self.platform.edge.clone());
        Ok(edge.layer(from_fn(whole_body)))
    }

    /// The OpenAPI document as text.
    pub fn openapi(&self) -> Result<String, ConfigError> {
        let text = serde_json::to_string_pretty(&openapi::document(self.routes()));
        text.map_err(|error| ConfigError::new(format!("The OpenAPI document could not be written: {error}.")))
    }
}
