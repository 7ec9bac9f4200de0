//! The Lambda that reads the audit retry queue.

use lambda::Error;
use platform::Clock;
use platform::config::variables;
use platform::records::audit::AuditTrail;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let function = lambda::start()?;
    let trail = AuditTrail::new(function.deployment.table(variables::AUDIT_TABLE)?);
    let inbox = function.inbox(&[variables::AUDIT_RETRY_QUEUE])?;
    lambda::queue::receive(&inbox, &Clock::System, async |batch| {
        audit_writer_function::handle(&trail, batch).await
    })
    .await
}
