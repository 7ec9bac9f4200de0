//! The Lambda that reads the archive queue.

use event_log::archive::{Archiver, ArchiverConfig};
use lambda::Error;
use platform::Clock;
use platform::archive_hints::ArchiveHints;
use platform::config::{AwsEnvironment, variables};

fn main() -> Result<(), Error> {
    lake::run_if_child();
    serve()
}

#[tokio::main(flavor = "current_thread")]
async fn serve() -> Result<(), Error> {
    let function = lambda::start()?;
    let (deployment, environment) = (&function.deployment, function.deployment.environment());
    let config = ArchiverConfig::from_environment(environment)?;
    let config = config.fitting(environment, &AwsEnvironment::read())?;
    let archiver = Archiver::from_deployment(deployment, &config)?;
    let hints = ArchiveHints::from_deployment(deployment)?;
    let inbox = function.inbox(&[variables::ARCHIVE_QUEUE])?;
    lambda::queue::receive(&inbox, &Clock::System, async |batch| {
        archiver_function::handle(&archiver, &hints, batch).await
    })
    .await
}
