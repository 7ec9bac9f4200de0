//! The Lambda of the event subscription endpoints.

use platform::Platform;
use platform::config::Environment;
use platform::telemetry::{self, Format};
use subscriptions_function::Subscriptions;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    let environment = Environment::read()?;
    telemetry::init(&environment, Format::Json, "info")?;
    let sdk = platform::aws::sdk_config();
    let platform = Platform::from_environment(&environment, &sdk)?;
    let subscriptions = Subscriptions::from_environment(&environment, &sdk)?;
    let (clock, edge) = (platform.clock.clone(), platform.edge.clone());
    platform::http::serve(
        subscriptions_function::routes(platform, subscriptions),
        clock,
        edge,
    )
    .await
}
