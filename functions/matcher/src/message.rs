//! What a message is: an event of EventBridge, whose `detail` is an envelope.

use events::envelope::Envelope;
use platform::bus::DETAIL_TYPE;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct BusEvent<'a> {
    #[serde(rename = "detail-type")]
    detail_type: String,
    #[serde(borrow)]
    detail: &'a RawValue,
}

/// What a message is.
pub enum Read {
    /// An event.
    Event(Box<Envelope>),
    /// Something else, and why.
    Invalid(String),
}

/// Reads a message.
pub fn read(body: &str) -> Read {
    let event: BusEvent<'_> = match serde_json::from_str(body) {
        Ok(event) => event,
        Err(error) => return Read::Invalid(format!("It is no event of EventBridge: {error}.")),
    };
    if event.detail_type != DETAIL_TYPE {
        return Read::Invalid(format!(
            "Its detail-type is '{}' and not '{DETAIL_TYPE}'.",
            event.detail_type
        ));
    }
    match Envelope::parse(event.detail.get()) {
        Ok(envelope) => Read::Event(Box::new(envelope)),
        Err(refusal) => Read::Invalid(format!("Its detail is no envelope. {}", refusal.message())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(body: &str) -> String {
        match read(body) {
            Read::Event(_) => panic!("{body} is read"),
            Read::Invalid(reason) => reason,
        }
    }

    const ENVELOPE: &str = r#"{"event_id":"e1","event_category":"content","action":"create","resource_type":"content_object","resource_id":"o1","account_id":"acme","project_id":"demo","timestamp":"2026-01-02T03:04:05Z","source":"cms"}"#;

    fn with(detail: &str) -> String {
        format!(r#"{{"version":"0","detail-type":"millrace.event","source":"cms","detail":{detail}}}"#)
    }

    #[test]
    fn an_envelope_of_another_service_is_read() {
        let Read::Event(envelope) = read(&with(ENVELOPE)) else {
            panic!("not read");
        };
        assert_eq!((envelope.event_id.as_str(), envelope.action.as_str()), ("e1", "create"));
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
            (&with(&ENVELOPE.replace("content\"", "nonsense\"")), "$.event_category"),
            (&with(&ENVELOPE.replace("2026-01-02T03:04:05Z", "today")), "$.timestamp"),
            (&with(&ENVELOPE.replace("\"acme\"", "\"a#b\"")), "account id"),
            (&with(&ENVELOPE.replace("\"create\"", "\"\"")), "'action'"),
            (&with(&ENVELOPE.replace("\"e1\"", "\"a#b\"")), "'event_id'"),
            (
                &with(&ENVELOPE.replace("\"source\"", "\"action\":\"x\",\"source\"")),
                "duplicate field `action`",
            ),
            (
                &with(&ENVELOPE.replace("\"create\"", "\"document_processed\",\"details\":{\"page_count\":\"x\"}")),
                "$.details.page_count",
            ),
        ] {
            let reason = reason(body);
            assert!(reason.contains(why), "{body}: {reason}");
        }
    }
}
