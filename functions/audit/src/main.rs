//! The Lambda of the endpoints of the audit trail and of aggregation.

use event_log::{LogStore, LogStoreConfig};
use platform::Platform;
use platform::config::AwsEnvironment;
use platform::records::logs::Logs;
use platform::telemetry::{self, Format};

fn main() -> Result<(), lambda_http::Error> {
    lake::run_if_child();
    serve()
}

#[tokio::main(flavor = "current_thread")]
async fn serve() -> Result<(), lambda_http::Error> {
    let deployment = aws::deployment()?;
    let environment = deployment.environment();
    telemetry::init(environment, Format::Json, "info")?;
    let platform = Platform::from_deployment(&deployment)?;
    let events = deployment.table("MILLRACE_EVENTS_TABLE")?;
    let audit = deployment.table("MILLRACE_AUDIT_TABLE")?;
    let objects = deployment.bucket("MILLRACE_DATA_BUCKET")?;
    let config = LogStoreConfig::from_environment(environment)?;
    let config = config.fitting(environment, &AwsEnvironment::read())?;
    let log = LogStore::new(Logs::new(events, audit), objects, &config)?;
    log.engine().warm()?;
    let (clock, edge) = (platform.clock.clone(), platform.edge.clone());
    platform::http::serve(audit_function::routes(platform, log), clock, edge).await
}
