//! The Lambda of the endpoints of the audit trail and of aggregation.

use event_log::{LogStore, LogStoreConfig};
use platform::Platform;
use platform::config::{AwsEnvironment, Environment};
use platform::objects::Objects;
use platform::records::Table;
use platform::records::logs::Logs;
use platform::telemetry::{self, Format};

fn main() -> Result<(), lambda_http::Error> {
    lake::run_if_child();
    serve()
}

#[tokio::main(flavor = "current_thread")]
async fn serve() -> Result<(), lambda_http::Error> {
    let environment = Environment::read()?;
    telemetry::init(&environment, Format::Json, "info")?;
    let (sdk, machine) = (platform::aws::sdk_config(), AwsEnvironment::read());
    let platform = Platform::from_environment(&environment, &sdk)?;
    let events = Table::connect(&sdk, &environment.required("MILLRACE_EVENTS_TABLE")?);
    let audit = Table::connect(&sdk, &environment.required("MILLRACE_AUDIT_TABLE")?);
    let objects = Objects::connect(&sdk, &environment.required("MILLRACE_DATA_BUCKET")?);
    let config = LogStoreConfig::from_environment(&environment)?.fitting(&environment, &machine)?;
    let log = LogStore::new(Logs::new(events, audit), objects, &config)?;
    log.engine().warm()?;
    let (clock, edge) = (platform.clock.clone(), platform.edge.clone());
    platform::http::serve(audit_function::routes(platform, log), clock, edge).await
}
