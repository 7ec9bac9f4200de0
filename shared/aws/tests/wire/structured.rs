//! Tests structured output: its request, validation and repair.

use models::{Content, ModelErrorKind, OutputSchema, Request, StopReason, Tool, Usage};
use serde_json::{Value, json};
use stand_in::{Reply, StandIn, Wire};

use super::{WIRES, model, prompt, stand_in, streamed, whole};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": { "matches": { "type": "boolean" } },
        "required": ["matches"],
        "additionalProperties": false,
    })
}

fn question() -> Request {
    Request {
        system: Some("Judge.".to_owned()),
        output: Some(OutputSchema {
            name: "verdict".to_owned(),
            schema: schema(),
            accepted: None,
        }),
        ..prompt("Is it so?")
    }
}

fn yes() -> Value {
    json!({ "matches": true })
}

/// Usage that the stand-in reports for one request.
const ONE: Usage = Usage {
    input_tokens: 10,
    output_tokens: 5,
    cached_tokens: None,
};

fn times(count: u64) -> Usage {
    Usage {
        input_tokens: count * ONE.input_tokens,
        output_tokens: count * ONE.output_tokens,
        cached_tokens: None,
    }
}

#[tokio::test]
async fn an_answer_is_asked_for_by_the_providers_means() {
    for wire in WIRES {
        let stand_in = stand_in([Reply::output(&yes())]).await;
        let answer = whole(&stand_in, wire, &question()).await.unwrap();
        assert_eq!(answer.output, Some(yes()), "{wire:?}");
        assert_eq!(answer.content, [Content::of_text(yes().to_string())]);
        assert_eq!((answer.stop, answer.usage), (StopReason::End, ONE));
        let received = &stand_in.received()[0];
        assert_eq!(received.system(), "Judge.");
        match wire {
            Wire::OpenAi => assert_eq!(
                received.body["response_format"],
                json!({ "type": "json_schema", "json_schema": { "name": "verdict", "schema": schema(), "strict": true } })
            ),
            Wire::Bedrock => {
                let tools = &received.body["toolConfig"];
                assert_eq!(tools["toolChoice"], json!({ "tool": { "name": "verdict" } }));
                assert_eq!(tools["tools"][0]["toolSpec"]["inputSchema"]["json"], schema());
            }
        }
    }
}

#[tokio::test]
async fn no_part_of_an_answer_is_given_that_may_be_replaced() {
    for wire in WIRES {
        let stand_in = stand_in([Reply::text("Yes."), Reply::output(&yes())]).await;
        let (answer, parts) = streamed(&stand_in, wire, &question()).await;
        assert_eq!(answer.unwrap().output, Some(yes()));
        assert!(parts.is_empty(), "{wire:?} {parts:?}");
    }
}

#[tokio::test]
async fn nonsense_is_repaired_once_and_its_tokens_count() {
    for wire in WIRES {
        for nonsense in [
            "Yes.",
            "",
            "{\"matches\":",
            "{\"matches\":\"yes\"}",
            "{\"matches\":true,\"more\":1}",
        ] {
            let stand_in = stand_in([Reply::text(nonsense), Reply::output(&yes())]).await;
            let answer = whole(&stand_in, wire, &question()).await.unwrap();
            assert_eq!(
                (answer.output, answer.usage),
                (Some(yes()), times(2)),
                "{wire:?} {nonsense}"
            );
            let told = stand_in.received()[1].last();
            assert!(
                told.contains("cannot be used") && told.contains(&schema().to_string()),
                "{told}"
            );
            let messages = stand_in.received()[1].body["messages"].to_string();
            let shown = if nonsense.is_empty() {
                "(empty)".to_owned()
            } else {
                nonsense.replace('"', "\\\"")
            };
            assert!(messages.contains(&shown), "{messages}");
        }
        let stand_in = stand_in([Reply::text("hunter2"), Reply::text("{\"matches\":\"hunter2\"}")]).await;
        let error = whole(&stand_in, wire, &question()).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.usage()),
            (ModelErrorKind::BadAnswer, times(2)),
            "{wire:?}"
        );
        assert_eq!(stand_in.received().len(), 2);
        assert!(
            error.detail().unwrap().contains("at '/matches'"),
            "{:?}",
            error.detail()
        );
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }
}

/// The call of the output tool has invalid arguments.
#[tokio::test]
async fn a_broken_call_of_the_output_tool_is_repaired() {
    for arguments in ["{\"matches\":", "[]", "\"yes\"", "{}"] {
        let broken = Reply::text("").calling_with("a", "verdict", arguments);
        let stand_in = stand_in([broken, Reply::output(&yes())]).await;
        let answer = whole(&stand_in, Wire::Bedrock, &question()).await.unwrap();
        assert_eq!(answer.output, Some(yes()), "{arguments}");
        assert_eq!(stand_in.received().len(), 2);
    }
}

#[tokio::test]
async fn a_provider_without_the_means_is_told_in_words() {
    for wire in WIRES {
        let stand_in = StandIn::start().await.unwrap();
        stand_in.then(Reply::failing(
            400,
            "ValidationException",
            "unknown field response_format",
        ));
        stand_in.otherwise(Reply::text("Sure:\n```json\n{ \"matches\": true }\n```"));
        let model = model(&stand_in, wire, models::Limits::default());
        for _ in 0..2 {
            let answer = model.converse(&question(), None).await.unwrap();
            assert_eq!((answer.output, answer.usage), (Some(yes()), ONE), "{wire:?}");
        }
        let received = stand_in.received();
        // The refusal is remembered.
        assert_eq!(received.len(), 3);
        for request in &received[1..] {
            assert!(
                request.body.get("response_format").is_none() && request.body.get("toolConfig").is_none()
            );
            assert!(request.system().starts_with("Judge.\n\n"), "{}", request.system());
            assert!(request.system().contains(&schema().to_string()));
        }
    }
}

#[tokio::test]
async fn a_request_that_is_wrong_in_another_way_stays_wrong() {
    for wire in WIRES {
        let stand_in = StandIn::start().await.unwrap();
        stand_in.otherwise(Reply::failing(404, "model_not_found", "no such model"));
        let error = whole(&stand_in, wire, &question()).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.detail()),
            (ModelErrorKind::BadRequest, Some("no such model"))
        );
        assert_eq!(stand_in.received().len(), 2, "{wire:?}");
    }
}

#[tokio::test]
async fn tools_come_before_the_output() {
    for wire in WIRES {
        let request = Request {
            tools: vec![Tool {
                name: "look".to_owned(),
                description: String::new(),
                input_schema: json!({ "type": "object" }),
            }],
            ..question()
        };
        let calls = Reply::text("").calling("a", "look", &json!({}));
        // A premature output beside a call is dropped.
        let both = calls.clone().calling("b", "verdict", &yes());
        let stand_in = stand_in([calls, both, Reply::output(&yes())]).await;
        let answer = whole(&stand_in, wire, &request).await.unwrap();
        assert_eq!(
            (answer.stop, answer.output),
            (StopReason::ToolUse, None),
            "{wire:?}"
        );
        if wire == Wire::Bedrock {
            assert_eq!(
                stand_in.received()[0].body["toolConfig"]["toolChoice"],
                json!({ "any": {} })
            );
            let answer = whole(&stand_in, wire, &request).await.unwrap();
            assert_eq!((answer.tool_calls().count(), answer.output), (1, None));
            let answer = whole(&stand_in, wire, &request).await.unwrap();
            assert_eq!((answer.tool_calls().count(), answer.output), (0, Some(yes())));
        }
    }
}

#[tokio::test]
async fn a_refusal_and_a_cut_are_not_repaired() {
    for wire in WIRES {
        for (stop, kind) in [
            (StopReason::Refused, ModelErrorKind::Refused),
            (StopReason::MaxTokens, ModelErrorKind::BadAnswer),
        ] {
            let stand_in = stand_in([Reply::text("I cannot").stopping(stop)]).await;
            let error = whole(&stand_in, wire, &question()).await.unwrap_err();
            assert_eq!((error.kind(), error.usage()), (kind, ONE), "{wire:?}");
            assert_eq!(stand_in.received().len(), 1);
        }
    }
}

#[tokio::test]
async fn a_schema_that_is_none_is_not_sent() {
    for wire in WIRES {
        let mut request = question();
        request.output.as_mut().unwrap().schema = json!({ "type": "array" });
        let stand_in = stand_in([]).await;
        let error = whole(&stand_in, wire, &request).await.unwrap_err();
        assert_eq!(
            (error.kind(), stand_in.received().len()),
            (ModelErrorKind::BadRequest, 0)
        );
    }
}
