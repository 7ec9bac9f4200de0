//! The function `matcher` with the samples, for the emulator.

#[tokio::main]
async fn main() -> Result<(), lambda_runtime::Error> {
    let deployment = aws::deployment()?;
    matcher_function::run(&deployment, samples::registry(deployment.environment())?).await
}
