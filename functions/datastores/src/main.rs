//! The Lambda of the data store endpoints.

use std::sync::Arc;

use lake::store::{DataStores, ImportServices, StoreConfig};
use platform::Platform;
use platform::config::{AwsEnvironment, Environment};
use platform::objects::Objects;
use platform::outbound::Outbound;
use platform::queue::SqsQueue;
use platform::records::stores::Stores;
use platform::sources::Sources;
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
    let objects = Objects::connect(&sdk, &environment.required("MILLRACE_DATA_BUCKET")?);
    let records = Stores::new(platform.records.clone());
    let config = StoreConfig::from_environment(&environment)?.fitting(&environment, &machine)?;
    let queue = SqsQueue::connect(&sdk, environment.required("MILLRACE_IMPORT_QUEUE")?);
    let outbound = Outbound::from_environment(&environment, &machine)?;
    let imports = ImportServices {
        sources: Some(Sources::from_environment(&environment, &sdk, outbound)?),
        queue: Some(Arc::new(queue)),
    };
    let stores = DataStores::new(platform.clock.clone(), records, objects, imports, &config)?;
    stores.warm()?;
    let (clock, edge) = (platform.clock.clone(), platform.edge.clone());
    platform::http::serve(datastores_function::routes(platform, stores), clock, edge).await
}
