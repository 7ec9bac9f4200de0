//! Gives access to language models through one trait.
//!
//! A [`Model`] answers a [`Request`]: Amazon Bedrock, or a server with an OpenAI-compatible chat endpoint.
//! Retries, time limits and the check of structured output are the same for both, so a provider only
//! implements its wire format.
//!
//! **Invariants:** no prompt, answer or key appears in a log line or in the printed form of an error; a call
//!  is never repeated once the caller has received a part of its answer.

mod answer;
mod assembly;
mod client;
mod config;
mod error;
mod limits;
mod model;
mod openai;
mod output;
pub mod provider;
mod request;
mod retry;

pub use answer::{Answer, Content, StopReason, ToolCall, Usage};
pub use client::over;
pub use config::{Connect, ModelConfig};
pub use error::{ModelError, ModelErrorKind};
pub use limits::Limits;
pub use model::{Model, NotConfigured, Sink};
pub use request::{Message, OutputSchema, Request, Tool, ToolResult};

/// Maximum size of an answer on the wire: far more than a model writes.
pub const MAX_ANSWER_BYTES: usize = 4 * 1_024 * 1_024;
