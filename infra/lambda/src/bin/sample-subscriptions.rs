//! The function `subscriptions` with the samples, for the emulator.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda::Error> {
    let deployment = lambda::deployment()?;
    lambda::subscriptions::run(&deployment, samples::registry(deployment.environment())?).await
}
