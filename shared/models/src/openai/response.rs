//! Reads the responses of a server.

use std::time::Duration;

use platform::outbound::header::CONTENT_TYPE;
use platform::outbound::{Opened, OutboundError};
use tokio::time::timeout;

use crate::provider::Failure;

pub(super) fn is_of_type(response: &Opened, name: &str) -> bool {
    let value = response.headers.get(CONTENT_TYPE);
    let value = value.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = value.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case(name)
}

/// Reads a body. Each piece of it must come within a time.
pub(super) async fn whole(response: &mut Opened, patience: Duration) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    loop {
        let piece = timeout(patience, response.next()).await;
        match piece.map_err(|_| Failure::too_slow(patience))? {
            Ok(Some(piece)) => body.extend_from_slice(&piece),
            Ok(None) => return Ok(body),
            Err(OutboundError::TooLarge(_)) => return Err(Failure::too_long()),
            Err(_) => return Err(Failure::broke_off()),
        }
    }
}
