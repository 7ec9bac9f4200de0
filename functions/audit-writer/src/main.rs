//! The Lambda that reads the audit retry queue.

use aws_lambda_events::event::sqs::SqsEvent;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use platform::config::Environment;
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
    let handler = |event: LambdaEvent<SqsEvent>| audit_writer_function::handle(&trail, event.payload);
    lambda_runtime::run(service_fn(async |event| Ok::<_, Error>(handler(event).await))).await
}
