//! Reads answers of Bedrock, in one piece or as events.

use std::time::Duration;

use aws_sdk_bedrockruntime::operation::converse::ConverseOutput;
use aws_sdk_bedrockruntime::operation::converse_stream::ConverseStreamOutput;
use aws_sdk_bedrockruntime::types as wire;
use models::provider::{Assembly, Call, Ended, Failure, Outlet, Reply};
use models::{StopReason, Usage};
use tokio::time::timeout;

use super::document::to_json;
use super::failure;

pub(super) fn whole(output: ConverseOutput, call: &Call<'_>) -> Result<Reply, Failure> {
    let usage = output.usage().map(told).unwrap_or_default();
    let stop = output.stop_reason().clone();
    let Some(wire::ConverseOutput::Message(message)) = output.output else {
        return Err(Failure::bad_answer("has no message"));
    };
    let mut parts = Assembly::default();
    for (number, block) in (0..).zip(message.content()) {
        match block {
            wire::ContentBlock::Text(text) => parts.text(number, text),
            wire::ContentBlock::ToolUse(tool) => {
                let arguments = to_json(tool.input()).to_string();
                parts.call(number, Some(tool.tool_use_id()), Some(tool.name()), &arguments);
            }
            // Thinking and citations were not requested.
            _ => {}
        }
    }
    finish(parts, &stop, usage, call)
}

pub(super) async fn streamed(
    mut output: ConverseStreamOutput,
    call: &Call<'_>,
    outlet: &mut Outlet<'_>,
    patience: Duration,
) -> Result<Reply, Failure> {
    let (mut parts, mut stop, mut usage) = (Assembly::default(), None, Usage::default());
    loop {
        let event = match (timeout(patience, output.stream.recv()).await, &stop) {
            (Ok(Ok(Some(event))), _) => event,
            // The stop reason has arrived; at most the token counts are missing.
            (_, Some(stop)) => return finish(parts, stop, usage, call),
            (Ok(Ok(None)), None) => return Err(Failure::broke_off()),
            (Ok(Err(error)), None) => return Err(failure::of_event(&error)),
            (Err(_), None) => return Err(Failure::too_slow(patience)),
        };
        match event {
            wire::ConverseStreamOutput::ContentBlockStart(event) => {
                if let Some(wire::ContentBlockStart::ToolUse(tool)) = event.start() {
                    let number = number(event.content_block_index());
                    parts.call(number, Some(tool.tool_use_id()), Some(tool.name()), "");
                }
            }
            wire::ConverseStreamOutput::ContentBlockDelta(event) => {
                let number = number(event.content_block_index());
                match event.delta() {
                    Some(wire::ContentBlockDelta::Text(text)) => {
                        parts.text(number, text);
                        outlet.text(text);
                    }
                    Some(wire::ContentBlockDelta::ToolUse(tool)) => {
                        parts.call(number, None, None, tool.input());
                    }
                    _ => {}
                }
            }
            wire::ConverseStreamOutput::MessageStop(event) => stop = Some(event.stop_reason().clone()),
            wire::ConverseStreamOutput::Metadata(event) => {
                usage = event.usage().map(told).unwrap_or_default();
            }
            _ => {}
        }
    }
}

fn finish(parts: Assembly, stop: &wire::StopReason, usage: Usage, call: &Call<'_>) -> Result<Reply, Failure> {
    let reason = match stop {
        wire::StopReason::EndTurn | wire::StopReason::StopSequence => Ended::For(StopReason::End),
        wire::StopReason::ToolUse => Ended::For(StopReason::ToolUse),
        wire::StopReason::MaxTokens | wire::StopReason::ModelContextWindowExceeded => {
            Ended::For(StopReason::MaxTokens)
        }
        wire::StopReason::ContentFiltered | wire::StopReason::GuardrailIntervened => {
            Ended::For(StopReason::Refused)
        }
        wire::StopReason::MalformedModelOutput | wire::StopReason::MalformedToolUse => {
            return Err(Failure::bad_answer(
                "is malformed, as Bedrock says; repeat the call",
            ));
        }
        // From newer models of Anthropic.
        other if other.as_str() == "refusal" => Ended::For(StopReason::Refused),
        other => Ended::Unknown(other.as_str()),
    };
    let (content, stop) = parts.finish(call, reason)?;
    Ok(Reply {
        content,
        stop,
        usage,
        model: None,
    })
}

fn number(index: i32) -> u64 {
    u64::try_from(index).unwrap_or(0)
}

/// Bedrock counts tokens read from its cache, and written to it, separately from the input.
fn told(usage: &wire::TokenUsage) -> Usage {
    let count = |tokens: i32| u64::try_from(tokens).unwrap_or(0);
    let cached = usage.cache_read_input_tokens().map(count);
    let written = usage.cache_write_input_tokens().map_or(0, count);
    Usage {
        input_tokens: count(usage.input_tokens()) + cached.unwrap_or(0) + written,
        output_tokens: count(usage.output_tokens()),
        cached_tokens: cached,
    }
}
