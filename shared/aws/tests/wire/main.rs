//! Tests both wire formats against the stand-in: requests, answers, and every kind of failure.

#![cfg(test)]

mod conversation;
mod faults;
mod log;
mod openai_servers;
mod pieces;
mod structured;

use std::sync::Arc;
use std::time::Duration;

use aws::{Bedrock, Keys, SdkConfig, sdk_config_for};
use models::{Answer, Limits, Message, Model, ModelError, Request, over};
use platform::Clock;
use platform::config::Secret;
use stand_in::{KEY, MODEL, Reply, StandIn, Wire};

const WIRES: [Wire; 2] = [Wire::OpenAi, Wire::Bedrock];

/// Returns a model that calls the stand-in in this wire format.
fn model(stand_in: &StandIn, wire: Wire, limits: Limits) -> Arc<dyn Model> {
    match wire {
        Wire::OpenAi => stand_in.openai_within(limits),
        Wire::Bedrock => bedrock(&sdk(stand_in), limits),
    }
}

/// Configures the stand-in as Bedrock.
fn sdk(stand_in: &StandIn) -> SdkConfig {
    let endpoint = format!("http://{}", stand_in.address());
    sdk_config_for(&endpoint, Keys::signing(&Secret::new(KEY)))
}

fn bedrock(sdk: &SdkConfig, limits: Limits) -> Arc<dyn Model> {
    over(Box::new(Bedrock::new(sdk, limits, Clock::System)), MODEL, limits)
}

/// Limits with immediate retries.
fn quick() -> Limits {
    Limits {
        attempts: 3,
        first_pause: Duration::from_millis(1),
        longest_pause: Duration::from_millis(20),
        ..Limits::default()
    }
}

fn prompt(text: &str) -> Request {
    Request {
        messages: vec![Message::user(text)],
        ..Request::default()
    }
}

/// Starts a stand-in with these answers, in order.
async fn stand_in(replies: impl IntoIterator<Item = Reply>) -> StandIn {
    let stand_in = StandIn::start().await.unwrap();
    for reply in replies {
        stand_in.then(reply);
    }
    stand_in
}

async fn whole(stand_in: &StandIn, wire: Wire, request: &Request) -> Result<Answer, ModelError> {
    model(stand_in, wire, quick()).converse(request, None).await
}

/// Returns the answer, and the parts that arrived before it.
async fn streamed(
    stand_in: &StandIn,
    wire: Wire,
    request: &Request,
) -> (Result<Answer, ModelError>, Vec<String>) {
    streamed_within(quick(), stand_in, wire, request).await
}

async fn streamed_within(
    limits: Limits,
    stand_in: &StandIn,
    wire: Wire,
    request: &Request,
) -> (Result<Answer, ModelError>, Vec<String>) {
    let mut parts = Vec::new();
    let mut sink = |part: &str| parts.push(part.to_owned());
    let answer = model(stand_in, wire, limits)
        .converse(request, Some(&mut sink))
        .await;
    (answer, parts)
}
