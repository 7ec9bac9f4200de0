//! Reads a streamed answer, sent as server-sent events.

use std::time::Duration;

use reqwest::Response;
use serde_json::Value;
use tokio::time::timeout;

use super::answer::Reading;
use super::sse::Events;
use crate::MAX_ANSWER_BYTES;
use crate::provider::{Call, Failure, Outlet, Reply};

pub(super) async fn read(
    mut response: Response,
    call: &Call<'_>,
    outlet: &mut Outlet<'_>,
    patience: Duration,
) -> Result<Reply, Failure> {
    let (mut events, mut reading, mut received) = (Events::default(), Reading::default(), 0);
    loop {
        let chunk = match timeout(patience, response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            // Some servers omit the final `[DONE]`, or keep the connection open.
            _ if reading.has_ended() => return reading.finish(call),
            Ok(Ok(None) | Err(_)) => return Err(Failure::broke_off()),
            Err(_) => return Err(Failure::too_slow(patience)),
        };
        received += chunk.len();
        if received > MAX_ANSWER_BYTES {
            return Err(Failure::too_long());
        }
        for data in events.push(&chunk) {
            if data.trim_ascii() == b"[DONE]" {
                return reading.finish(call);
            }
            let sent: Value = serde_json::from_slice(&data)
                .map_err(|_| Failure::bad_answer("has an event that is not JSON"))?;
            let text = reading.take(&sent)?;
            outlet.text(&text);
        }
    }
}
