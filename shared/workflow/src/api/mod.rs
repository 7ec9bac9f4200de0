//! Calls the platform's own API for workflow runs.
//!
//! A run calls the API as any other client does, with a service token of the run. So permissions are decided
//! in one place, and the process that executes the run needs no access to the endpoint's resources.

mod answer;
mod call;

use std::time::Duration;

use identity::service::ServiceTokens;
use platform::auth::RunPrincipal;
use platform::config::{ConfigError, variables};
use platform::deployment::Deployment;
use platform::outbound::header::{AUTHORIZATION, CONTENT_TYPE};
use platform::outbound::{HeaderMap, HeaderValue, OutboundError, Request, Reuse, Trusted};
use platform::{Error, Result, trace};
use url::Url;

pub use answer::Answer;
pub use call::Call;

/// Slightly longer than the 29 s that API Gateway waits for an answer.
const TIMEOUT: Duration = Duration::from_secs(32);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of an answer: the 6 MB limit of a Lambda response, rounded up.
const MAX_ANSWER_BYTES: u64 = 7 * 1_024 * 1_024;

/// Client of the API.
pub struct Api {
    base: Url,
    tokens: ServiceTokens,
    client: Trusted,
}

impl Api {
    /// Creates a client for the API root `MILLRACE_API_URL`, with tokens that `MILLRACE_SERVICE_KEY` signs.
    pub fn from_deployment(deployment: &Deployment) -> Result<Self, ConfigError> {
        let key = deployment.signing_key(variables::SERVICE_KEY)?;
        let tokens = ServiceTokens::new(key, deployment.clock());
        Self::new(&deployment.environment().required(variables::API_URL)?, tokens)
    }

    /// Creates a client for the API root `base`, such as `https://api.example.com/prod/api/v1`.
    pub fn new(base: &str, tokens: ServiceTokens) -> Result<Self, ConfigError> {
        let base = Url::parse(base).ok().filter(is_safe).ok_or_else(|| {
            ConfigError::new(format!(
                "The URL of the API, '{base}', must be an https URL, or an http URL of this machine."
            ))
        })?;
        let client = Trusted::new(CONNECT_TIMEOUT, Reuse::Kept);
        Ok(Self { base, tokens, client })
    }

    /// Makes a call as the run. 503 if no answer arrived; the call may still have been executed.
    pub async fn call(&self, run: &RunPrincipal, call: &Call) -> Result<Answer> {
        let token = self.tokens.token(run).await?;
        let bearer = HeaderValue::try_from(format!("Bearer {}", token.expose()));
        let mut bearer = bearer.map_err(Error::internal)?;
        bearer.set_sensitive(true);
        let mut headers = HeaderMap::from_iter([(AUTHORIZATION, bearer)]);
        if let Some(position) = trace::current() {
            position.add_to(&mut headers);
        }
        let mut body = Vec::new();
        if let Some(value) = call.body() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            body = serde_json::to_vec(value).map_err(Error::internal)?;
        }
        let url = call.url(&self.base)?;
        let request = Request {
            method: call.method().clone(),
            headers,
            body,
            ..Request::get(url.as_str(), MAX_ANSWER_BYTES, TIMEOUT)
        };
        let mut opened = self.client.send(request).await.map_err(Error::unavailable)?;
        let body = opened.whole().await.map_err(|error| match error {
            OutboundError::TooLarge(max_bytes) => Error::unprocessable(format!(
                "The answer has more than {max_bytes} bytes; ask for less at a time."
            )),
            error => Error::unavailable(error),
        })?;
        Answer::new(opened.status, &body)
    }
}

/// Whether a token may be sent to this URL.
fn is_safe(url: &Url) -> bool {
    let is_loopback = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
    url.scheme() == "https" || (url.scheme() == "http" && is_loopback)
}
