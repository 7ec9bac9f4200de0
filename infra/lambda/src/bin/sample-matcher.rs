//! The function `matcher` with the samples, for the emulator.

#[tokio::main]
async fn main() -> Result<(), lambda::Error> {
    let deployment = lambda::deployment()?;
    lambda::matcher::run(&deployment, samples::registry(deployment.environment())?).await
}
