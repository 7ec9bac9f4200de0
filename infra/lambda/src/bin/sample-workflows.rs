//! The function `workflows` with the samples, for the emulator.

fn main() -> Result<(), lambda::Error> {
    runs::process::run_if_child();
    serve()
}

#[tokio::main]
async fn serve() -> Result<(), lambda::Error> {
    let deployment = lambda::deployment()?;
    lambda::workflows::run(&deployment, samples::registry(deployment.environment())?).await
}
