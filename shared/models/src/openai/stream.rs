//! Reads a streamed answer, sent as server-sent events.

use std::time::Duration;

use platform::outbound::{Events, Opened, OutboundError};
use serde_json::Value;
use tokio::time::timeout;

use super::answer::Reading;
use crate::provider::{Call, Failure, Outlet, Reply};

pub(super) async fn read(
    mut response: Opened,
    call: &Call<'_>,
    outlet: &mut Outlet<'_>,
    patience: Duration,
) -> Result<Reply, Failure> {
    let (mut events, mut reading) = (Events::default(), Reading::default());
    loop {
        let chunk = match timeout(patience, response.next()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Err(OutboundError::TooLarge(_))) => return Err(Failure::too_long()),
            // Some servers omit the final `[DONE]`, or keep the connection open.
            _ if reading.has_ended() => return reading.finish(call),
            Ok(Ok(None) | Err(_)) => return Err(Failure::broke_off()),
            Err(_) => return Err(Failure::too_slow(patience)),
        };
        for event in events.push(&chunk) {
            let data = event.data;
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
