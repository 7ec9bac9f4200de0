//! `GET /healthz` and `GET /readyz`: tell a supervisor whether the process answers, and whether it takes
//! work.
//!
//! They answer under every host name, because a load balancer asks by address, and say nothing else of the
//! service.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CACHE_CONTROL;
use axum::response::IntoResponse;
use axum::routing::get;
use platform::Tenant;
use platform::records::{Table, keys};
use serde::de::IgnoredAny;
use tokio::time::timeout;

/// Time limit of a read of the records.
const READ: Duration = Duration::from_secs(2);

#[derive(Clone)]
pub struct Health {
    records: Table,
    is_ready: Arc<AtomicBool>,
}

impl Health {
    pub fn new(records: Table) -> Self {
        Self {
            records,
            is_ready: Arc::default(),
        }
    }

    /// Says whether the service takes work from now on.
    pub fn set_ready(&self, is_ready: bool) {
        self.is_ready.store(is_ready, Ordering::Relaxed);
    }

    pub fn routes(&self) -> Router {
        Router::new()
            .route("/healthz", get(|| async { text(StatusCode::OK, "ok\n") }))
            .route("/readyz", get(ready))
            .with_state(self.clone())
    }
}

async fn ready(State(health): State<Health>) -> impl IntoResponse {
    if !health.is_ready.load(Ordering::Relaxed) {
        return text(StatusCode::SERVICE_UNAVAILABLE, "the service starts or stops\n");
    }
    // No record, which is as quick to find out as to read one.
    let read = async {
        let tenant = Tenant::new("readyz", "readyz")?;
        health
            .records
            .find::<IgnoredAny>(&keys::prompt(&tenant, "readyz"))
            .await
    };
    match timeout(READ, read).await {
        Ok(Ok(_)) => text(StatusCode::OK, "ready\n"),
        Ok(Err(_)) | Err(_) => text(StatusCode::SERVICE_UNAVAILABLE, "the records cannot be read\n"),
    }
}

fn text(status: StatusCode, body: &'static str) -> impl IntoResponse {
    (status, [(CACHE_CONTROL, "no-store")], body)
}
