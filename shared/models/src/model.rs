//! The trait, and the model of a service that has none.

use async_trait::async_trait;

use crate::answer::Answer;
use crate::error::{ModelError, ModelErrorKind};
use crate::request::Request;

/// A language model.
#[async_trait]
pub trait Model: Send + Sync {
    /// Sends a conversation and returns the model's next message. With a sink, the text is handed over as it
    /// comes. The sink is given nothing where the request has an output schema, because an answer that breaks
    /// it is replaced.
    async fn converse(&self, request: &Request, sink: Option<&mut dyn Sink>) -> Result<Answer, ModelError>;
}

/// Takes the text of an answer while the model writes it. Must not block; its time counts against the call's
/// limit.
pub trait Sink: Send {
    /// Takes the next piece of text, which is never empty.
    fn text(&mut self, part: &str);
}

impl<F: FnMut(&str) + Send> Sink for F {
    fn text(&mut self, part: &str) {
        self(part);
    }
}

/// The model of a service without one: each call is an error that says how to configure a model.
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
