//! The Lambda of the console.

use console_function::{Console, Settings};
use platform::Clock;
use platform::config::{CorsOrigins, EdgeConfig};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda::Error> {
    let deployment = lambda::start()?.deployment;
    let console = Console::open(Settings::from_environment(deployment.environment())?)?;
    // A page of another origin has no use for it.
    let edge = EdgeConfig {
        cors: CorsOrigins::None,
    };
    lambda::http::serve_at_root(console.routes().into(), Clock::System, edge).await
}
