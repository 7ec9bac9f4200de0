//! Posts to a receiver that a caller names, and reads its answer, for webhooks.

use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::Method;
use hyper::body::Incoming;
use hyper::header::{HeaderMap, RETRY_AFTER};
use tokio::time::{Instant, timeout_at};

use super::{Outbound, OutboundError};

/// Maximum wait for the body of an answer after its status, which already shows the receiver's decision.
const BODY_PATIENCE: Duration = Duration::from_secs(2);

/// A receiver's answer to a post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status. Redirects are not followed.
    pub status: u16,
    /// Start of the body, undecoded.
    pub body: Vec<u8>,
    /// Header `Retry-After`.
    pub retry_after: Option<String>,
}

impl Outbound {
    /// Posts a body, with a deadline for everything; reads at most `max_body` bytes of the answer. Once a
    /// status arrives the post has an answer, even if its body fails.
    pub async fn post(
        &self,
        url: &str,
        headers: HeaderMap,
        body: Vec<u8>,
        max_body: usize,
        deadline: Duration,
    ) -> Result<Answer, OutboundError> {
        let request = self.request(Method::POST, url, headers, body)?;
        let ends_at = Instant::now() + deadline;
        let sent = timeout_at(ends_at, self.client()?.send(request)).await;
        let response = sent.unwrap_or(Err(OutboundError::TooSlow(deadline)))?;
        let mut answer = Answer {
            status: response.status().as_u16(),
            body: Vec::new(),
            retry_after: response
                .headers()
                .get(RETRY_AFTER)
                .and_then(|value| value.to_str().ok())
                .map(str::to_owned),
        };
        let body_ends_at = ends_at.min(Instant::now() + BODY_PATIENCE);
        let beginning = beginning(response.into_body(), max_body, &mut answer.body);
        let _ = timeout_at(body_ends_at, beginning).await;
        Ok(answer)
    }
}

/// Reads the start of a body. A body that breaks off is treated as one that ends.
async fn beginning(mut sent: Incoming, max_body: usize, body: &mut Vec<u8>) {
    while body.len() < max_body
        && let Some(Ok(frame)) = sent.frame().await
    {
        let Ok(chunk) = frame.into_data() else { continue };
        let wanted = chunk.len().min(max_body - body.len());
        body.extend(chunk.iter().take(wanted));
    }
}
