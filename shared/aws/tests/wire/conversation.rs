//! Tests conversations that succeed.

use models::{
    Content, Limits, Message, Model as _, ModelErrorKind, NotConfigured, Request, StopReason, Tool, ToolCall,
    ToolResult, Usage,
};
use platform::config::variables;
use serde_json::{Value, json};
use stand_in::{KEY, Reply, Wire};

use super::{WIRES, model, prompt, stand_in, streamed, whole};

fn call(id: &str, name: &str, arguments: Value) -> Content {
    Content::ToolCall(ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments,
    })
}

/// A conversation with everything that a request can contain.
fn full() -> Request {
    Request {
        system: Some("Be short.".to_owned()),
        messages: vec![
            Message::user("Weather in Bern?"),
            Message::Assistant {
                content: vec![
                    Content::of_text("I look."),
                    call("c1", "weather", json!({ "city": "Bern" })),
                ],
            },
            Message::Tool {
                results: vec![
                    ToolResult {
                        id: "c1".to_owned(),
                        text: "12 °C".to_owned(),
                        failed: false,
                    },
                    ToolResult {
                        id: "c2".to_owned(),
                        text: " ".to_owned(),
                        failed: true,
                    },
                ],
            },
            Message::Assistant { content: Vec::new() },
            Message::user("And now?"),
        ],
        tools: vec![Tool {
            name: "weather".to_owned(),
            description: "Tells the weather.".to_owned(),
            input_schema: json!({ "type": "object", "properties": { "city": { "type": "string" } } }),
        }],
        max_tokens: Some(100),
        temperature: Some(0.2),
        ..Request::default()
    }
}

#[tokio::test]
async fn text_comes_whole_and_in_parts() {
    for wire in WIRES {
        let usage = Usage {
            input_tokens: 30,
            output_tokens: 4,
            cached_tokens: Some(20),
        };
        let reply = Reply::text("It is 12 °C 🦀.").costing(usage);
        let stand_in = stand_in([reply.clone(), reply]).await;
        let answer = whole(&stand_in, wire, &prompt("Weather?")).await.unwrap();
        assert_eq!(answer.text(), "It is 12 °C 🦀.", "{wire:?}");
        assert_eq!(answer.content.len(), 1);
        assert_eq!((answer.stop, answer.usage), (StopReason::End, usage), "{wire:?}");
        assert_eq!(
            (answer.model.as_str(), answer.output.as_ref()),
            ("stand-in", None)
        );
        let (again, parts) = streamed(&stand_in, wire, &prompt("Weather?")).await;
        assert_eq!(again.unwrap(), answer);
        assert_eq!(parts, ["It ", "is ", "12 ", "°C ", "🦀."], "{wire:?}");
        let received = stand_in.received();
        assert_eq!(
            received
                .iter()
                .map(|request| request.streamed)
                .collect::<Vec<_>>(),
            [false, true]
        );
    }
}

#[tokio::test]
async fn tool_calls_come_whole_and_in_parts() {
    for wire in WIRES {
        let reply = Reply::text("I look.")
            .calling("a", "weather", &json!({ "city": "Bern", "days": [1, 2.5, null] }))
            .calling_with("b", "clock", "");
        let stand_in = stand_in([reply.clone(), reply]).await;
        let answer = whole(&stand_in, wire, &full()).await;
        let (again, parts) = streamed(&stand_in, wire, &full()).await;
        for answer in [answer, again] {
            let answer = answer.unwrap();
            assert_eq!(answer.stop, StopReason::ToolUse);
            assert_eq!(
                answer.content,
                [
                    Content::of_text("I look."),
                    call("a", "weather", json!({ "city": "Bern", "days": [1, 2.5, null] })),
                    call("b", "clock", json!({})),
                ],
                "{wire:?}"
            );
            assert_eq!(answer.tool_calls().count(), 2);
        }
        assert_eq!(parts.concat(), "I look.");
    }
}

#[tokio::test]
async fn a_request_is_sent_in_openais_form() {
    let stand_in = stand_in([Reply::text("x"), Reply::text("x")]).await;
    let request = Request {
        model: Some("other".to_owned()),
        ..full()
    };
    streamed(&stand_in, Wire::OpenAi, &request).await.0.unwrap();
    whole(&stand_in, Wire::OpenAi, &prompt("x")).await.unwrap();
    let received = stand_in.received();
    assert_eq!(received[0].path, "/v1/chat/completions");
    let key = received[0].authorization.as_ref().unwrap();
    assert_eq!(key.expose(), format!("Bearer {KEY}"));
    assert_eq!(
        received[0].body,
        json!({
            "model": "other",
            "messages": [
                { "role": "system", "content": "Be short." },
                { "role": "user", "content": "Weather in Bern?" },
                { "role": "assistant", "content": "I look.", "tool_calls": [{
                    "id": "c1", "type": "function",
                    "function": { "name": "weather", "arguments": "{\"city\":\"Bern\"}" },
                }] },
                { "role": "tool", "tool_call_id": "c1", "content": "12 °C" },
                { "role": "tool", "tool_call_id": "c2", "content": "Error: (empty)" },
                { "role": "user", "content": "And now?" },
            ],
            "tools": [{ "type": "function", "function": {
                "name": "weather", "description": "Tells the weather.",
                "parameters": { "type": "object", "properties": { "city": { "type": "string" } } },
            } }],
            "max_tokens": 100,
            "temperature": 0.2,
            "stream": true,
            "stream_options": { "include_usage": true },
        })
    );
    let plain = json!({ "model": "stand-in", "messages": [{ "role": "user", "content": "x" }] });
    assert_eq!(received[1].body, plain);
    assert_eq!(
        (received[0].system().as_str(), received[0].last().as_str()),
        ("Be short.", "And now?")
    );
}

#[tokio::test]
async fn a_request_is_sent_in_bedrocks_form() {
    let stand_in = stand_in([Reply::text("x"), Reply::text("x")]).await;
    let request = Request {
        model: Some("arn:aws:bedrock:eu-central-1:1:inference-profile/eu.x-v1:0".to_owned()),
        ..full()
    };
    streamed(&stand_in, Wire::Bedrock, &request).await.0.unwrap();
    whole(&stand_in, Wire::Bedrock, &prompt("x")).await.unwrap();
    let received = stand_in.received();
    assert_eq!(
        received[0].path,
        "/model/arn%3Aaws%3Abedrock%3Aeu-central-1%3A1%3Ainference-profile%2Feu.x-v1%3A0/converse-stream"
    );
    let signature = received[0].authorization.as_ref().unwrap();
    assert!(
        signature
            .expose()
            .starts_with("AWS4-HMAC-SHA256 Credential=local/")
    );
    // Consecutive messages of one role are joined.
    assert_eq!(
        received[0].body,
        json!({
            "system": [{ "text": "Be short." }],
            "messages": [
                { "role": "user", "content": [{ "text": "Weather in Bern?" }] },
                { "role": "assistant", "content": [
                    { "text": "I look." },
                    { "toolUse": { "toolUseId": "c1", "name": "weather", "input": { "city": "Bern" } } },
                ] },
                { "role": "user", "content": [
                    { "toolResult": { "toolUseId": "c1", "content": [{ "text": "12 °C" }] } },
                    { "toolResult": { "toolUseId": "c2", "content": [{ "text": "Error: (empty)" }] } },
                    { "text": "And now?" },
                ] },
            ],
            "toolConfig": { "tools": [{ "toolSpec": {
                "name": "weather", "description": "Tells the weather.",
                "inputSchema": { "json": { "type": "object", "properties": { "city": { "type": "string" } } } },
            } }] },
            "inferenceConfig": { "maxTokens": 100, "temperature": 0.2_f32 },
        })
    );
    assert_eq!(received[1].path, "/model/stand-in/converse");
    assert_eq!(
        received[1].body,
        json!({ "messages": [{ "role": "user", "content": [{ "text": "x" }] }] })
    );
    assert_eq!(received[0].system(), "Be short.");
}

#[tokio::test]
async fn each_stop_reason_has_its_meaning() {
    let tool = |reply: Reply| reply.calling("a", "weather", &json!({}));
    for (wire, word, with_call, stop) in [
        (Wire::OpenAi, "stop", false, StopReason::End),
        // Several servers do not report that they call tools.
        (Wire::OpenAi, "stop", true, StopReason::ToolUse),
        (Wire::OpenAi, "tool_calls", true, StopReason::ToolUse),
        (Wire::OpenAi, "length", false, StopReason::MaxTokens),
        (Wire::OpenAi, "content_filter", false, StopReason::Refused),
        (Wire::OpenAi, "a new one", false, StopReason::End),
        (Wire::OpenAi, "a new one", true, StopReason::ToolUse),
        (Wire::Bedrock, "end_turn", false, StopReason::End),
        (Wire::Bedrock, "stop_sequence", false, StopReason::End),
        (Wire::Bedrock, "tool_use", true, StopReason::ToolUse),
        (Wire::Bedrock, "max_tokens", false, StopReason::MaxTokens),
        (
            Wire::Bedrock,
            "model_context_window_exceeded",
            false,
            StopReason::MaxTokens,
        ),
        (Wire::Bedrock, "guardrail_intervened", false, StopReason::Refused),
        (Wire::Bedrock, "content_filtered", false, StopReason::Refused),
        (Wire::Bedrock, "refusal", false, StopReason::Refused),
        (Wire::Bedrock, "a new one", false, StopReason::End),
        (Wire::Bedrock, "a new one", true, StopReason::ToolUse),
    ] {
        let reply = Reply::text("x").stopping_with(word);
        let reply = if with_call { tool(reply) } else { reply };
        let stand_in = stand_in([reply.clone(), reply]).await;
        let answer = whole(&stand_in, wire, &full()).await.unwrap();
        assert_eq!(answer.stop, stop, "{wire:?} {word}");
        let answer = streamed(&stand_in, wire, &full()).await.0.unwrap();
        assert_eq!(answer.stop, stop, "{wire:?} {word}");
    }
}

#[tokio::test]
async fn a_tool_call_that_the_limit_of_tokens_cut_is_left_out() {
    for wire in WIRES {
        let reply = Reply::text("I look.")
            .calling("a", "clock", &json!({}))
            .calling_with("b", "weather", "{\"city\":\"Be")
            .stopping(StopReason::MaxTokens);
        let stand_in = stand_in([reply]).await;
        let answer = streamed(&stand_in, wire, &full()).await.0.unwrap();
        assert_eq!(answer.stop, StopReason::MaxTokens, "{wire:?}");
        assert_eq!(
            answer.content,
            [Content::of_text("I look."), call("a", "clock", json!({}))]
        );
    }
}

#[tokio::test]
async fn a_call_without_an_id_of_its_own_gets_one() {
    for wire in WIRES {
        let reply = Reply::text("")
            .calling("", "clock", &json!({}))
            .calling("x", "clock", &json!({}))
            .calling("x", "clock", &json!({}));
        let stand_in = stand_in([reply]).await;
        // The conversation already has one call.
        let answer = whole(&stand_in, wire, &full()).await.unwrap();
        let ids: Vec<_> = answer.tool_calls().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["call_2", "x", "call_4"], "{wire:?}");
    }
}

#[tokio::test]
async fn an_answer_may_be_empty() {
    for wire in WIRES {
        let stand_in = stand_in([Reply::text(""), Reply::text("")]).await;
        let answer = whole(&stand_in, wire, &full()).await.unwrap();
        assert_eq!(
            (answer.content.len(), answer.stop),
            (0, StopReason::End),
            "{wire:?}"
        );
        let (answer, parts) = streamed(&stand_in, wire, &full()).await;
        assert_eq!((answer.unwrap().content.len(), parts.len()), (0, 0), "{wire:?}");
    }
}

#[tokio::test]
async fn without_a_model_every_call_says_how_to_get_one() {
    let error = NotConfigured.converse(&prompt("x"), None).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::NotConfigured);
    assert!(error.message().contains(variables::MODEL_PROVIDER.name));
}

#[tokio::test]
async fn a_request_that_is_wrong_is_not_sent() {
    for wire in WIRES {
        let stand_in = stand_in([]).await;
        let error = whole(&stand_in, wire, &prompt(" ")).await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::BadRequest);
        assert_eq!(stand_in.received().len(), 0);
    }
}

/// Checks the stand-in's rules, which tests of other crates use.
#[tokio::test]
async fn the_stand_in_follows_its_script_then_its_rules() {
    for wire in WIRES {
        let stand_in = stand_in([Reply::text("first")]).await;
        stand_in.when("weather", Reply::text("").calling("a", "weather", &json!({})));
        stand_in.when("12 °C", Reply::text("It is warm."));
        let model = model(
            &stand_in,
            wire,
            Limits {
                attempts: 1,
                ..Limits::default()
            },
        );
        let ask = async |messages: Vec<Message>| {
            let request = Request {
                messages,
                ..Request::default()
            };
            model.converse(&request, None).await
        };
        let question = Message::user("What is the weather?");
        assert_eq!(ask(vec![question.clone()]).await.unwrap().text(), "first");
        let called = ask(vec![question.clone()]).await.unwrap();
        assert_eq!(called.stop, StopReason::ToolUse);
        let result = ToolResult {
            id: "a".to_owned(),
            text: "12 °C".to_owned(),
            failed: false,
        };
        let told = ask(vec![
            question,
            Message::Assistant {
                content: called.content,
            },
            Message::Tool {
                results: vec![result],
            },
        ]);
        assert_eq!(told.await.unwrap().text(), "It is warm.", "{wire:?}");
        let unknown = ask(vec![Message::user("Other?")]).await.unwrap_err();
        assert_eq!(unknown.kind(), ModelErrorKind::Unavailable);
        stand_in.otherwise(Reply::text("Whatever."));
        assert_eq!(
            ask(vec![Message::user("Other?")]).await.unwrap().text(),
            "Whatever."
        );
        assert_eq!(stand_in.received().len(), 5);
    }
}
