//! Implements servers with an OpenAI-compatible chat endpoint: OpenAI itself, vLLM, llama.cpp, Ollama and
//! others.
//!
//! The operator configures the server, so its address may be private and its URL plain http: the address
//! check of `platform::outbound` is for addresses from callers. As there, redirects are not followed and no
//! proxy is used.

mod answer;
mod body;
mod failure;
mod sse;
mod stream;

use std::sync::OnceLock;
use std::time::Duration;

use async_trait::async_trait;
use platform::Clock;
use platform::config::Secret;
use platform::secrets::SecretSource;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Response, StatusCode};
use tokio::time::timeout;
use tracing::warn;
use url::Url;

use crate::MAX_ANSWER_BYTES;
use crate::answer::Content;
use crate::client::{Known, Limits};
use crate::error::{ModelError, ModelErrorKind};
use crate::provider::{Call, Failure, Outlet, Provider, Reply, causes};

/// Time for which an idle connection is kept.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of variants of one request: with another key, or with another name of the token limit.
const MAX_WAYS: usize = 3;

pub(crate) struct OpenAi {
    /// Created for the first request: otherwise each cold start of a function would read the system's
    /// certificates.
    http: OnceLock<reqwest::Client>,
    url: Url,
    key: Option<SecretSource>,
    limits: Limits,
    clock: Clock,
    keeps_connections: bool,
    /// Models that take the token limit as `max_completion_tokens`, and refuse `max_tokens`.
    renamed_limit: Known,
}

/// Outcome of one request.
enum Way {
    Done(Reply),
    /// The server refuses the key.
    Key(Failure),
    /// The model takes the token limit under another name.
    Limit(Failure),
}

impl OpenAi {
    pub(crate) fn new(
        base_url: &Url,
        key: Option<SecretSource>,
        limits: Limits,
        clock: Clock,
        keeps_connections: bool,
    ) -> Self {
        let mut url = base_url.clone();
        url.set_path(&format!(
            "{}/chat/completions",
            base_url.path().trim_end_matches('/')
        ));
        Self {
            http: OnceLock::new(),
            url,
            key,
            limits,
            clock,
            keeps_connections,
            renamed_limit: Known::default(),
        }
    }

    fn http(&self) -> Result<&reqwest::Client, Failure> {
        if let Some(client) = self.http.get() {
            return Ok(client);
        }
        let builder = reqwest::Client::builder()
            .connect_timeout(self.limits.connect)
            .redirect(Policy::none())
            .no_proxy()
            .user_agent(concat!("millrace/", env!("CARGO_PKG_VERSION")))
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(if self.keeps_connections { usize::MAX } else { 0 });
        let made = builder.build().map_err(|error| {
            warn!(%error, "no HTTP client for the language model can be made");
            Failure::unreachable()
        })?;
        // If two threads create a client at once, both use the first.
        Ok(self.http.get_or_init(|| made))
    }

    async fn key(&self) -> Result<Option<Secret>, Failure> {
        let Some(source) = &self.key else {
            return Ok(None);
        };
        let versions = source.versions().await.map_err(|cause| {
            warn!(%cause, "the key of the language model cannot be fetched");
            let message = "The key of the language model cannot be fetched. Repeat the call later.";
            Failure {
                error: ModelError::new(ModelErrorKind::Unavailable, message),
                passes: true,
            }
        })?;
        Ok(Some(versions.current))
    }

    /// Returns the key after a rotation that this process has not noticed; None where it is the refused one.
    async fn rotated_key(&self, refused: Option<&Secret>) -> Option<Secret> {
        let renewed = self.key.as_ref()?.renewed().await.ok()?.current;
        (Some(&renewed) != refused).then_some(renewed)
    }

    async fn post(
        &self,
        model: &str,
        body: Vec<u8>,
        key: Option<&Secret>,
        streamed: bool,
    ) -> Result<Response, Failure> {
        let accepted = if streamed {
            "text/event-stream"
        } else {
            "application/json"
        };
        let mut request = self
            .http()?
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, accepted)
            .body(body);
        if let Some(key) = key {
            let bearer = HeaderValue::from_str(&format!("Bearer {}", key.expose().trim()));
            let mut bearer =
                bearer.map_err(|_| Failure::unauthorized("it has characters that no key has"))?;
            bearer.set_sensitive(true);
            request = request.header(AUTHORIZATION, bearer);
        }
        let sent = request.send();
        let response = if streamed {
            let limit = self.limits.between_parts;
            timeout(limit, sent).await.map_err(|_| Failure::too_slow(limit))?
        } else {
            sent.await
        };
        response.map_err(|error| {
            let cause = causes(&error);
            warn!(model, cause, "the language model's server gave no answer");
            if error.is_connect() {
                Failure::unreachable()
            } else {
                Failure::broke_off()
            }
        })
    }

    async fn sent(
        &self,
        call: &Call<'_>,
        outlet: &mut Outlet<'_>,
        key: Option<&Secret>,
    ) -> Result<Way, Failure> {
        let streamed = outlet.is_streamed();
        let renamed = self.renamed_limit.has(call.model);
        let body = body::build(call, streamed, renamed);
        let body = body.to_string().into_bytes();
        let response = self.post(call.model, body, key, streamed).await?;
        let status = response.status();
        if status != StatusCode::OK {
            let failure = failure::read(response, &self.clock, key, self.limits.between_parts).await;
            let names_other = failure
                .error
                .detail()
                .is_some_and(|detail| detail.contains(body::RENAMED_LIMIT));
            return if status == StatusCode::UNAUTHORIZED {
                Ok(Way::Key(failure))
            } else if names_other && call.request.max_tokens.is_some() && !renamed {
                Ok(Way::Limit(failure))
            } else {
                Err(failure)
            };
        }
        let type_is = |name| is_of_type(&response, name);
        let reply = if streamed && type_is("text/event-stream") {
            stream::read(response, call, outlet, self.limits.between_parts).await?
        } else if type_is("application/json") {
            let body = limited(response, MAX_ANSWER_BYTES, self.limits.whole).await?;
            let reply = answer::whole(&body, call)?;
            for text in reply.content.iter().filter_map(Content::text) {
                outlet.text(text);
            }
            reply
        } else {
            return Err(Failure::bad_answer(
                "is not JSON, as its content type says; the operator checks the base URL",
            ));
        };
        Ok(Way::Done(reply))
    }
}

#[async_trait]
impl Provider for OpenAi {
    async fn send(&self, call: &Call<'_>, outlet: &mut Outlet<'_>) -> Result<Reply, Failure> {
        let mut key = self.key().await?;
        for _ in 1..MAX_WAYS {
            match self.sent(call, outlet, key.as_ref()).await? {
                Way::Done(reply) => return Ok(reply),
                Way::Key(failure) => match self.rotated_key(key.as_ref()).await {
                    Some(rotated) => key = Some(rotated),
                    None => return Err(failure),
                },
                Way::Limit(failure) => {
                    if !self.renamed_limit.learn(call.model) {
                        return Err(failure);
                    }
                }
            }
        }
        match self.sent(call, outlet, key.as_ref()).await? {
            Way::Done(reply) => Ok(reply),
            Way::Key(failure) | Way::Limit(failure) => Err(failure),
        }
    }
}

fn is_of_type(response: &Response, name: &str) -> bool {
    let value = response.headers().get(CONTENT_TYPE);
    let value = value.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = value.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case(name)
}

/// Reads a body of up to `max` bytes, with a time limit for each pause.
async fn limited(mut response: Response, max: usize, patience: Duration) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    loop {
        let chunk = timeout(patience, response.chunk()).await;
        match chunk.map_err(|_| Failure::too_slow(patience))? {
            Ok(Some(chunk)) if body.len() + chunk.len() > max => return Err(Failure::too_long()),
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => return Ok(body),
            Err(_) => return Err(Failure::broke_off()),
        }
    }
}
