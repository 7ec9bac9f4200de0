//! The Lambda of the console.

use console_function::{Console, Settings};
use platform::Clock;
use platform::config::{CorsOrigins, EdgeConfig};
use platform::telemetry::{self, Format};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    let deployment = aws::deployment()?;
    telemetry::init(deployment.environment(), Format::Json, "info")?;
    let console = Console::open(Settings::from_environment(deployment.environment())?)?;
    // A page of another origin has no use for it.
    let edge = EdgeConfig {
        cors: CorsOrigins::None,
    };
    platform::http::serve::serve_at_root(console.routes().into(), Clock::System, edge).await
}
