//! The Lambda of the stream of update messages. Its answers are streams.

use stream_function::Stream;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda::Error> {
    let deployment = lambda::start()?.deployment;
    let platform = lambda::platform(&deployment)?;
    let stream = Stream::from_deployment(&deployment)?;
    lambda::http::serve_streaming(&platform, stream_function::routes(platform.clone(), stream)).await
}
