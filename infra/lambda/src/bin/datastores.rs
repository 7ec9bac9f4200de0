//! The Lambda of the data store endpoints.

use lake::records::stores::Stores;
use lake::store::{DataStores, ImportServices, StoreConfig};
use platform::Platform;
use platform::config::AwsEnvironment;
use platform::outbound::Outbound;
use platform::sources::Sources;

fn main() -> Result<(), lambda::Error> {
    lake::run_if_child();
    serve()
}

#[tokio::main(flavor = "current_thread")]
async fn serve() -> Result<(), lambda::Error> {
    let deployment = lambda::deployment()?;
    let environment = deployment.environment();
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
    lambda::http::serve(&platform, datastores_function::routes(platform.clone(), stores)).await
}
