//! Both wire formats against the stand-in: requests, answers, and every way to fail.

#![cfg(test)]

mod conversation;
mod faults;
mod log;
mod openai_servers;
mod pieces;
mod structured;

use std::time::Duration;

use models::stand_in::{Reply, StandIn, Wire};
use models::{Answer, Limits, Message, ModelError, Request};

const WIRES: [Wire; 2] = [Wire::OpenAi, Wire::Bedrock];

/// Limits under which requests are repeated at once.
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

/// A stand-in with these answers, in order.
async fn stand_in(replies: impl IntoIterator<Item = Reply>) -> StandIn {
    let stand_in = StandIn::start().await.unwrap();
    for reply in replies {
        stand_in.then(reply);
    }
    stand_in
}

async fn whole(stand_in: &StandIn, wire: Wire, request: &Request) -> Result<Answer, ModelError> {
    stand_in.model_within(wire, quick()).converse(request, None).await
}

/// The answer, and the parts that came before it.
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
    let model = stand_in.model_within(wire, limits);
    let answer = model.converse(request, Some(&mut sink)).await;
    (answer, parts)
}
