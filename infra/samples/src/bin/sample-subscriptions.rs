//! The function `subscriptions` with the samples, for the emulator.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    let deployment = aws::deployment()?;
    subscriptions_function::run(&deployment, samples::registry(deployment.environment())?).await
}
