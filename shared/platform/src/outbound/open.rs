//! Sends a request with any method and reads its answer piece by piece.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::Method;
use hyper::body::Incoming;
use hyper::header::HeaderMap;
use tokio::time::{Instant, timeout_at};

use super::{Outbound, OutboundError};

/// An answer whose head has arrived.
#[derive(Debug)]
pub struct Opened {
    /// HTTP status. Redirects are not followed.
    pub status: u16,
    pub headers: HeaderMap,
    body: Incoming,
    left_bytes: usize,
    max_bytes: usize,
    ends_at: Instant,
    deadline: Duration,
}

impl Outbound {
    /// Sends a request. The deadline covers everything, including the body of the answer, of which at most
    /// `max_bytes` are read.
    pub async fn open(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: Vec<u8>,
        (max_bytes, deadline): (usize, Duration),
    ) -> Result<Opened, OutboundError> {
        let request = self.request(method, url, headers, body)?;
        let ends_at = Instant::now() + deadline;
        let sent = timeout_at(ends_at, self.client()?.send(request)).await;
        let (head, body) = sent
            .unwrap_or(Err(OutboundError::TooSlow(deadline)))?
            .into_parts();
        Ok(Opened {
            status: head.status.as_u16(),
            headers: head.headers,
            body,
            left_bytes: max_bytes,
            max_bytes,
            ends_at,
            deadline,
        })
    }
}

impl Opened {
    /// Returns the next piece of the body; None at its end. [`OutboundError::TooLarge`] for the piece that
    /// exceeds the cap.
    pub async fn next(&mut self) -> Result<Option<Bytes>, OutboundError> {
        loop {
            let frame = timeout_at(self.ends_at, self.body.frame()).await;
            let frame = match frame {
                Err(_) => return Err(OutboundError::TooSlow(self.deadline)),
                Ok(None) => return Ok(None),
                Ok(Some(frame)) => frame.map_err(|error| OutboundError::Unreachable(error.into()))?,
            };
            // A frame without data is the trailer.
            let Ok(piece) = frame.into_data() else { continue };
            let left = self.left_bytes.checked_sub(piece.len());
            self.left_bytes = left.ok_or(OutboundError::TooLarge(self.max_bytes as u64))?;
            return Ok(Some(piece));
        }
    }

    /// Reads the rest of the body up to the cap, and returns whether it is complete.
    pub async fn beginning(mut self) -> Result<(Vec<u8>, bool), OutboundError> {
        let mut bytes = Vec::new();
        loop {
            match self.next().await {
                Ok(Some(piece)) => bytes.extend_from_slice(&piece),
                Ok(None) => return Ok((bytes, true)),
                Err(OutboundError::TooLarge(_)) => return Ok((bytes, false)),
                Err(error) => return Err(error),
            }
        }
    }
}
