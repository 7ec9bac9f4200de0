//! Language models behind one trait.
//!
//! A [`Model`] answers a [`Request`]: Amazon Bedrock, or a server with an OpenAI-compatible chat endpoint.
//! Retries, time limits and the check of structured output are the same for both, so a provider
//! is only its wire format.
//!
//! **Invariants:** no prompt, answer or key stands in a log line or in what an error prints; a call is never
//! repeated once the caller was given a part of its answer.

mod answer;
mod assembly;
mod client;
mod config;
mod error;
mod model;
mod openai;
mod output;
pub mod provider;
mod request;
mod retry;
pub mod stand_in;

pub use answer::{Answer, Content, StopReason, ToolCall, Usage};
pub use client::{Limits, over};
pub use config::{Connect, ModelConfig};
pub use error::{ModelError, ModelErrorKind};
pub use model::{Model, NotConfigured, Sink};
pub use request::{Message, OutputSchema, Request, Tool, ToolResult};

/// Most bytes of an answer, as it comes over the wire: far more than a model writes.
pub const MAX_ANSWER_BYTES: usize = 4 * 1_024 * 1_024;
