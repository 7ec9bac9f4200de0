//! The Lambda that a schedule calls each minute.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use platform::config::Environment;
use platform::telemetry::{self, Format};
use serde_json::Value;
use sweeper_function::Sweeper;
use workflow::Registry;
use workflow::wiring::Wiring;

/// A schedule comes once a minute: what is due before it comes again is sent now, and held back until its time.
const AHEAD_MS: u64 = 60_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let environment = Environment::read()?;
    telemetry::init(&environment, Format::Json, "info")?;
    let wiring = Wiring::from_environment(&environment)?;
    let sweeper = Sweeper::new(wiring.engine(Registry::new()), wiring.clock.clone());
    let handler = async |_: LambdaEvent<Value>| Ok::<_, Error>(sweeper.sweep(AHEAD_MS).await?);
    lambda_runtime::run(service_fn(handler)).await
}
