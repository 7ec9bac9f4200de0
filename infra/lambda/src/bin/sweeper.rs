//! The Lambda that a schedule calls each minute.

use std::sync::Arc;

use events::records::events::Events;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use platform::archive_hints::ArchiveHints;
use platform::config::Retention;
use platform::metrics;
use platform::records::logs::Logs;
use serde_json::Value;
use sweeper_function::{EventRemover, LogSweeper, Sweeper};
use workflow::Registry;
use workflow::wiring::Wiring;

/// The schedule calls once a minute, so a sweep sends the hints for the next minute too, delayed to their due
/// time.
const AHEAD_MS: u64 = 60_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let deployment = lambda::deployment()?;
    let wiring = Wiring::from_deployment(&deployment)?;
    let events = deployment.table("MILLRACE_EVENTS_TABLE")?;
    let retention = Retention::from_environment(deployment.environment())?;
    let remover = EventRemover::new(
        events.clone(),
        wiring.objects.clone(),
        retention,
        wiring.clock.clone(),
    );
    let sweeper = Sweeper::new(
        wiring.engine(Registry::new())?,
        Events::new(events.clone()),
        Arc::clone(&wiring.bus),
        wiring.clock.clone(),
    );
    let audit = deployment.table("MILLRACE_AUDIT_TABLE")?;
    let logs = LogSweeper::new(
        Logs::new(events, audit),
        ArchiveHints::new(deployment.queue("MILLRACE_ARCHIVE_QUEUE")?),
        wiring.clock.clone(),
    );
    let handler = async |_: LambdaEvent<Value>| {
        let (swept, of_logs, removed) = tokio::join!(sweeper.sweep(AHEAD_MS), logs.sweep(), remover.sweep());
        metrics::flush();
        swept?;
        of_logs?;
        removed?;
        Ok::<_, Error>(())
    };
    lambda_runtime::run(service_fn(handler)).await
}
