//! The function `subscriptions` with the samples, for the emulator.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda::Error> {
    let function = lambda::start()?;
    let registry = samples::registry(function.deployment.environment())?;
    lambda::subscriptions::run(&function, registry).await
}
