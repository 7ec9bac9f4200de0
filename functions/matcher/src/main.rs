//! The Lambda that reads the queue of events.

use platform::config::Environment;

#[tokio::main]
async fn main() -> Result<(), lambda_runtime::Error> {
    matcher_function::run(&Environment::read()?, runs::registry()).await
}
