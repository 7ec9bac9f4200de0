//! The Lambda that reads the import queue, and that schedules call to sweep overdue imports and to collect
//! garbage.

use aws_lambda_events::event::sqs::SqsBatchResponse;
use lake::records::stores::Stores;
use lake::store::{DataStores, ImportServices, Retention, StoreConfig};
use lambda::queue::consume;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use platform::Clock;
use platform::config::AwsEnvironment;
use platform::metrics;
use platform::outbound::Outbound;
use platform::sources::Sources;
use serde_json::Value;

fn main() -> Result<(), Error> {
    lake::run_if_child();
    serve()
}

#[tokio::main(flavor = "current_thread")]
async fn serve() -> Result<(), Error> {
    let deployment = lambda::deployment()?;
    let environment = deployment.environment();
    let machine = AwsEnvironment::read();
    let queue = deployment.queue("MILLRACE_IMPORT_QUEUE")?;
    let inbox = deployment.inbox("MILLRACE_IMPORT_QUEUE")?;
    let records = deployment.table("MILLRACE_RECORDS_TABLE")?;
    let objects = deployment.bucket("MILLRACE_DATA_BUCKET")?;
    let outbound = Outbound::from_environment(environment, &machine)?;
    let imports = ImportServices {
        sources: Some(Sources::from_deployment(&deployment, outbound)?),
        queue: None,
    };
    let config = StoreConfig::from_environment(environment)?
        .in_background()
        .fitting(environment, &machine)?;
    let stores = DataStores::new(Clock::System, Stores::new(records), objects, imports, &config)?;
    let retention = Retention::from_environment(environment)?;
    let handler = async |event: LambdaEvent<Value>| {
        if event.payload.get("collect").is_some() {
            importer_function::collect(&stores, retention).await?;
            metrics::flush();
            return Ok(SqsBatchResponse::default());
        }
        if event.payload.get("Records").is_none() {
            importer_function::sweep(&stores, &*queue).await?;
            metrics::flush();
            return Ok(SqsBatchResponse::default());
        }
        let event = LambdaEvent::new(serde_json::from_value(event.payload)?, event.context);
        let handle = async |batch| importer_function::handle(&stores, batch).await;
        Ok::<_, Error>(consume(event, &*inbox, &Clock::System, handle).await)
    };
    lambda_runtime::run(service_fn(handler)).await
}
