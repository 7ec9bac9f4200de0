//! The Lambda that reads the archive queue.

use aws_lambda_events::event::sqs::SqsEvent;
use event_log::archive::{Archiver, ArchiverConfig};
use lambda_runtime::{Error, LambdaEvent, service_fn};
use platform::Clock;
use platform::archive_hints::ArchiveHints;
use platform::batch::consume;
use platform::config::AwsEnvironment;
use platform::records::logs::Logs;
use platform::telemetry::{self, Format};

fn main() -> Result<(), Error> {
    lake::run_if_child();
    serve()
}

#[tokio::main(flavor = "current_thread")]
async fn serve() -> Result<(), Error> {
    let deployment = aws::deployment()?;
    let environment = deployment.environment();
    telemetry::init(environment, Format::Json, "info")?;
    let inbox = deployment.inbox("MILLRACE_ARCHIVE_QUEUE")?;
    let hints = ArchiveHints::new(deployment.queue("MILLRACE_ARCHIVE_QUEUE")?);
    let events = deployment.table("MILLRACE_EVENTS_TABLE")?;
    let audit = deployment.table("MILLRACE_AUDIT_TABLE")?;
    let archiver = Archiver::new(
        Logs::new(events, audit),
        deployment.bucket("MILLRACE_DATA_BUCKET")?,
        deployment.signing_key("MILLRACE_DIGEST_KEY")?,
        Clock::System,
        &ArchiverConfig::from_environment(environment)?.fitting(environment, &AwsEnvironment::read())?,
    )?;
    let handler = async |event: LambdaEvent<SqsEvent>| {
        let handle = |batch| archiver_function::handle(&archiver, &hints, batch);
        Ok::<_, Error>(consume(event, &*inbox, &Clock::System, handle).await)
    };
    lambda_runtime::run(service_fn(handler)).await
}
