//! Emulates DynamoDB and S3 at one address, over a folder: for tests and measurements of the AWS adapters,
//! and for functions that run on a laptop. The local runner does not need it.
//!
//! Any program of any user of this machine can read and write everything in the emulators, so use them only
//! for data without value.

mod dynamodb;
mod s3;

use std::error::Error;
use std::net::Ipv4Addr;
use std::path::Path;

use aws::{Keys, SdkConfig, create_table, sdk_config_for};
use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use dynoxide::Database;
use platform::config::Secret;
use platform::records::schema::TableKind;
use s3::S3Emulator;
use tokio::net::TcpListener;
use tower::ServiceExt as _;

/// Access key id and secret access key of the object store's signatures.
pub const KEYS: (&str, &str) = ("local", "emulated");

type Failure = Box<dyn Error + Send + Sync>;

/// Running emulators; they stop when the runtime stops.
#[derive(Clone, Debug)]
pub struct Emulators {
    /// Endpoint of both emulators: a value of `AWS_ENDPOINT_URL`.
    pub endpoint: String,
}

impl Emulators {
    /// Starts both emulators with these tables over a folder that only this process may use. Every bucket
    /// exists. They serve until the runtime stops.
    pub async fn start(folder: &Path, tables: &[(&str, TableKind)]) -> Result<Self, Failure> {
        std::fs::create_dir_all(folder)?;
        let database = Database::new(&folder.join("records.sqlite").to_string_lossy())?;
        let router = S3Emulator::new(folder.join("objects"))
            .routes(KEYS)
            .layer(from_fn_with_state(dynamodb::routes(database), records));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let endpoint = format!("http://{}", listener.local_addr()?);
        tokio::spawn(axum::serve(listener, router).into_future());
        let emulators = Self { endpoint };
        for (table, kind) in tables {
            create_table(&emulators.sdk(), table, *kind).await?;
        }
        Ok(emulators)
    }

    /// Returns an SDK configuration for both emulators.
    pub fn sdk(&self) -> SdkConfig {
        sdk_config_for(&self.endpoint, Keys::signing(&Secret::new(KEYS.1)))
    }
}

/// Routes requests: one of DynamoDB names its operation in a header; all others belong to S3.
async fn records(State(records): State<Router>, request: Request, next: Next) -> Response {
    if request.headers().contains_key(dynamodb::TARGET_HEADER) {
        return records.oneshot(request).await.into_response();
    }
    next.run(request).await
}
