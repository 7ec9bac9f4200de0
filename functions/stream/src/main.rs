//! The Lambda of the stream of update messages. Its answers are streams.

use platform::Platform;
use platform::telemetry::{self, Format};
use stream_function::Stream;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    let deployment = aws::deployment()?;
    telemetry::init(deployment.environment(), Format::Json, "info")?;
    let platform = Platform::from_deployment(&deployment)?;
    let stream = Stream::from_deployment(&deployment)?;
    let (clock, edge) = (platform.clock.clone(), platform.edge.clone());
    platform::http::serve_streaming(stream_function::routes(platform, stream), clock, edge).await
}
