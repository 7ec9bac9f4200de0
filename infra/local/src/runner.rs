//! The service over a data directory: all functions, wired as `template.yaml` wires them.

use std::sync::Arc;
use std::time::Duration;

use aide::axum::ApiRouter;
use aide::openapi::OpenApi;
use aide::swagger::Swagger;
use axum::Router;
use axum::routing::get;
use platform::auth::Verifier;
use platform::config::{ConfigError, CorsOrigins};
use platform::http::audit::AuditLog;
use platform::http::openapi;
use platform::http::serve::API_ROOT;
use platform::records::Table;
use platform::records::api_keys::ApiKeys;
use platform::records::audit::AuditTrail;
use platform::{Clock, Platform};

use crate::data_dir::DataDir;
use crate::issuer::Issuer;
use crate::queue::{LocalQueue, Settings};
use crate::services::{AUDIT_TABLE, RECORDS_TABLE, Services};

/// As the audit retry queue of `template.yaml`.
const AUDIT_RETRY: Settings = Settings { batch_size: 10, visibility: Duration::from_secs(60), max_receives: 5 };

/// What the functions have in common, over a data directory's services.
pub fn platform(data: &DataDir, services: &Services) -> Platform {
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
        cors: CorsOrigins::Any,
    }
}

/// Every function's routes, below the API root.
pub fn routes(platform: &Platform) -> ApiRouter {
    ApiRouter::new()
        .merge(audit_function::routes(platform.clone()))
        .merge(prompts_function::routes(platform.clone()))
}

/// The whole server: the API, its OpenAPI document at `/openapi.json` and its reference page at `/docs`.
pub fn router(platform: &Platform) -> Result<Router, ConfigError> {
    let document = document(platform)?;
    let pages = ApiRouter::new().route("/docs", Swagger::new("/openapi.json").with_title("Millrace").axum_route()).route(
        "/openapi.json",
        get(|| async { ([("content-type", "application/json")], document) }),
    );
    let api: Router = ApiRouter::new().nest(API_ROOT, routes(platform)).merge(pages).into();
    Ok(platform::http::edge(api, platform.clock.clone(), &platform.cors))
}

/// The OpenAPI document as text.
pub fn document(platform: &Platform) -> Result<String, ConfigError> {
    let document: OpenApi = openapi::document(routes(platform));
    let text = serde_json::to_string_pretty(&document);
    text.map_err(|error| ConfigError::new(format!("The OpenAPI document could not be written: {error}.")))
}
