//! The Lambda behind the ingest Function URL.

use ingest_function::{Ingest, routes};
use platform::config::{CorsOrigins, EdgeConfig};
use platform::telemetry::{self, Format};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    let deployment = aws::deployment()?;
    telemetry::init(deployment.environment(), Format::Json, "info")?;
    let ingest = Ingest::from_deployment(&deployment)?;
    let clock = ingest.clock.clone();
    // Browsers do not send events.
    let edge = EdgeConfig {
        cors: CorsOrigins::None,
    };
    platform::http::serve::serve_at_root(routes(ingest), clock, edge).await
}
