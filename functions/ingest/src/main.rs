//! The Lambda behind the ingest Function URL.

use ingest_function::{Ingest, routes};
use platform::config::{CorsOrigins, EdgeConfig, Environment};
use platform::telemetry::{self, Format};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    let environment = Environment::read()?;
    telemetry::init(&environment, Format::Json, "info")?;
    let sdk = platform::aws::sdk_config();
    let ingest = Ingest::from_environment(&environment, &sdk)?;
    let clock = ingest.clock.clone();
    // No browser sends events.
    let edge = EdgeConfig {
        cors: CorsOrigins::None,
    };
    platform::http::serve::serve_at_root(routes(ingest), clock, edge).await
}
