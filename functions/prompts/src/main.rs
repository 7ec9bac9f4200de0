//! The Lambda of the prompt template endpoints.

use platform::Platform;
use platform::config::Environment;
use platform::telemetry::{self, Format};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    let environment = Environment::read()?;
    telemetry::init(&environment, Format::Json, "info")?;
    let platform = Platform::from_environment(&environment)?;
    let (clock, edge) = (platform.clock.clone(), platform.edge.clone());
    platform::http::serve(prompts_function::routes(platform), clock, edge).await
}
