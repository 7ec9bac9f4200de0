//! The function `workflows` with the samples, for the emulator.

use platform::config::Environment;

fn main() -> Result<(), lambda_runtime::Error> {
    runs::process::run_if_child();
    serve()
}

#[tokio::main]
async fn serve() -> Result<(), lambda_runtime::Error> {
    let environment = Environment::read()?;
    workflows_function::run(&environment, samples::registry(&environment)?).await
}
