//! Builds the answers of an OpenAI-compatible server.

use bytes::Bytes;
use models::StopReason;
use serde_json::{Value, json};

use super::received::Received;
use super::reply::{Called, Encoded, Says, Stop};

pub(super) fn failure(status: u16, code: &str, sentence: &str) -> Encoded {
    whole(
        status,
        &json!({ "error": { "message": sentence, "type": "error", "code": code } }),
    )
}

pub(super) fn answer(says: &Says, request: &Received) -> Encoded {
    let model = request.body.get("model").cloned().unwrap_or_default();
    if request.streamed {
        return Encoded {
            status: 200,
            content_type: "text/event-stream",
            headers: Vec::new(),
            pieces: events(says, &model),
        };
    }
    let calls: Vec<Value> = says.calls.iter().map(tool_call).collect();
    let mut message = json!({ "role": "assistant", "content": says.text });
    if !calls.is_empty() {
        set(&mut message, "tool_calls", calls.into());
    }
    let choice = json!({ "index": 0, "message": message, "finish_reason": stop(says) });
    whole(
        200,
        &json!({ "object": "chat.completion", "model": model, "choices": [choice], "usage": usage(says) }),
    )
}

fn whole(status: u16, body: &Value) -> Encoded {
    Encoded {
        status,
        content_type: "application/json",
        headers: Vec::new(),
        pieces: vec![Bytes::from(body.to_string())],
    }
}

fn events(says: &Says, model: &Value) -> Vec<Bytes> {
    let chunk = |delta: Value, reason: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        event(&json!({ "object": "chat.completion.chunk", "model": model, "choices": [choice] }))
    };
    let mut events = vec![chunk(json!({ "role": "assistant", "content": "" }), Value::Null)];
    for word in says.text.split_inclusive(' ') {
        events.push(chunk(json!({ "content": word }), Value::Null));
    }
    for (index, call) in says.calls.iter().enumerate() {
        let mut begun = tool_call(&Called {
            arguments: String::new(),
            ..call.clone()
        });
        set(&mut begun, "index", index.into());
        events.push(chunk(json!({ "tool_calls": [begun] }), Value::Null));
        for piece in call.arguments.split_inclusive(' ') {
            let piece = json!({ "index": index, "function": { "arguments": piece } });
            events.push(chunk(json!({ "tool_calls": [piece] }), Value::Null));
        }
    }
    if let Some((code, sentence)) = &says.fault {
        events.push(event(&json!({ "error": { "message": sentence, "code": code } })));
        return events;
    }
    events.push(chunk(json!({}), stop(says).into()));
    events.push(event(
        &json!({ "model": model, "choices": [], "usage": usage(says) }),
    ));
    events.push(Bytes::from_static(b"data: [DONE]\n\n"));
    events
}

fn event(data: &Value) -> Bytes {
    Bytes::from(format!("data: {data}\n\n"))
}

fn tool_call(call: &Called) -> Value {
    json!({
        "id": call.id,
        "type": "function",
        "function": { "name": call.name, "arguments": call.arguments },
    })
}

fn stop(says: &Says) -> &str {
    match &says.stop {
        Some(Stop::Word(word)) => word,
        Some(Stop::For(StopReason::MaxTokens)) => "length",
        Some(Stop::For(StopReason::Refused)) => "content_filter",
        Some(Stop::For(StopReason::ToolUse)) => "tool_calls",
        Some(Stop::For(StopReason::End)) => "stop",
        None if says.calls.is_empty() => "stop",
        None => "tool_calls",
    }
}

fn usage(says: &Says) -> Value {
    let mut usage = json!({
        "prompt_tokens": says.usage.input_tokens,
        "completion_tokens": says.usage.output_tokens,
    });
    if let Some(cached) = says.usage.cached_tokens {
        set(
            &mut usage,
            "prompt_tokens_details",
            json!({ "cached_tokens": cached }),
        );
    }
    usage
}

fn set(object: &mut Value, name: &str, value: Value) {
    if let Value::Object(fields) = object {
        fields.insert(name.to_owned(), value);
    }
}
