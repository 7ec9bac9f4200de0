//! Tests that the answer does not depend on how its bytes are split.

use models::{Answer, Request};
use proptest::prelude::*;
use serde_json::json;
use stand_in::{Reply, Wire};

use super::{WIRES, model, prompt, quick, stand_in, streamed};

const TEXT: &str = "Grüezi 🦀, 语言 \u{2028} \"\\\r\n\0 done";

fn reply(text: &str) -> Reply {
    Reply::text(text)
        .calling("a", "weather", &json!({ "city": "Zürich 🏔", "note": "a b c" }))
        .calling("b", "clock", &json!({}))
}

async fn in_pieces(wire: Wire, text: &str, bytes: usize) -> (Answer, String) {
    let stand_in = stand_in([reply(text).in_pieces_of(bytes)]).await;
    let (answer, parts) = streamed(&stand_in, wire, &prompt("x")).await;
    (answer.unwrap(), parts.concat())
}

#[tokio::test]
async fn a_stream_in_pieces_of_any_size_is_the_same_answer() {
    for wire in WIRES {
        let (expected, _) = in_pieces(wire, TEXT, 100_000).await;
        assert_eq!(expected.text(), TEXT);
        for bytes in [1, 2, 3, 5, 7, 11, 13, 64, 257] {
            let (answer, parts) = in_pieces(wire, TEXT, bytes).await;
            assert_eq!(answer, expected, "{wire:?} {bytes}");
            assert_eq!(parts, TEXT, "{wire:?} {bytes}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Any text arrives, wherever it is split.
    #[test]
    fn any_text_survives_any_pieces(text in "\\PC{1,40}", bytes in 1..40_usize) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            for wire in WIRES {
                let (answer, parts) = in_pieces(wire, &text, bytes).await;
                assert_eq!((answer.text(), parts), (text.clone(), text.clone()), "{wire:?}");
                assert_eq!(answer.tool_calls().count(), 2);
            }
        });
    }

    /// Any bytes from a server give an answer or an error.
    #[test]
    fn any_bytes_are_an_answer_or_an_error(body: Vec<u8>, events in any::<bool>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            for (wire, stream) in [
                (Wire::OpenAi, "text/event-stream"),
                (Wire::Bedrock, "application/vnd.amazon.eventstream"),
            ] {
                let mut sent = if events && wire == Wire::OpenAi { b"data: ".to_vec() } else { Vec::new() };
                sent.extend_from_slice(&body);
                sent.extend_from_slice(b"\n\n");
                let replies = [Reply::body(200, stream, sent.clone()), Reply::body(200, "application/json", sent)];
                let stand_in = stand_in(replies).await;
                stand_in.otherwise(Reply::failing(400, "end", ""));
                let request: Request = prompt("x");
                let model = model(&stand_in, wire, quick());
                let mut sink = |_: &str| {};
                assert!(model.converse(&request, Some(&mut sink)).await.is_err());
                assert!(model.converse(&request, None).await.is_err());
            }
        });
    }
}
