//! The Lambda that reads the queue of hints at workflow runs.

use platform::config::Environment;

#[tokio::main]
async fn main() -> Result<(), lambda_runtime::Error> {
    worker_function::run(&Environment::read()?, runs::registry()).await
}
