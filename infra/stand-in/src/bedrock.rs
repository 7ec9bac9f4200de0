//! Builds the answers of Bedrock: JSON, and the frames of an AWS event stream.

use bytes::Bytes;
use models::StopReason;
use serde_json::{Value, json};

use super::received::Received;
use super::reply::{Called, Encoded, Says, Stop};

pub(super) fn failure(status: u16, code: &str, sentence: &str) -> Encoded {
    Encoded {
        status,
        content_type: "application/json",
        headers: vec![("x-amzn-errortype", code.to_owned())],
        pieces: vec![Bytes::from(json!({ "message": sentence }).to_string())],
    }
}

pub(super) fn answer(says: &Says, request: &Received) -> Encoded {
    let says = &as_asked(says, request);
    if request.streamed {
        return Encoded {
            status: 200,
            content_type: "application/vnd.amazon.eventstream",
            headers: Vec::new(),
            pieces: events(says),
        };
    }
    let text = Some(&says.text).filter(|text| !text.is_empty());
    let mut content: Vec<Value> = text.map(|text| json!({ "text": text })).into_iter().collect();
    content.extend(says.calls.iter().map(|call| {
        // Invalid JSON arguments are sent as a text, and empty ones as an empty object.
        let input: Value = match call.arguments.as_str() {
            "" => json!({}),
            arguments => serde_json::from_str(arguments).unwrap_or_else(|_| arguments.into()),
        };
        json!({ "toolUse": { "toolUseId": call.id, "name": call.name, "input": input } })
    }));
    let body = json!({
        "output": { "message": { "role": "assistant", "content": content } },
        "stopReason": stop(says),
        "usage": usage(says),
        "metrics": { "latencyMs": 1 },
    });
    Encoded {
        status: 200,
        content_type: "application/json",
        headers: Vec::new(),
        pieces: vec![Bytes::from(body.to_string())],
    }
}

/// Converts a structured output to a call of the output tool (the request's last tool) where the request
/// requires a tool call.
fn as_asked(says: &Says, request: &Received) -> Says {
    let choice = request.body.pointer("/toolConfig/toolChoice");
    let tools = request
        .body
        .pointer("/toolConfig/tools")
        .and_then(Value::as_array);
    let last = tools.and_then(|tools| tools.last());
    let name = last.and_then(|tool| tool.pointer("/toolSpec/name")?.as_str());
    match name.filter(|_| says.is_output && choice.is_some()) {
        None => says.clone(),
        Some(name) => Says {
            text: String::new(),
            calls: vec![Called {
                id: "output".to_owned(),
                name: name.to_owned(),
                arguments: says.text.clone(),
            }],
            ..says.clone()
        },
    }
}

fn events(says: &Says) -> Vec<Bytes> {
    let mut events = vec![event("messageStart", &json!({ "role": "assistant" }))];
    let mut number = 0;
    if !says.text.is_empty() {
        for word in says.text.split_inclusive(' ') {
            events.push(delta(number, &json!({ "text": word })));
        }
        events.push(event("contentBlockStop", &json!({ "contentBlockIndex": number })));
        number += 1;
    }
    for call in &says.calls {
        let start = json!({ "toolUse": { "toolUseId": call.id, "name": call.name } });
        events.push(event(
            "contentBlockStart",
            &json!({ "contentBlockIndex": number, "start": start }),
        ));
        for piece in call.arguments.split_inclusive(' ') {
            events.push(delta(number, &json!({ "toolUse": { "input": piece } })));
        }
        events.push(event("contentBlockStop", &json!({ "contentBlockIndex": number })));
        number += 1;
    }
    if let Some((code, sentence)) = &says.fault {
        events.push(frame(
            "exception",
            ":exception-type",
            code,
            &json!({ "message": sentence }),
        ));
        return events;
    }
    events.push(event("messageStop", &json!({ "stopReason": stop(says) })));
    let metadata = json!({ "usage": usage(says), "metrics": { "latencyMs": 1 } });
    events.push(event("metadata", &metadata));
    events
}

fn delta(number: u32, delta: &Value) -> Bytes {
    event(
        "contentBlockDelta",
        &json!({ "contentBlockIndex": number, "delta": delta }),
    )
}

fn event(name: &str, payload: &Value) -> Bytes {
    frame("event", ":event-type", name, payload)
}

/// Builds a frame of an AWS event stream: two lengths and their checksum, headers, payload, and the checksum
/// of the whole.
fn frame(kind: &str, name_header: &str, name: &str, payload: &Value) -> Bytes {
    const TEXT: u8 = 7;
    let mut headers = Vec::new();
    let content_type = (":content-type", "application/json");
    for (name, value) in [(":message-type", kind), (name_header, name), content_type] {
        headers.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        headers.extend_from_slice(name.as_bytes());
        headers.push(TEXT);
        headers.extend_from_slice(&u16::try_from(value.len()).unwrap_or(u16::MAX).to_be_bytes());
        headers.extend_from_slice(value.as_bytes());
    }
    let payload = payload.to_string();
    let mut frame = Vec::new();
    for length in [16 + headers.len() + payload.len(), headers.len()] {
        frame.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    }
    frame.extend_from_slice(&crc32fast::hash(&frame).to_be_bytes());
    frame.extend_from_slice(&headers);
    frame.extend_from_slice(payload.as_bytes());
    frame.extend_from_slice(&crc32fast::hash(&frame).to_be_bytes());
    Bytes::from(frame)
}

fn stop(says: &Says) -> &str {
    match &says.stop {
        Some(Stop::Word(word)) => word,
        Some(Stop::For(StopReason::MaxTokens)) => "max_tokens",
        Some(Stop::For(StopReason::Refused)) => "guardrail_intervened",
        Some(Stop::For(StopReason::ToolUse)) => "tool_use",
        Some(Stop::For(StopReason::End)) => "end_turn",
        None if says.calls.is_empty() => "end_turn",
        None => "tool_use",
    }
}

/// Bedrock counts tokens from its cache separately from the input.
fn usage(says: &Says) -> Value {
    let cached = says.usage.cached_tokens;
    let (input, output) = (says.usage.input_tokens, says.usage.output_tokens);
    let mut usage = json!({
        "inputTokens": input.saturating_sub(cached.unwrap_or(0)),
        "outputTokens": output,
        "totalTokens": input + output,
    });
    if let (Some(cached), Value::Object(fields)) = (cached, &mut usage) {
        fields.insert("cacheReadInputTokens".to_owned(), cached.into());
    }
    usage
}
