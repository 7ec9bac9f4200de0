//! Calls a model through a provider, with time limits, retries and structured output.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::time::{Instant, timeout_at};
use tracing::debug;

use crate::answer::{Answer, Content, StopReason, Usage};
use crate::error::{ModelError, ModelErrorKind};
use crate::limits::{Limits, MAX_LIMIT};
use crate::model::{Model, Sink};
use crate::output::{self, Schema};
use crate::provider::{Call, Form, Outlet, Provider, Reply};
use crate::request::{Message, OutputSchema, Request};
use crate::retry;

/// Number of rounds for a structured answer: the first, and one repair.
const ROUNDS: usize = 2;
/// Maximum number of models whose properties are remembered. Callers choose the names, so the number must be
/// limited.
const MAX_KNOWN: usize = 64;

/// Returns the model of this name at a provider.
pub fn over(provider: Box<dyn Provider>, model: &str, limits: Limits) -> Arc<dyn Model> {
    let model = model.to_owned();
    Arc::new(Client::new(provider, model, limits, rand::random::<f64>))
}

pub(crate) struct Client {
    provider: Box<dyn Provider>,
    model: String,
    limits: Limits,
    random: fn() -> f64,
    /// Models that do not support the provider's own structured output.
    plain: Known,
}

impl Client {
    pub(crate) fn new(
        provider: Box<dyn Provider>,
        model: String,
        limits: Limits,
        random: fn() -> f64,
    ) -> Self {
        Self {
            provider,
            model,
            limits,
            random,
            plain: Known::default(),
        }
    }

    async fn round(&self, asked: &mut Asked<'_, '_>, call: &Call<'_>) -> Result<Reply, ModelError> {
        let provider = self.provider.as_ref();
        let outlet = &mut asked.outlet;
        let reply = retry::repeated(&self.limits, asked.ends_at, self.random, provider, call, outlet).await?;
        asked.usage += reply.usage;
        Ok(reply)
    }

    async fn free(&self, asked: &mut Asked<'_, '_>) -> Result<Answer, ModelError> {
        let call = asked.call(Form::Free, &[]);
        let reply = self.round(asked, &call).await?;
        Ok(asked.answer(reply))
    }

    async fn structured(
        &self,
        asked: &mut Asked<'_, '_>,
        output: &OutputSchema,
    ) -> Result<Answer, ModelError> {
        let schema = Schema::compile(output)?;
        let mut further: Vec<Message> = Vec::new();
        for round in 1..=ROUNDS {
            let reply = self.in_form(asked, &further).await?;
            if reply.stop == StopReason::ToolUse {
                return Ok(asked.answer(reply));
            }
            let text: String = reply.content.iter().filter_map(Content::text).collect();
            let fault = match schema.read(&text) {
                Ok(value) => {
                    let content = vec![Content::of_text(value.to_string())];
                    let answer = asked.answer(Reply { content, ..reply });
                    return Ok(Answer {
                        output: Some(value),
                        stop: StopReason::End,
                        ..answer
                    });
                }
                Err(fault) => fault,
            };
            match reply.stop {
                StopReason::Refused => return Err(refused()),
                StopReason::MaxTokens => return Err(cut_off()),
                _ if round == ROUNDS => return Err(broken(&fault)),
                _ => {
                    debug!(
                        model = asked.model,
                        "the answer breaks its schema; the model is asked again"
                    );
                    further = output::repair(output, &text, &fault);
                }
            }
        }
        // Unreachable: the last round returns.
        Err(broken(""))
    }

    /// Makes one round with the provider's own structured output, or with instructions where the provider
    /// refuses that.
    async fn in_form(&self, asked: &mut Asked<'_, '_>, further: &[Message]) -> Result<Reply, ModelError> {
        if !self.plain.has(asked.model) {
            let call = asked.call(Form::Native, further);
            match self.round(asked, &call).await {
                Err(error) if error.kind() == ModelErrorKind::BadRequest => {}
                done => return done,
            }
        }
        let call = asked.call(Form::Instructed, further);
        let reply = self.round(asked, &call).await?;
        if self.plain.learn(asked.model) {
            debug!(
                model = asked.model,
                "the provider knows no structured output; it is asked for in words"
            );
        }
        Ok(reply)
    }
}

#[async_trait]
impl Model for Client {
    async fn converse(&self, request: &Request, sink: Option<&mut dyn Sink>) -> Result<Answer, ModelError> {
        request.check()?;
        let began_at = Instant::now();
        let limit = request.time_limit.unwrap_or(self.limits.whole).min(MAX_LIMIT);
        let mut asked = Asked {
            request,
            model: request.model.as_deref().unwrap_or(&self.model),
            outlet: Outlet::new(sink.filter(|_| request.output.is_none())),
            ends_at: began_at + limit,
            usage: Usage::default(),
        };
        let done = timeout_at(asked.ends_at, async {
            match &request.output {
                None => self.free(&mut asked).await,
                Some(output) => self.structured(&mut asked, output).await,
            }
        });
        let done = done.await.unwrap_or_else(|_| Err(too_slow(limit)));
        let duration_ms = u64::try_from(began_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        debug!(
            model = asked.model,
            input_tokens = asked.usage.input_tokens,
            output_tokens = asked.usage.output_tokens,
            duration_ms,
            error = done.as_ref().err().map(|error| error.kind().code()),
            "language model called"
        );
        done.map_err(|error| error.with_usage(asked.usage))
    }
}

struct Asked<'a, 's> {
    request: &'a Request,
    model: &'a str,
    outlet: Outlet<'s>,
    ends_at: Instant,
    usage: Usage,
}

impl<'a> Asked<'a, '_> {
    fn call<'b>(&self, form: Form, further: &'b [Message]) -> Call<'b>
    where
        'a: 'b,
    {
        Call {
            request: self.request,
            model: self.model,
            form,
            further,
        }
    }

    fn answer(&self, reply: Reply) -> Answer {
        Answer {
            content: reply.content,
            output: None,
            stop: reply.stop,
            usage: self.usage,
            model: reply.model.unwrap_or_else(|| self.model.to_owned()),
        }
    }
}

fn too_slow(limit: Duration) -> ModelError {
    let seconds = limit.as_secs_f64();
    ModelError::new(
        ModelErrorKind::Timeout,
        format!(
            "The call of the language model took longer than {seconds} seconds. Ask for less, or allow more time."
        ),
    )
}

fn refused() -> ModelError {
    let message = "The language model, or a filter, refused to answer. Change the prompt.";
    ModelError::new(ModelErrorKind::Refused, message)
}

fn cut_off() -> ModelError {
    let message =
        "The answer was cut off by its limit of tokens before its JSON was complete. Allow more tokens.";
    ModelError::new(ModelErrorKind::BadAnswer, message)
}

fn broken(fault: &str) -> ModelError {
    let message = "The language model's answer breaks the output schema, also after one repair. Simplify the schema or \
                   the prompt.";
    ModelError::new(ModelErrorKind::BadAnswer, message).with_detail(fault)
}

/// Names of models that have some property.
#[derive(Default)]
pub(crate) struct Known(Mutex<HashSet<String>>);

impl Known {
    pub(crate) fn has(&self, model: &str) -> bool {
        self.0.lock().contains(model)
    }

    /// Adds a model; returns whether it is new.
    pub(crate) fn learn(&self, model: &str) -> bool {
        let mut known = self.0.lock();
        known.len() < MAX_KNOWN && known.insert(model.to_owned())
    }
}
