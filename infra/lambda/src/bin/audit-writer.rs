//! The Lambda that reads the audit retry queue.

use lambda::Error;
use platform::Clock;
use platform::records::audit::AuditTrail;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let deployment = lambda::deployment()?;
    let trail = AuditTrail::new(deployment.table("MILLRACE_AUDIT_TABLE")?);
    let inbox = deployment.inbox("MILLRACE_AUDIT_RETRY_QUEUE")?;
    lambda::queue::receive(&*inbox, &Clock::System, async |batch| {
        audit_writer_function::handle(&trail, batch).await
    })
    .await
}
