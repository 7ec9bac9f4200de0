//! `ops audit adopt`: adds records that are older than the log to it; without this step, listings omit them.

use platform::Result;
use platform::records::logs::{LogKind, Logs};
use serde_json::json;

use crate::output::Output;
use crate::target::Target;

pub async fn run(target: &Target, output: Output) -> Result<()> {
    let logs = Logs::new(target.events.clone(), target.audit_table.clone());
    let now = target.clock.now();
    let events = logs.adopt(LogKind::Events, now).await?;
    let audit = logs.adopt(LogKind::Audit, now).await?;
    let lines = format!("Taken into the log: {events} event(s), {audit} audit record(s).");
    output.print(&json!({ "events": events, "audit": audit }), &lines)
}
