//! The function `matcher` with the samples, for the emulator.

#[tokio::main]
async fn main() -> Result<(), lambda::Error> {
    let function = lambda::start()?;
    let registry = samples::registry(function.deployment.environment())?;
    lambda::matcher::run(&function, registry).await
}
