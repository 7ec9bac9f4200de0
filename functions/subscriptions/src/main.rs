//! The Lambda of the event subscription endpoints.

use platform::config::Environment;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    subscriptions_function::run(&Environment::read()?, runs::registry()).await
}
