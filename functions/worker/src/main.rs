//! The Lambda that reads the queue of hints at workflow runs.

use aws_lambda_events::event::sqs::SqsEvent;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use platform::config::Environment;
use platform::telemetry::{self, Format};
use workflow::wiring::Wiring;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let environment = Environment::read()?;
    telemetry::init(&environment, Format::Json, "info")?;
    let engine = Wiring::from_environment(&environment)?.engine(runs::registry());
    let handler = async |event: LambdaEvent<SqsEvent>| {
        Ok::<_, Error>(worker_function::handle(&engine, event.payload).await)
    };
    lambda_runtime::run(service_fn(handler)).await
}
