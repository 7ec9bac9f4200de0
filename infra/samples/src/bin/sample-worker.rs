//! The function `worker` with the samples, for the emulator.

use platform::config::Environment;

#[tokio::main]
async fn main() -> Result<(), lambda_runtime::Error> {
    let environment = Environment::read()?;
    worker_function::run(&environment, samples::registry(&environment)?).await
}
