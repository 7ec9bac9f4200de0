//! The Lambda of the workflow run endpoints.

use platform::Platform;
use platform::config::Environment;
use platform::telemetry::{self, Format};
use workflows_function::Workflows;

#[tokio::main]
async fn main() -> Result<(), lambda_http::Error> {
    let environment = Environment::read()?;
    telemetry::init(&environment, Format::Json, "info")?;
    let sdk = platform::aws::sdk_config();
    let platform = Platform::from_environment(&environment, &sdk)?;
    let workflows = Workflows::from_environment(&environment, &sdk)?;
    let (clock, edge) = (platform.clock.clone(), platform.edge.clone());
    platform::http::serve(workflows_function::routes(platform, workflows), clock, edge).await
}
