//! The Lambda of the audit trail endpoint.

use platform::Platform;
use platform::config::Environment;
use platform::telemetry::{self, Format};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    let environment = Environment::read()?;
    telemetry::init(&environment, Format::Json, "info")?;
    let sdk = platform::aws::sdk_config();
    let platform = Platform::from_environment(&environment, &sdk)?;
    let (clock, edge) = (platform.clock.clone(), platform.edge.clone());
    platform::http::serve(audit_function::routes(platform), clock, edge).await
}
