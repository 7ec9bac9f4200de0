//! The Lambda that reads the queue of hints at workflow runs.

use platform::config::Environment;

fn main() -> Result<(), lambda_runtime::Error> {
    runs::process::run_if_child();
    serve()
}

#[tokio::main]
async fn serve() -> Result<(), lambda_runtime::Error> {
    worker_function::run(&Environment::read()?, runs::registry()).await
}
