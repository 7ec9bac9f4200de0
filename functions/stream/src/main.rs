//! The Lambda of the stream of update messages. Its answers are streams.

use platform::Platform;
use platform::config::Environment;
use platform::telemetry::{self, Format};
use stream_function::Stream;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    let environment = Environment::read()?;
    telemetry::init(&environment, Format::Json, "info")?;
    let sdk = platform::aws::sdk_config();
    let platform = Platform::from_environment(&environment, &sdk)?;
    let stream = Stream::from_environment(&environment, &sdk)?;
    let (clock, edge) = (platform.clock.clone(), platform.edge.clone());
    platform::http::serve_streaming(stream_function::routes(platform, stream), clock, edge).await
}
