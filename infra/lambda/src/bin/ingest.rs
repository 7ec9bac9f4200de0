//! The Lambda behind the ingest Function URL.

use ingest_function::{Ingest, routes};
use platform::config::{CorsOrigins, EdgeConfig};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda::Error> {
    let deployment = lambda::start()?.deployment;
    let ingest = Ingest::from_deployment(&deployment)?;
    let clock = ingest.clock.clone();
    // Browsers do not send events.
    let edge = EdgeConfig {
        cors: CorsOrigins::None,
    };
    lambda::http::serve_at_root(routes(ingest), clock, edge).await
}
