//! Converts records to rows: lines of JSON, which DuckDB reads until the records are in a file.

use events::envelope::{Category, Envelope, Meter};
use events::records::events::EventRecord;
use platform::records::audit::AuditEvent;
use platform::{Error, Result, UtcTime};
use serde::Serialize;

/// Fields of [`crate::columns::EVENTS`], by name.
#[derive(Serialize)]
struct EventRow<'a> {
    event_id: &'a str,
    timestamp: UtcTime,
    received_at: UtcTime,
    account_id: &'a str,
    project_id: &'a str,
    tenant_id: Option<&'a str>,
    event_category: Category,
    action: &'a str,
    resource_type: &'a str,
    resource_id: &'a str,
    source: &'a str,
    /// JSON inside a JSON string, so that it stays byte for byte as it was sent.
    resource_data: String,
    details: String,
    meters: &'a [Meter],
    private_to: Option<&'a str>,
}

/// Returns the row of an event, without a line end. `envelope` must be the whole envelope of the record: see
/// [`events::payload::whole`].
pub fn event_row(record: &EventRecord, envelope: &Envelope) -> Result<String> {
    let text = |object| serde_json::to_string(object).map_err(Error::internal);
    let row = EventRow {
        event_id: &record.id,
        timestamp: envelope.timestamp,
        received_at: record.received_at,
        account_id: &envelope.account_id,
        project_id: &envelope.project_id,
        tenant_id: envelope.tenant_id.as_deref(),
        event_category: envelope.event_category,
        action: &envelope.action,
        resource_type: &envelope.resource_type,
        resource_id: &envelope.resource_id,
        source: &envelope.source,
        resource_data: text(&envelope.resource_data)?,
        details: text(&envelope.details)?,
        meters: &envelope.meters,
        private_to: record.private_to.as_deref(),
    };
    serde_json::to_string(&row).map_err(Error::internal)
}

/// Returns the row of an audit record, without a line end.
pub fn audit_row(record: &AuditEvent) -> Result<String> {
    serde_json::to_string(record).map_err(Error::internal)
}
