//! The Lambda that reads the import queue, and that schedules call to sweep overdue imports and to collect
//! garbage.

use aws_lambda_events::event::sqs::SqsBatchResponse;
use lake::store::{DataStores, Retention, StoreConfig};
use lambda::queue::consume;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use platform::Clock;
use platform::config::{AwsEnvironment, variables};
use platform::telemetry;
use serde_json::Value;

fn main() -> Result<(), Error> {
    lake::run_if_child();
    serve()
}

#[tokio::main(flavor = "current_thread")]
async fn serve() -> Result<(), Error> {
    let function = lambda::start()?;
    let (deployment, environment) = (&function.deployment, function.deployment.environment());
    let queue = deployment.queue(variables::IMPORT_QUEUE)?;
    let inbox = function.inbox(&[variables::IMPORT_QUEUE])?;
    let config = StoreConfig::from_environment(environment)?
        .in_background()
        .fitting(environment, &AwsEnvironment::read())?;
    let stores = DataStores::from_deployment(deployment, None, &config)?;
    let retention = Retention::from_environment(environment)?;
    let handler = async |event: LambdaEvent<Value>| {
        if event.payload.get("collect").is_some() {
            importer_function::collect(&stores, retention).await?;
            telemetry::flush().await;
            return Ok(SqsBatchResponse::default());
        }
        if event.payload.get("Records").is_none() {
            importer_function::sweep(&stores, &*queue).await?;
            telemetry::flush().await;
            return Ok(SqsBatchResponse::default());
        }
        let event = LambdaEvent::new(serde_json::from_value(event.payload)?, event.context);
        let handle = async |batch| importer_function::handle(&stores, batch).await;
        Ok::<_, Error>(consume(event, &inbox, &Clock::System, handle).await)
    };
    if lambda::only_checks_config() {
        return Ok(());
    }
    lambda_runtime::run(service_fn(handler)).await
}
