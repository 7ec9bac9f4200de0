//! The function `workflows` with the samples, for the emulator.

fn main() -> Result<(), lambda_runtime::Error> {
    runs::process::run_if_child();
    serve()
}

#[tokio::main]
async fn serve() -> Result<(), lambda_runtime::Error> {
    let deployment = aws::deployment()?;
    workflows_function::run(&deployment, samples::registry(deployment.environment())?).await
}
