//! The Lambda of the endpoints of the audit trail and of aggregation.

use event_log::{LogStore, LogStoreConfig};
use platform::Platform;
use platform::config::AwsEnvironment;
use platform::records::logs::Logs;

fn main() -> Result<(), lambda::Error> {
    lake::run_if_child();
    serve()
}

#[tokio::main(flavor = "current_thread")]
async fn serve() -> Result<(), lambda::Error> {
    let deployment = lambda::deployment()?;
    let environment = deployment.environment();
    let platform = Platform::from_deployment(&deployment)?;
    let events = deployment.table("MILLRACE_EVENTS_TABLE")?;
    let audit = deployment.table("MILLRACE_AUDIT_TABLE")?;
    let objects = deployment.bucket("MILLRACE_DATA_BUCKET")?;
    let config = LogStoreConfig::from_environment(environment)?;
    let config = config.fitting(environment, &AwsEnvironment::read())?;
    let log = LogStore::new(Logs::new(events, audit), objects, &config)?;
    log.engine().warm()?;
    lambda::http::serve(&platform, audit_function::routes(platform.clone(), log)).await
}
