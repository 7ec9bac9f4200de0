//! Parses a message: an event of EventBridge whose `detail` is an envelope.

use events::envelope::Envelope;
use platform::bus::DETAIL_TYPE;
use platform::{Tenant, ids};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct BusEvent<'a> {
    #[serde(rename = "detail-type")]
    detail_type: String,
    #[serde(borrow)]
    detail: &'a RawValue,
}

#[derive(Deserialize)]
struct Named {
    event_id: String,
    account_id: String,
    project_id: String,
}

/// Event that a message names. The event may have a record.
#[derive(Debug)]
pub struct EventMessage<'a> {
    pub tenant: Tenant,
    pub event_id: String,
    detail: &'a RawValue,
}

impl EventMessage<'_> {
    /// Returns the event in the message, for an event without a record. The error says why it is not a valid
    /// event.
    pub fn envelope(&self) -> Result<Envelope, String> {
        envelope(self.detail)
    }
}

/// Parses a message. The error says why it is not valid.
pub fn read(body: &str) -> Result<EventMessage<'_>, String> {
    let event: BusEvent<'_> =
        serde_json::from_str(body).map_err(|error| format!("It is no event of EventBridge: {error}."))?;
    if event.detail_type != DETAIL_TYPE {
        return Err(format!(
            "Its detail-type is '{}' and not '{DETAIL_TYPE}'.",
            event.detail_type
        ));
    }
    let named = serde_json::from_str::<Named>(event.detail.get())
        .ok()
        .and_then(|named| {
            let tenant = Tenant::new(&named.account_id, &named.project_id).ok()?;
            ids::is_id(&named.event_id).then_some((tenant, named.event_id))
        });
    match named {
        Some((tenant, event_id)) => Ok(EventMessage {
            tenant,
            event_id,
            detail: event.detail,
        }),
        None => Err(match envelope(event.detail) {
            Err(why) => why,
            Ok(_) => "Its detail names no event.".to_owned(),
        }),
    }
}

fn envelope(detail: &RawValue) -> Result<Envelope, String> {
    Envelope::parse(detail.get())
        .map_err(|refusal| format!("Its detail is no envelope. {}", refusal.message()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(body: &str) -> String {
        read(body).and_then(|message| message.envelope()).expect_err(body)
    }

    const ENVELOPE: &str = r#"{"event_id":"e1","event_category":"content","action":"create","resource_type":"content_object","resource_id":"o1","account_id":"acme","project_id":"demo","timestamp":"2026-01-02T03:04:05Z","source":"cms"}"#;

    fn with(detail: &str) -> String {
        format!(r#"{{"version":"0","detail-type":"millrace.event","source":"cms","detail":{detail}}}"#)
    }

    #[test]
    fn an_envelope_of_another_service_is_read() {
        let body = with(ENVELOPE);
        let message = read(&body).unwrap();
        assert_eq!(
            (message.event_id.as_str(), message.tenant.to_string().as_str()),
            ("e1", "acme/demo")
        );
        assert_eq!(message.envelope().unwrap().action, "create");
    }

    #[test]
    fn anything_else_says_why_it_is_not() {
        for (body, why) in [
            ("", "no event of EventBridge"),
            ("{}", "missing field `detail-type`"),
            (r#"{"detail-type":"other","detail":{}}"#, "'other'"),
            (&with("{}"), "missing field `event_id`"),
            (&with("[]"), "is an object"),
            (&with("7"), "is an object"),
            (
                &with(&ENVELOPE.replace("content\"", "nonsense\"")),
                "$.event_category",
            ),
            (
                &with(&ENVELOPE.replace("2026-01-02T03:04:05Z", "today")),
                "$.timestamp",
            ),
            (&with(&ENVELOPE.replace("\"acme\"", "\"a#b\"")), "account id"),
            (&with(&ENVELOPE.replace("\"create\"", "\"\"")), "'action'"),
            (&with(&ENVELOPE.replace("\"e1\"", "\"a#b\"")), "'event_id'"),
            (
                &with(&ENVELOPE.replace("\"source\"", "\"action\":\"x\",\"source\"")),
                "duplicate field `action`",
            ),
            (
                &with(&ENVELOPE.replace(
                    "\"create\"",
                    "\"document_processed\",\"details\":{\"page_count\":\"x\"}",
                )),
                "$.details.page_count",
            ),
        ] {
            let reason = reason(body);
            assert!(reason.contains(why), "{body}: {reason}");
        }
    }
}
