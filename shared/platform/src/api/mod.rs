//! Calls the platform's own API for workflow runs.
//!
//! A run calls the API as any other client does, with a service token of the run. So permissions are decided
//! in one place, and the process that executes the run needs no access to the endpoint's resources.

mod answer;
mod call;

use std::time::Duration;

use reqwest::Url;
use reqwest::redirect::Policy;

pub use answer::Answer;
pub use call::Call;

use crate::auth::RunPrincipal;
use crate::auth::service::ServiceTokens;
use crate::config::{ConfigError, variables};
use crate::deployment::Deployment;
use crate::error::{Error, Result};

/// Slightly longer than the 29 s that API Gateway waits for an answer.
const TIMEOUT: Duration = Duration::from_secs(32);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of an answer: the 6 MB limit of a Lambda response, rounded up.
const MAX_ANSWER_BYTES: usize = 7 * 1_024 * 1_024;

/// Client of the API.
pub struct Api {
    base: Url,
    tokens: ServiceTokens,
    http: reqwest::Client,
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
        let http = reqwest::Client::builder()
            .timeout(TIMEOUT)
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(Policy::none())
            .no_proxy()
            .build()
            .map_err(|error| ConfigError::new(format!("The client of the API cannot be made: {error}.")))?;
        Ok(Self { base, tokens, http })
    }

    /// Makes a call as the run. 503 if no answer arrived; the call may still have been executed.
    pub async fn call(&self, run: &RunPrincipal, call: &Call) -> Result<Answer> {
        let token = self.tokens.token(run).await?;
        let mut request = self
            .http
            .request(call.method().clone(), call.url(&self.base)?)
            .bearer_auth(token.expose());
        if let Some(body) = call.body() {
            request = request.json(body);
        }
        let mut response = request.send().await.map_err(unavailable)?;
        let status = response.status().as_u16();
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unavailable)? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MAX_ANSWER_BYTES {
                return Err(Error::unprocessable(format!(
                    "The answer has more than {MAX_ANSWER_BYTES} bytes; ask for less at a time."
                )));
            }
        }
        Answer::new(status, &bytes)
    }
}

/// Whether a token may be sent to this URL.
fn is_safe(url: &Url) -> bool {
    let is_loopback = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
    url.scheme() == "https" || (url.scheme() == "http" && is_loopback)
}

/// Drops the URL, whose query may contain data.
fn unavailable(error: reqwest::Error) -> Error {
    Error::unavailable(error.without_url())
}
