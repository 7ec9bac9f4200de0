//! Defines the model trait, and the model of a service without one.

use async_trait::async_trait;

use crate::answer::Answer;
use crate::error::{ModelError, ModelErrorKind};
use crate::request::Request;

#[async_trait]
pub trait Model: Send + Sync {
    /// Sends a conversation and returns the model's next message. With a sink, the text is passed on as it
    /// arrives. With an output schema, the sink gets nothing, because an answer that breaks the schema is
    /// replaced.
    async fn converse(&self, request: &Request, sink: Option<&mut dyn Sink>) -> Result<Answer, ModelError>;
}

/// Receives the text of an answer while the model writes it. Must not block; its time counts against the time
/// limit of the call.
pub trait Sink: Send {
    /// Receives the next piece of text, which is never empty.
    fn text(&mut self, part: &str);
}

impl<F: FnMut(&str) + Send> Sink for F {
    fn text(&mut self, part: &str) {
        self(part);
    }
}

/// Model of a service without one: each call fails with an error that says how to configure a model.
#[derive(Clone, Copy, Debug)]
pub struct NotConfigured;

#[async_trait]
impl Model for NotConfigured {
    async fn converse(&self, _: &Request, _: Option<&mut dyn Sink>) -> Result<Answer, ModelError> {
        Err(ModelError::new(
            ModelErrorKind::NotConfigured,
            "No language model is configured. The operator sets MILLRACE_MODEL_PROVIDER to bedrock or openai.",
        ))
    }
}
