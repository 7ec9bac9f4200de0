//! The function `subscriptions` with the samples, for the emulator.

use platform::config::Environment;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    let environment = Environment::read()?;
    subscriptions_function::run(&environment, samples::registry(&environment)?).await
}
