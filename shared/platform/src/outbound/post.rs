//! Posting to a service that somebody else names, and hearing what it answers: a webhook.

use std::time::Duration;

use reqwest::Response;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use tokio::time::{Instant, timeout_at};

use super::{Outbound, OutboundError, target, unreachable};

/// How long the body of an answer is waited for once its status has come: what the receiver decided is known by then.
const BODY_PATIENCE: Duration = Duration::from_secs(2);

/// What a service answered to a post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status, redirects included: none is followed.
    pub status: u16,
    /// The beginning of the body, as it was sent.
    pub body: Vec<u8>,
    /// The header `Retry-After`.
    pub retry_after: Option<String>,
}

impl Outbound {
    /// Posts a body, within a deadline over all; at most `max_body` bytes of what is answered are read. A status is an answer, whatever
    /// becomes of its body.
    pub async fn post(
        &self,
        url: &str,
        headers: HeaderMap,
        body: Vec<u8>,
        max_body: usize,
        deadline: Duration,
    ) -> Result<Answer, OutboundError> {
        let url = target::parse(url, self.policy)?;
        let ends_at = Instant::now() + deadline;
        let request = self.client()?.post(url.clone()).headers(headers).body(body);
        let response = match timeout_at(ends_at, request.send()).await {
            Ok(sent) => sent.map_err(|error| unreachable(error, &url))?,
            Err(_) => return Err(OutboundError::TooSlow(deadline)),
        };
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
        let _ = timeout_at(body_ends_at, beginning(response, max_body, &mut answer.body)).await;
        Ok(answer)
    }
}

/// Reads the beginning of a body. One that breaks off is as one that ends.
async fn beginning(mut response: Response, max_body: usize, body: &mut Vec<u8>) {
    while body.len() < max_body
        && let Ok(Some(chunk)) = response.chunk().await
    {
        let wanted = chunk.len().min(max_body - body.len());
        body.extend(chunk.iter().take(wanted));
    }
}
