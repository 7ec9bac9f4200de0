//! Sends a request with any method and reads its whole answer, for calls of callers' process definitions.

use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::Method;
use hyper::body::{Body as _, Incoming};
use hyper::header::HeaderMap;
use tokio::time::timeout;

use super::{Outbound, OutboundError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// HTTP status. Redirects are not followed.
    pub status: u16,
    pub headers: HeaderMap,
    /// The whole body, undecoded.
    pub body: Vec<u8>,
}

impl Outbound {
    /// Sends a request and reads its whole answer within a deadline. A body of more than `max_body` bytes is
    /// an error.
    pub async fn exchange(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: Vec<u8>,
        max_body: usize,
        deadline: Duration,
    ) -> Result<Exchange, OutboundError> {
        let request = self.request(method, url, headers, body)?;
        let exchanged = timeout(deadline, async {
            let response = self.client()?.send(request).await?;
            let (head, body) = response.into_parts();
            Ok(Exchange {
                status: head.status.as_u16(),
                headers: head.headers,
                body: whole(body, max_body).await?,
            })
        });
        exchanged.await.unwrap_or(Err(OutboundError::TooSlow(deadline)))
    }
}

async fn whole(mut sent: Incoming, max_body: usize) -> Result<Vec<u8>, OutboundError> {
    let too_large = || OutboundError::TooLarge(max_body as u64);
    if sent.size_hint().lower() > max_body as u64 {
        return Err(too_large());
    }
    let mut body = Vec::new();
    while let Some(frame) = sent.frame().await {
        let frame = frame.map_err(|error| OutboundError::Unreachable(error.into()))?;
        let Ok(chunk) = frame.into_data() else { continue };
        if body.len() + chunk.len() > max_body {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
