//! The Lambda of the prompt template endpoints.

use platform::Platform;
use platform::telemetry::{self, Format};

fn main() -> Result<(), lambda_http::Error> {
    prompts_function::run_if_child();
    serve()
}

#[tokio::main(flavor = "current_thread")]
async fn serve() -> Result<(), lambda_http::Error> {
    let deployment = aws::deployment()?;
    telemetry::init(deployment.environment(), Format::Json, "info")?;
    let platform = Platform::from_deployment(&deployment)?;
    let (clock, edge) = (platform.clock.clone(), platform.edge.clone());
    // A Lambda instance handles one request at a time.
    let sandbox = prompts_function::sandbox(1)?;
    sandbox.warm()?;
    platform::http::serve(prompts_function::routes(platform, sandbox), clock, edge).await
}
