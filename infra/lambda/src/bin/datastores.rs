//! The Lambda of the data store endpoints.

use lake::store::{DataStores, StoreConfig};
use platform::config::{AwsEnvironment, variables};

fn main() -> Result<(), lambda::Error> {
    lake::run_if_child();
    serve()
}

#[tokio::main(flavor = "current_thread")]
async fn serve() -> Result<(), lambda::Error> {
    let deployment = lambda::start()?.deployment;
    let environment = deployment.environment();
    let platform = lambda::platform(&deployment)?;
    let config = StoreConfig::from_environment(environment)?;
    let config = config.fitting(environment, &AwsEnvironment::read())?;
    let queue = deployment.queue(variables::IMPORT_QUEUE)?;
    let stores = DataStores::from_deployment(&deployment, Some(queue), &config)?;
    stores.warm()?;
    lambda::http::serve(&platform, datastores_function::routes(platform.clone(), stores)).await
}
