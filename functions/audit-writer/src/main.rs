//! The Lambda that reads the audit retry queue.

use aws_lambda_events::event::sqs::SqsEvent;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use platform::Clock;
use platform::batch::consume;
use platform::records::audit::AuditTrail;
use platform::telemetry::{self, Format};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let deployment = aws::deployment()?;
    telemetry::init(deployment.environment(), Format::Json, "info")?;
    let trail = AuditTrail::new(deployment.table("MILLRACE_AUDIT_TABLE")?);
    let inbox = deployment.inbox("MILLRACE_AUDIT_RETRY_QUEUE")?;
    let handler = async |event: LambdaEvent<SqsEvent>| {
        let handle = |batch| audit_writer_function::handle(&trail, batch);
        Ok::<_, Error>(consume(event, &*inbox, &Clock::System, handle).await)
    };
    lambda_runtime::run(service_fn(handler)).await
}
