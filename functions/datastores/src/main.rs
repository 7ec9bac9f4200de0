//! The Lambda of the data store endpoints.

use lake::store::{DataStores, ImportServices, StoreConfig};
use platform::Platform;
use platform::config::AwsEnvironment;
use platform::outbound::Outbound;
use platform::records::stores::Stores;
use platform::sources::Sources;
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
    let machine = AwsEnvironment::read();
    let platform = Platform::from_deployment(&deployment)?;
    let objects = deployment.bucket("MILLRACE_DATA_BUCKET")?;
    let records = Stores::new(platform.records.clone());
    let config = StoreConfig::from_environment(environment)?.fitting(environment, &machine)?;
    let outbound = Outbound::from_environment(environment, &machine)?;
    let imports = ImportServices {
        sources: Some(Sources::from_deployment(&deployment, outbound)?),
        queue: Some(deployment.queue("MILLRACE_IMPORT_QUEUE")?),
    };
    let stores = DataStores::new(platform.clock.clone(), records, objects, imports, &config)?;
    stores.warm()?;
    let (clock, edge) = (platform.clock.clone(), platform.edge.clone());
    platform::http::serve(datastores_function::routes(platform, stores), clock, edge).await
}
