//! Checks that no prompt, answer or key is ever logged.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use models::{OutputSchema, Request, Tool};
use serde_json::json;
use stand_in::{KEY, Reply};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::{Layer as _, fmt};

use super::{WIRES, prompt, stand_in, streamed, whole};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

/// The most verbose filter that `platform::telemetry` allows.
fn everything() -> Targets {
    let below = ["aws_", "h2", "hyper", "lambda_", "rustls"].map(|target| (target, LevelFilter::DEBUG));
    Targets::new()
        .with_default(LevelFilter::TRACE)
        .with_targets(below)
}

#[tokio::test]
async fn nothing_that_was_said_is_logged() {
    let lines = Lines::default();
    let writer = lines.clone();
    let layer = fmt::layer().with_writer(move || writer.clone());
    let subscriber = tracing_subscriber::registry().with(layer.with_filter(everything()));
    let _guard = tracing::subscriber::set_default(subscriber);
    let said = "hunter2-answer";
    let request = Request {
        system: Some("hunter2-system".to_owned()),
        tools: vec![Tool {
            name: "look".to_owned(),
            description: "hunter2-tool".to_owned(),
            input_schema: json!({ "type": "object", "title": "hunter2-schema" }),
        }],
        ..prompt("hunter2-prompt")
    };
    let structured = Request {
        output: Some(OutputSchema {
            name: "verdict".to_owned(),
            schema: json!({ "type": "object", "required": ["hunter2"] }),
            accepted: None,
        }),
        ..prompt("hunter2-prompt")
    };
    let quoted = format!("hunter2-prompt and {KEY}");
    for wire in WIRES {
        for reply in [
            Reply::text(said).calling("a", "look", &json!({ "at": said })),
            Reply::text(said).stopping_with("hunter-new"),
            Reply::text(said).calling_with("a", "look", said),
            Reply::text(said).breaking_after(300),
            Reply::text(said).then_failing("x", &quoted),
            Reply::failing(400, "x", &quoted),
            Reply::failing(401, "x", &quoted),
            Reply::failing(429, &quoted, &quoted).header("retry-after", "3600"),
            Reply::failing(500, "x", &quoted),
            Reply::body(502, "text/html", quoted.clone()),
            Reply::body(200, "application/json", quoted.clone()),
            Reply::body(302, "text/html", quoted.clone()).header("location", "/hunter2-location"),
            Reply::dropping(),
        ] {
            let stand_in = stand_in([]).await;
            stand_in.otherwise(reply);
            for request in [&request, &structured] {
                for answer in [
                    whole(&stand_in, wire, request).await,
                    streamed(&stand_in, wire, request).await.0,
                ] {
                    tracing::info!(?answer, "the caller logs what it got");
                }
            }
        }
    }
    let text = lines.text();
    for expected in [
        "unknown stop reason",
        "is repeated",
        "language model called",
        "hunter-new",
    ] {
        assert!(text.contains(expected), "{expected} is not logged");
    }
    for secret in ["hunter2", KEY] {
        let line = text.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret} is logged");
    }
    let stand_in = stand_in::StandIn::start().await.unwrap();
    assert!(!format!("{:?}", stand_in.received()).contains(KEY));
}
