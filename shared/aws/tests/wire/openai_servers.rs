//! Tests servers that claim compatibility: what they omit, and what they do differently.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use models::{ModelConfig, ModelErrorKind, Request, StopReason};
use platform::config::{AwsEnvironment, Secret};
use platform::secrets::{SecretSource, SecretStore, Versions};
use platform::{Clock, UtcTime};
use serde_json::{Value, json};
use stand_in::{Reply, StandIn, Wire};

use super::{prompt, stand_in, streamed, whole};

fn sse(events: &[&str]) -> Reply {
    let body: String = events.iter().map(|data| format!("data: {data}\n\n")).collect();
    Reply::body(200, "text/event-stream; charset=utf-8", body)
}

async fn read(events: &[&str]) -> Result<models::Answer, models::ModelError> {
    let stand_in = StandIn::start().await.unwrap();
    stand_in.otherwise(sse(events));
    streamed(&stand_in, Wire::OpenAi, &prompt("x")).await.0
}

#[tokio::test]
async fn a_stream_may_end_without_saying_so() {
    let answer = read(&[
        r#"{"choices":[{"delta":{"content":"Hi"},"finish_reason":null}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
    ]);
    assert_eq!(answer.await.unwrap().text(), "Hi");
    let answer = read(&[r#"{"choices":[{"delta":{"content":"Hi"}}]}"#, "[DONE]"]);
    assert_eq!(answer.await.unwrap().stop, StopReason::End);
    for broken_off in [
        &[r#"{"choices":[{"delta":{"content":"Hi"},"finish_reason":null}]}"#][..],
        &[r#"{"choices":[]}"#],
        &[],
    ] {
        let error = read(broken_off).await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Unavailable, "{broken_off:?}");
    }
    for bad in [
        &["[DONE]"][..],
        &[r#"{"choices":[]}"#, "[DONE]"],
        &["{\"choices\":["],
        &["7"],
    ] {
        let error = read(bad).await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::BadAnswer, "{bad:?}");
    }
}

#[tokio::test]
async fn calls_may_come_whole_without_an_index_or_in_repeating_pieces() {
    let arguments = |answer: models::Answer| -> Vec<(String, Value)> {
        let calls = answer.tool_calls();
        calls
            .map(|call| (call.name.clone(), call.arguments.clone()))
            .collect()
    };
    let without_index = read(&[
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"1}"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"g","arguments":{"y":2}}}]},"finish_reason":"stop"}]}"#,
        "[DONE]",
    ]);
    let expected = vec![
        ("f".to_owned(), json!({ "x": 1 })),
        ("g".to_owned(), json!({ "y": 2 })),
    ];
    assert_eq!(arguments(without_index.await.unwrap()), expected);
    let repeating = read(&[
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"name":"g","arguments":"{\"y\":2}"}}]}}]}"#,
        "[DONE]",
    ]);
    assert_eq!(arguments(repeating.await.unwrap()), expected);
}

#[tokio::test]
async fn strange_fields_spoil_nothing() {
    let body = json!({
        "model": 7,
        "usage": { "prompt_tokens": "many", "completion_tokens": -1, "prompt_tokens_details": null },
        "choices": [{
            "message": {
                "role": null,
                "content": [{ "type": "thinking", "text": "hm" }, { "type": "text", "text": "Hi" }],
                "reasoning_content": "hm", "tool_calls": null, "refusal": null, "annotations": [],
            },
            "finish_reason": null,
        }],
    });
    let stand_in = stand_in([Reply::body(200, "application/json", body.to_string())]).await;
    let answer = whole(&stand_in, Wire::OpenAi, &prompt("x")).await.unwrap();
    assert_eq!(
        (answer.text().as_str(), answer.model.as_str()),
        ("Hi", "stand-in")
    );
    assert_eq!(
        (answer.stop, answer.usage),
        (StopReason::End, models::Usage::default())
    );
}

#[tokio::test]
async fn a_refusal_of_the_model_is_told_as_one() {
    let refusal =
        json!({ "choices": [{ "message": { "content": null, "refusal": "No." }, "finish_reason": "stop" }] });
    let stand_in = stand_in([Reply::body(200, "application/json", refusal.to_string())]).await;
    let answer = whole(&stand_in, Wire::OpenAi, &prompt("x")).await.unwrap();
    assert_eq!(
        (answer.stop, answer.text().as_str()),
        (StopReason::Refused, "No.")
    );
}

#[tokio::test]
async fn a_server_that_cannot_stream_answers_whole() {
    let body = json!({ "choices": [{ "message": { "content": "Hi there" }, "finish_reason": "stop" }] });
    let stand_in = stand_in([Reply::body(200, "application/json", body.to_string())]).await;
    let (answer, parts) = streamed(&stand_in, Wire::OpenAi, &prompt("x")).await;
    assert_eq!(
        (answer.unwrap().text().as_str(), parts),
        ("Hi there", vec!["Hi there".to_owned()])
    );
}

#[tokio::test]
async fn what_a_server_says_is_found_in_each_form_and_without_the_key() {
    for body in [
        json!({ "error": { "message": "bad stand-in-key", "type": "t" } }),
        json!({ "error": "bad stand-in-key" }),
        json!({ "detail": "bad stand-in-key" }),
        json!({ "object": "error", "message": "bad stand-in-key" }),
        json!([{ "error": { "message": "bad stand-in-key", "code": 400 } }]),
    ] {
        let stand_in = stand_in([Reply::body(400, "application/json", body.to_string())]).await;
        let error = whole(&stand_in, Wire::OpenAi, &prompt("x")).await.unwrap_err();
        assert_eq!(error.detail(), Some("bad …"), "{body}");
    }
}

#[tokio::test]
async fn a_model_may_know_the_limit_of_tokens_by_its_newer_name() {
    let stand_in = StandIn::start().await.unwrap();
    let sentence = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.";
    stand_in.then(Reply::failing(400, "unsupported_parameter", sentence));
    stand_in.otherwise(Reply::text("Hi"));
    let model = stand_in.openai();
    let request = Request {
        max_tokens: Some(7),
        ..prompt("x")
    };
    for _ in 0..2 {
        assert_eq!(model.converse(&request, None).await.unwrap().text(), "Hi");
    }
    let received = stand_in.received();
    let names = |name: &str| {
        received
            .iter()
            .map(|request| request.body.get(name).is_some())
            .collect::<Vec<_>>()
    };
    assert_eq!(names("max_tokens"), [true, false, false]);
    assert_eq!(names("max_completion_tokens"), [false, true, true]);
}

/// A secret that has another version at each fetch.
#[derive(Default)]
struct Rotating(AtomicUsize);

#[async_trait]
impl SecretStore for Rotating {
    async fn versions(&self, _: &str) -> platform::Result<Versions> {
        let number = self.0.fetch_add(1, Ordering::SeqCst);
        let current = Secret::new(format!("key-{number}"));
        Ok(Versions {
            current,
            previous: None,
        })
    }
}

#[tokio::test]
async fn a_key_that_was_rotated_is_fetched_again() {
    let clock = Clock::manual(UtcTime::EPOCH);
    let stand_in = stand_in([]).await;
    let config = ModelConfig::OpenAi {
        model: "m".to_owned(),
        base_url: stand_in.base_url().parse().unwrap(),
        key: Some(SecretSource::stored(
            Arc::new(Rotating::default()),
            "model-key",
            clock.clone(),
        )),
    };
    let model = config
        .connect(None, &AwsEnvironment::default(), clock.clone())
        .unwrap();
    let refused = Reply::failing(401, "invalid_api_key", "no");
    stand_in.then(refused.clone());
    // A recently fetched secret is not fetched again.
    let error = model.converse(&prompt("x"), None).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Unauthorized);
    clock.advance_ms(10_000);
    stand_in.then(refused);
    stand_in.then(Reply::text("Hi"));
    assert_eq!(model.converse(&prompt("x"), None).await.unwrap().text(), "Hi");
    let received = stand_in.received();
    let keys = received
        .iter()
        .map(|request| request.authorization.as_ref().unwrap().expose());
    assert_eq!(
        keys.collect::<Vec<_>>(),
        ["Bearer key-0", "Bearer key-0", "Bearer key-1"]
    );
}
