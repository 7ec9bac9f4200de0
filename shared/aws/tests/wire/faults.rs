//! Tests all faults of a provider and of the network.

use std::time::Duration;

use models::{Limits, ModelErrorKind, Request, StopReason};
use serde_json::json;
use stand_in::{Reply, StandIn, Wire};

use super::{WIRES, bedrock, model, prompt, quick, sdk, stand_in, streamed, streamed_within, whole};

/// Limits that end a hanging stream quickly.
fn impatient() -> Limits {
    Limits {
        between_parts: Duration::from_millis(300),
        ..quick()
    }
}

/// Sends `reply` to every attempt, and checks the kind of the error and the number of requests.
async fn check(wire: Wire, reply: Reply, kind: ModelErrorKind, requests: usize) {
    for is_streamed in [false, true] {
        let stand_in = StandIn::start().await.unwrap();
        stand_in.otherwise(reply.clone());
        let request = prompt("hunter2");
        let answer = if is_streamed {
            streamed(&stand_in, wire, &request).await.0
        } else {
            whole(&stand_in, wire, &request).await
        };
        let told = format!("{wire:?} streamed={is_streamed} {reply:?}");
        let error = answer.expect_err(&told);
        assert_eq!(error.kind(), kind, "{told}: {error}");
        assert_eq!(stand_in.received().len(), requests, "{told}: {error}");
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{told}");
    }
}

#[tokio::test]
async fn what_passes_is_repeated_and_what_does_not_is_not() {
    use ModelErrorKind::{BadAnswer, BadRequest, Throttled, Unauthorized, Unavailable};
    for wire in WIRES {
        let html = |status| Reply::body(status, "text/html", "<html>hunter2</html>");
        for (reply, kind, requests) in [
            (
                Reply::failing(429, "rate_limit_exceeded", "slow hunter2"),
                Throttled,
                3,
            ),
            (
                Reply::failing(429, "x", "").header("retry-after", "0"),
                Throttled,
                3,
            ),
            (
                Reply::failing(429, "x", "").header("retry-after", "3600"),
                Throttled,
                1,
            ),
            (Reply::failing(500, "internal_error", ""), Unavailable, 3),
            (Reply::failing(503, "overloaded", ""), Unavailable, 3),
            (html(502), Unavailable, 3),
            (html(404), BadRequest, 1),
            (html(200), BadAnswer, 1),
            (Reply::dropping(), Unavailable, 3),
            (
                Reply::failing(400, "invalid_request_error", "hunter2 is wrong"),
                BadRequest,
                1,
            ),
            (
                Reply::failing(401, "invalid_api_key", "hunter2 is wrong"),
                Unauthorized,
                1,
            ),
            (
                Reply::failing(403, "AccessDeniedException", "no"),
                Unauthorized,
                1,
            ),
            (
                Reply::body(302, "text/html", "").header("location", "http://127.0.0.1:9/"),
                BadAnswer,
                1,
            ),
            (
                Reply::body(307, "text/html", "").header("location", "/v1/chat/completions"),
                BadAnswer,
                1,
            ),
            (Reply::body(204, "application/json", ""), BadAnswer, 1),
            (Reply::body(200, "application/json", ""), BadAnswer, 1),
            (Reply::body(200, "application/json", "[1"), BadAnswer, 1),
            (Reply::body(200, "application/json", "[]"), BadAnswer, 1),
            (Reply::body(200, "application/json", "\"hunter2\""), BadAnswer, 1),
            (Reply::body(200, "application/json", "{}"), BadAnswer, 1),
            (
                Reply::body(200, "application/json", "{\"a\":".repeat(100_000)),
                BadAnswer,
                1,
            ),
            (
                Reply::body(200, "application/json", vec![b'['; 1_000_000]),
                BadAnswer,
                1,
            ),
            (
                Reply::body(200, "application/json", b"{\"choices\":\"\xff\"}".as_slice()),
                BadAnswer,
                1,
            ),
            (Reply::text("x").calling("a", "", &json!({})), BadAnswer, 1),
            (
                Reply::text("x").calling_with("a", "f", "{\"hunter2"),
                BadAnswer,
                1,
            ),
            (Reply::text("x").calling_with("a", "f", "[1]"), BadAnswer, 1),
            (
                Reply::text("x")
                    .stopping_with("tool_calls")
                    .stopping(StopReason::ToolUse),
                BadAnswer,
                1,
            ),
        ] {
            check(wire, reply, kind, requests).await;
        }
    }
}

#[tokio::test]
async fn formats_fail_in_their_own_ways() {
    use ModelErrorKind::{BadAnswer, Refused, Throttled, Timeout, Unauthorized, Unavailable};
    let choices = |choices: &str| Reply::body(200, "application/json", format!("{{\"choices\":{choices}}}"));
    for (wire, reply, kind, requests) in [
        (Wire::OpenAi, choices("[]"), BadAnswer, 1),
        (Wire::OpenAi, choices("null"), BadAnswer, 1),
        (Wire::OpenAi, choices("{\"a\":1}"), BadAnswer, 1),
        (
            Wire::OpenAi,
            Reply::failing(400, "content_filter", "no"),
            Refused,
            1,
        ),
        (
            Wire::OpenAi,
            Reply::failing(429, "insufficient_quota", "no"),
            Throttled,
            1,
        ),
        (
            Wire::OpenAi,
            Reply::body(200, "application/json", "{\"error\":\"oops\"}"),
            Unavailable,
            3,
        ),
        (
            Wire::Bedrock,
            Reply::failing(400, "ExpiredTokenException", "no"),
            Unauthorized,
            1,
        ),
        (
            Wire::Bedrock,
            Reply::failing(400, "ThrottlingException", "no"),
            Throttled,
            3,
        ),
        (
            Wire::Bedrock,
            Reply::failing(400, "ServiceQuotaExceededException", "no"),
            Throttled,
            1,
        ),
        (
            Wire::Bedrock,
            Reply::failing(429, "ModelNotReadyException", "no"),
            Throttled,
            3,
        ),
        (
            Wire::Bedrock,
            Reply::failing(408, "ModelTimeoutException", "no"),
            Timeout,
            1,
        ),
        (
            Wire::Bedrock,
            Reply::failing(424, "ModelErrorException", "no"),
            Unavailable,
            3,
        ),
        (
            Wire::Bedrock,
            Reply::text("x").stopping_with("malformed_tool_use"),
            BadAnswer,
            1,
        ),
    ] {
        check(wire, reply, kind, requests).await;
    }
}

#[tokio::test]
async fn what_passed_is_an_answer() {
    for wire in WIRES {
        for fault in [
            Reply::failing(500, "x", ""),
            Reply::failing(429, "x", "").header("retry-after", "0"),
            Reply::dropping(),
            Reply::text("never seen").breaking_after(3),
        ] {
            let replies = [fault.clone(), fault, Reply::text("Well.")];
            let stand_in = stand_in(replies.clone()).await;
            assert_eq!(
                whole(&stand_in, wire, &prompt("x")).await.unwrap().text(),
                "Well."
            );
            let stand_in = self::stand_in(replies).await;
            let (answer, parts) = streamed(&stand_in, wire, &prompt("x")).await;
            assert_eq!(
                (answer.unwrap().text(), parts.concat()),
                ("Well.".to_owned(), "Well.".to_owned())
            );
            assert_eq!(stand_in.received().len(), 3, "{wire:?}");
        }
    }
}

#[tokio::test]
async fn a_pause_that_the_provider_asks_for_is_told_where_it_is_too_long() {
    for wire in WIRES {
        let reply = Reply::failing(429, "ThrottlingException", "").header("retry-after", "120");
        let stand_in = stand_in([reply]).await;
        let error = whole(&stand_in, wire, &prompt("x")).await.unwrap_err();
        assert_eq!(error.retry_after_ms(), Some(120_000), "{wire:?}");
    }
    let reply = Reply::failing(429, "x", "").header("retry-after-ms", "90000");
    let stand_in = stand_in([reply]).await;
    let error = whole(&stand_in, Wire::OpenAi, &prompt("x")).await.unwrap_err();
    assert_eq!(error.retry_after_ms(), Some(90_000));
}

#[tokio::test]
async fn nothing_is_repeated_after_a_part_was_given() {
    for wire in WIRES {
        let text = "one two three four five six seven";
        let faults = [
            (Reply::text(text).breaking_after(900), ModelErrorKind::Unavailable),
            (Reply::text(text).ending_after(900), ModelErrorKind::Unavailable),
            (Reply::text(text).hanging_after(900), ModelErrorKind::Timeout),
            (
                Reply::text(text).then_failing("serviceUnavailableException", "hunter2"),
                ModelErrorKind::Unavailable,
            ),
            (
                Reply::text(text).then_failing("throttlingException", "hunter2"),
                match wire {
                    Wire::OpenAi => ModelErrorKind::Unavailable,
                    Wire::Bedrock => ModelErrorKind::Throttled,
                },
            ),
        ];
        for (fault, kind) in faults {
            let told = format!("{wire:?} {fault:?}");
            let stand_in = stand_in([fault, Reply::text("again")]).await;
            let (answer, parts) = streamed_within(impatient(), &stand_in, wire, &prompt("x")).await;
            let error = answer.expect_err(&told);
            assert_eq!(error.kind(), kind, "{told}: {error}");
            assert!(
                !parts.is_empty() && text.starts_with(&parts.concat()),
                "{told}: {parts:?}"
            );
            assert_eq!(stand_in.received().len(), 1, "{told}");
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{told}");
            assert_eq!(
                error.detail(),
                told.contains("hunter2").then_some("hunter2"),
                "{told}"
            );
        }
    }
}

/// After the stop reason, at most the token counts are missing.
#[tokio::test]
async fn an_answer_that_has_ended_is_whole_whatever_comes_after() {
    for wire in WIRES {
        let whole = Reply::text("one two");
        let end = match wire {
            Wire::OpenAi => "data: [DONE]\n\n".len(),
            Wire::Bedrock => 1,
        };
        let length = bytes_of(wire, &whole).await - end;
        for fault in [
            whole.clone().breaking_after(length),
            whole.clone().ending_after(length),
            whole.hanging_after(length),
        ] {
            let told = format!("{wire:?} {fault:?}");
            let stand_in = stand_in([fault]).await;
            let (answer, _) = streamed_within(impatient(), &stand_in, wire, &prompt("x")).await;
            assert_eq!(answer.expect(&told).text(), "one two", "{told}");
        }
    }
}

/// Returns the length of a stream, as the stand-in sends it.
async fn bytes_of(wire: Wire, reply: &Reply) -> usize {
    let stand_in = stand_in([reply.clone()]).await;
    let (path, body) = match wire {
        Wire::OpenAi => ("/v1/chat/completions", r#"{"model":"stand-in","stream":true}"#),
        Wire::Bedrock => ("/model/stand-in/converse-stream", "{}"),
    };
    let url = format!("{}{path}", stand_in.base_url().trim_end_matches("/v1"));
    let sent = reqwest::Client::new().post(url).body(body).send().await.unwrap();
    sent.bytes().await.unwrap().len()
}

#[tokio::test]
async fn an_answer_is_read_up_to_four_mebibytes() {
    for wire in WIRES {
        let long = "x".repeat(10 * 1_024 * 1_024);
        check(wire, Reply::text(long), ModelErrorKind::BadAnswer, 1).await;
        let words = format!("{} ", "x".repeat(499)).repeat(10_000);
        check(wire, Reply::text(words), ModelErrorKind::BadAnswer, 1).await;
        let fitting = "x".repeat(3 * 1_024 * 1_024);
        let stand_in = stand_in([Reply::text(&fitting), Reply::text(&fitting)]).await;
        assert_eq!(
            whole(&stand_in, wire, &prompt("x")).await.unwrap().text(),
            fitting
        );
        assert_eq!(
            streamed(&stand_in, wire, &prompt("x")).await.0.unwrap().text(),
            fitting
        );
    }
}

/// Breaks a frame in its length, its checksums and its headers.
#[tokio::test]
async fn frames_that_are_none_are_a_bad_answer() {
    let stream = |body: Vec<u8>| Reply::body(200, "application/vnd.amazon.eventstream", body);
    let mut short_length = vec![0, 0, 0, 1];
    short_length.extend([0; 40]);
    for body in [vec![0; 64], vec![0xff; 64], short_length] {
        let stand_in = stand_in([stream(body)]).await;
        let (answer, _) = streamed(&stand_in, Wire::Bedrock, &prompt("x")).await;
        let error = answer.unwrap_err();
        let is_told = matches!(
            error.kind(),
            ModelErrorKind::BadAnswer | ModelErrorKind::Unavailable
        );
        assert!(is_told, "{error:?}");
    }
}

#[tokio::test]
async fn a_slow_server_runs_into_the_limit_of_the_call_or_of_the_pause() {
    for wire in WIRES {
        let stand_in = StandIn::start().await.unwrap();
        for reply in [Reply::hanging(), Reply::text("one two").hanging_after(10)] {
            stand_in.otherwise(reply);
            let request = Request {
                time_limit: Some(Duration::from_millis(100)),
                ..prompt("x")
            };
            let error = whole(&stand_in, wire, &request).await.unwrap_err();
            assert_eq!(error.kind(), ModelErrorKind::Timeout);
            assert!(error.message().contains("longer than 0.1 seconds"), "{error}");
            let (answer, parts) = streamed_within(impatient(), &stand_in, wire, &prompt("x")).await;
            let error = answer.unwrap_err();
            assert_eq!((error.kind(), parts.len()), (ModelErrorKind::Timeout, 0));
            assert!(
                error.message().contains("sent nothing for 0.3 seconds"),
                "{error}"
            );
        }
    }
}

#[tokio::test]
async fn a_server_that_is_away_cannot_be_reached() {
    for wire in WIRES {
        let model = {
            let stand_in = StandIn::start().await.unwrap();
            model(&stand_in, wire, quick())
        };
        let error = model.converse(&prompt("x"), None).await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Unavailable, "{wire:?} {error}");
    }
}

#[tokio::test]
async fn a_function_without_credentials_says_so() {
    let stand_in = stand_in([]).await;
    let mut sdk = sdk(&stand_in).to_builder();
    sdk.set_credentials_provider(None);
    let model = bedrock(&sdk.build(), Limits::default());
    let error = model.converse(&prompt("x"), None).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Unauthorized, "{error}");
    assert_eq!(stand_in.received().len(), 0);
}
