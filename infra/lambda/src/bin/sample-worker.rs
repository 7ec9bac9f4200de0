//! The function `worker` with the samples, for the emulator.

use aws::Aws;

fn main() -> Result<(), lambda::Error> {
    runs::process::run_if_child();
    serve()
}

#[tokio::main]
async fn serve() -> Result<(), lambda::Error> {
    let aws = Aws::from_environment();
    let deployment = lambda::start(&aws)?;
    lambda::worker::run(
        &deployment,
        &aws.bedrock(),
        samples::registry(deployment.environment())?,
    )
    .await
}
