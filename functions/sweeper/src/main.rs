//! The Lambda that a schedule calls each minute.

use std::sync::Arc;

use lambda_runtime::{Error, LambdaEvent, service_fn};
use platform::archive_hints::ArchiveHints;
use platform::config::{Environment, Retention};
use platform::metrics;
use platform::queue::SqsQueue;
use platform::records::Table;
use platform::records::events::Events;
use platform::records::logs::Logs;
use platform::telemetry::{self, Format};
use serde_json::Value;
use sweeper_function::{EventRemover, LogSweeper, Sweeper};
use workflow::Registry;
use workflow::wiring::Wiring;

/// A schedule comes once a minute: what is due before it comes again is sent now, and held back until its time.
const AHEAD_MS: u64 = 60_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let environment = Environment::read()?;
    telemetry::init(&environment, Format::Json, "info")?;
    let sdk = platform::aws::sdk_config();
    let wiring = Wiring::from_environment(&environment, &sdk)?;
    let events = Table::connect(&sdk, &environment.required("MILLRACE_EVENTS_TABLE")?);
    let retention = Retention::from_environment(&environment)?;
    let remover = EventRemover::new(
        events.clone(),
        wiring.objects.clone(),
        retention,
        wiring.clock.clone(),
    );
    let sweeper = Sweeper::new(
        wiring.engine(Registry::new())?,
        Events::new(events.clone()).retaining(retention),
        Arc::clone(&wiring.bus),
        wiring.clock.clone(),
    );
    let audit = Table::connect(&sdk, &environment.required("MILLRACE_AUDIT_TABLE")?);
    let archive = SqsQueue::connect(&sdk, environment.required("MILLRACE_ARCHIVE_QUEUE")?);
    let logs = LogSweeper::new(
        Logs::new(events, audit),
        ArchiveHints::new(Arc::new(archive)),
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
