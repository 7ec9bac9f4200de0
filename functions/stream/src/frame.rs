//! Renders the frames of server-sent events.

use bytes::Bytes;
use platform::{Error, Result};
use serde_json::json;
use workflow::records::UpdatesHead;
use workflow::state::RunState;
use workflow::status::RunStatus;
use workflow::views::RunUpdate;

/// Opens the stream, so that the caller knows that it is connected. A client that loses the stream reconnects
/// after one second.
pub fn opening() -> Bytes {
    Bytes::from_static(b": open\nretry: 1000\n\n")
}

pub fn keep_alive() -> Bytes {
    Bytes::from_static(b": keep-alive\n\n")
}

/// The last frame of a stream whose credentials have ended.
pub fn credentials_ended() -> Bytes {
    Bytes::from_static(b": the credentials have ended\n\n")
}

/// Renders an update message. Its number is the event id from which a client continues.
pub fn update(number: u64, message: &RunUpdate) -> Result<Bytes> {
    // JSON on one line: a line break in a text is written as `\n`.
    let data = serde_json::to_string(message).map_err(Error::internal)?;
    Ok(format!("id: {number}\ndata: {data}\n\n").into())
}

/// Renders the message that the run has ended. Its number follows that of the last message, which may be
/// later than the run's end.
pub fn end(state: &RunState, head: UpdatesHead) -> Result<Bytes> {
    let kind = match state.status {
        RunStatus::Terminated => "terminated",
        _ => "complete",
    };
    let message = RunUpdate {
        timestamp: end_timestamp(state, head),
        workflow_run_id: state.run_id.clone(),
        kind: kind.to_owned(),
        message: format!("The run is {}.", state.status.as_str()),
        details: Some(json!({ "status": state.status.as_str() }).into()),
        workstream_id: None,
    };
    update(head.last + 1, &message)
}

/// Returns the time of the last message plus 1 or of the run's end, whichever is later, in milliseconds since
/// the Unix epoch.
pub fn end_timestamp(state: &RunState, head: UpdatesHead) -> i64 {
    let closed_at = state.closed_at.map_or(i64::MIN, |at| at.as_millis());
    closed_at.max(head.last_timestamp + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_end_its_frame() {
        let message = RunUpdate {
            timestamp: 1,
            workflow_run_id: "r".to_owned(),
            kind: "UPDATE".to_owned(),
            message: "a\n\ndata: b\r\nevent: complete".to_owned(),
            details: None,
            workstream_id: None,
        };
        let frame = update(7, &message).unwrap();
        let text = std::str::from_utf8(&frame).unwrap();
        assert_eq!(text.lines().count(), 3);
        assert!(text.starts_with("id: 7\ndata: {") && text.ends_with("}\n\n"));
    }
}
