//! The function `workflows` with the samples, for the emulator.

fn main() -> Result<(), lambda::Error> {
    runs::process::run_if_child();
    serve()
}

#[tokio::main]
async fn serve() -> Result<(), lambda::Error> {
    let function = lambda::start()?;
    let registry = samples::registry(function.deployment.environment())?;
    lambda::workflows::run(&function, registry).await
}
