//! Implements servers with an OpenAI-compatible chat endpoint: OpenAI itself, vLLM, llama.cpp, Ollama and
//! others.
//!
//! The operator configures the server, so its address may be private and its URL plain http.

mod answer;
mod body;
mod failure;
mod response;
mod stream;

use async_trait::async_trait;
use platform::Clock;
use platform::config::Secret;
use platform::outbound::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use platform::outbound::{HeaderMap, HeaderValue, Method, Opened, Request, Reuse, Trusted};
use platform::secrets::SecretSource;
use tokio::time::timeout;
use tracing::warn;
use url::Url;

use self::response::{is_of_type, whole};
use crate::MAX_ANSWER_BYTES;
use crate::answer::Content;
use crate::client::Known;
use crate::error::{ModelError, ModelErrorKind};
use crate::limits::{Limits, MAX_LIMIT};
use crate::provider::{Call, Failure, Outlet, Provider, Reply};

/// Maximum number of variants of one request: with another key, or with another name of the token limit.
const MAX_WAYS: usize = 3;

pub(crate) struct OpenAi {
    client: Trusted,
    url: Url,
    key: Option<SecretSource>,
    limits: Limits,
    clock: Clock,
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
        reuse: Reuse,
    ) -> Self {
        let mut url = base_url.clone();
        url.set_path(&format!(
            "{}/chat/completions",
            base_url.path().trim_end_matches('/')
        ));
        Self {
            client: Trusted::new(limits.connect, reuse),
            url,
            key,
            limits,
            clock,
            renamed_limit: Known::default(),
        }
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
    ) -> Result<Opened, Failure> {
        let accepted = if streamed {
            "text/event-stream"
        } else {
            "application/json"
        };
        let mut headers = HeaderMap::from_iter([
            (CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (ACCEPT, HeaderValue::from_static(accepted)),
        ]);
        if let Some(key) = key {
            let bearer = HeaderValue::from_str(&format!("Bearer {}", key.expose().trim()));
            let mut bearer =
                bearer.map_err(|_| Failure::unauthorized("it has characters that no key has"))?;
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        let sent = self.client.send(Request {
            method: Method::POST,
            url: self.url.as_str(),
            headers,
            body,
            max_bytes: MAX_ANSWER_BYTES as u64,
            // The call has a time limit of its own.
            deadline: MAX_LIMIT,
        });
        let response = if streamed {
            let limit = self.limits.between_parts;
            timeout(limit, sent).await.map_err(|_| Failure::too_slow(limit))?
        } else {
            sent.await
        };
        response.map_err(|error| {
            let cause = error.cause();
            warn!(model, %error, cause, "the language model's server gave no answer");
            match error.is_unconnected() {
                true => Failure::unreachable(),
                false => Failure::broke_off(),
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
        let mut response = self.post(call.model, body, key, streamed).await?;
        let status = response.status;
        if status != 200 {
            let failure = failure::read(response, &self.clock, key, self.limits.between_parts).await;
            let names_other = failure
                .error
                .detail()
                .is_some_and(|detail| detail.contains(body::RENAMED_LIMIT));
            return if status == 401 {
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
            let body = whole(&mut response, self.limits.whole).await?;
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
