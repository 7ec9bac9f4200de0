//! The Lambda that reads the archive queue.

use std::sync::Arc;

use aws_lambda_events::event::sqs::SqsEvent;
use event_log::archive::{Archiver, ArchiverConfig};
use lambda_runtime::{Error, LambdaEvent, service_fn};
use platform::Clock;
use platform::archive_hints::ArchiveHints;
use platform::batch::consume;
use platform::config::{AwsEnvironment, Environment};
use platform::objects::Objects;
use platform::queue::SqsQueue;
use platform::records::Table;
use platform::records::logs::Logs;
use platform::signing::KmsSigningKey;
use platform::telemetry::{self, Format};

fn main() -> Result<(), Error> {
    lake::run_if_child();
    serve()
}

#[tokio::main(flavor = "current_thread")]
async fn serve() -> Result<(), Error> {
    let environment = Environment::read()?;
    telemetry::init(&environment, Format::Json, "info")?;
    let sdk = platform::aws::sdk_config();
    let url = environment.required("MILLRACE_ARCHIVE_QUEUE")?;
    let queue = SqsQueue::connect(&sdk, url.clone());
    let hints = ArchiveHints::new(Arc::new(SqsQueue::connect(&sdk, url)));
    let events = Table::connect(&sdk, &environment.required("MILLRACE_EVENTS_TABLE")?);
    let audit = Table::connect(&sdk, &environment.required("MILLRACE_AUDIT_TABLE")?);
    let key = KmsSigningKey::connect(&sdk, environment.required("MILLRACE_DIGEST_KEY")?);
    let archiver = Archiver::new(
        Logs::new(events, audit),
        Objects::connect(&sdk, &environment.required("MILLRACE_DATA_BUCKET")?),
        Arc::new(key),
        Clock::System,
        &ArchiverConfig::from_environment(&environment)?.fitting(&environment, &AwsEnvironment::read())?,
    )?;
    let handler = async |event: LambdaEvent<SqsEvent>| {
        let handle = |batch| archiver_function::handle(&archiver, &hints, batch);
        Ok::<_, Error>(consume(event, &queue, &Clock::System, handle).await)
    };
    lambda_runtime::run(service_fn(handler)).await
}
