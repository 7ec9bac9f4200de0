//! The Lambda of the workflow run endpoints.

use platform::config::Environment;

#[tokio::main]
async fn main() -> Result<(), lambda_http::Error> {
    workflows_function::run(&Environment::read()?, runs::registry()).await
}
