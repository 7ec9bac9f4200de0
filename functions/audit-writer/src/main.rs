//! The Lambda that reads the audit retry queue.

use aws_lambda_events::event::sqs::SqsEvent;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use platform::Clock;
use platform::batch::consume;
use platform::config::Environment;
use platform::queue::SqsQueue;
use platform::records::Table;
use platform::records::audit::AuditTrail;
use platform::telemetry::{self, Format};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let environment = Environment::read()?;
    telemetry::init(&environment, Format::Json, "info")?;
    let sdk = platform::aws::sdk_config();
    let trail = AuditTrail::new(Table::connect(
        &sdk,
        &environment.required("MILLRACE_AUDIT_TABLE")?,
    ));
    let queue = SqsQueue::connect(&sdk, environment.required("MILLRACE_AUDIT_RETRY_QUEUE")?);
    let handler = async |event: LambdaEvent<SqsEvent>| {
        let handle = |batch| audit_writer_function::handle(&trail, batch);
        Ok::<_, Error>(consume(event, &queue, &Clock::System, handle).await)
    };
    lambda_runtime::run(service_fn(handler)).await
}
