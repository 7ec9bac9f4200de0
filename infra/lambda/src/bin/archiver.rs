//! The Lambda that reads the archive queue.

use event_log::archive::{Archiver, ArchiverConfig};
use lambda::Error;
use platform::Clock;
use platform::archive_hints::ArchiveHints;
use platform::config::AwsEnvironment;
use platform::records::logs::Logs;

fn main() -> Result<(), Error> {
    lake::run_if_child();
    serve()
}

#[tokio::main(flavor = "current_thread")]
async fn serve() -> Result<(), Error> {
    let deployment = lambda::deployment()?;
    let environment = deployment.environment();
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
    lambda::queue::receive(&*inbox, &Clock::System, async |batch| {
        archiver_function::handle(&archiver, &hints, batch).await
    })
    .await
}
