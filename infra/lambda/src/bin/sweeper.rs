//! The Lambda that a schedule calls each minute.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use platform::telemetry;
use serde_json::Value;
use sweeper_function::{BatchFinisher, EventRemover, LogSweeper, Sweeper};
use workflow::Registry;
use workflow::wiring::Wiring;

/// The schedule calls once a minute, so a sweep sends the hints for the next minute too, delayed to their due
/// time.
const AHEAD_MS: u64 = 60_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let deployment = lambda::start()?.deployment;
    let engine = Wiring::from_deployment(&deployment)?.engine(Registry::new())?;
    let sweeper = Sweeper::from_deployment(&deployment, engine)?;
    let remover = EventRemover::from_deployment(&deployment)?;
    let batches = BatchFinisher::from_deployment(&deployment)?;
    let logs = LogSweeper::from_deployment(&deployment)?;
    let handler = async |_: LambdaEvent<Value>| {
        let (swept, finished, of_logs, removed) = tokio::join!(
            sweeper.sweep(AHEAD_MS),
            batches.sweep(),
            logs.sweep(),
            remover.sweep()
        );
        telemetry::flush().await;
        swept?;
        finished?;
        of_logs?;
        removed?;
        Ok::<_, Error>(())
    };
    if lambda::only_checks_config() {
        return Ok(());
    }
    lambda_runtime::run(service_fn(handler)).await
}
