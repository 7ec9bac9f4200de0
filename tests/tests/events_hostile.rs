//! Receivers that mean no good: each attempt ends in time, takes no memory to speak of, and holds up nobody else.
#![cfg(test)]

use std::sync::LazyLock;
use std::time::Duration;

use serde_json::{Value, json};
use tests::Events;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What the server does with a connection once it has read the request.
#[derive(Clone, Copy, Debug)]
enum Meanness {
    /// A body without end.
    Endless,
    /// A byte a second.
    Drip,
    /// Headers of 10 MB.
    Headers,
    /// 200 MB of zeros, compressed.
    Bomb,
    /// No word.
    Hang,
    /// A reset.
    Reset,
    /// The way to this machine.
    Redirect,
    /// One provisional answer after another.
    Continues,
}

const ALL: [Meanness; 8] = [
    Meanness::Endless,
    Meanness::Drip,
    Meanness::Headers,
    Meanness::Bomb,
    Meanness::Hang,
    Meanness::Reset,
    Meanness::Redirect,
    Meanness::Continues,
];

static BOMB: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..20 {
        std::io::Write::write_all(&mut bomb, &vec![0; 10_000_000]).unwrap();
    }
    bomb.finish().unwrap()
});

async fn server(meanness: Meanness) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let origin = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(async move { be_mean(socket, meanness).await });
        }
    });
    origin
}

async fn be_mean(mut socket: TcpStream, meanness: Meanness) {
    let mut request = [0; 65_536];
    let _ = socket.read(&mut request).await;
    let ok = "HTTP/1.1 200 OK\r\n";
    match meanness {
        Meanness::Endless => {
            let _ = socket.write_all(format!("{ok}\r\n").as_bytes()).await;
            while socket.write_all(&[b'x'; 65_536]).await.is_ok() {}
        }
        Meanness::Drip => {
            let _ = socket
                .write_all(format!("{ok}content-length: 100000\r\n\r\n").as_bytes())
                .await;
            while socket.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
        Meanness::Headers => {
            let _ = socket.write_all(ok.as_bytes()).await;
            for number in 0..10_000 {
                let header = format!("x-{number}: {}\r\n", "y".repeat(1_000));
                if socket.write_all(header.as_bytes()).await.is_err() {
                    return;
                }
            }
        }
        Meanness::Bomb => {
            let head = format!(
                "{ok}content-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
                BOMB.len()
            );
            let _ = socket.write_all(&[head.as_bytes(), &BOMB].concat()).await;
        }
        Meanness::Hang => std::future::pending().await,
        Meanness::Reset => {
            let _ = socket.set_zero_linger();
        }
        Meanness::Redirect => {
            let answer = "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
            let _ = socket.write_all(answer.as_bytes()).await;
        }
        Meanness::Continues => while socket.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.is_ok() {},
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_attempt_ends_in_time_and_says_how() {
    let Some(mut events) = Events::start().await else {
        return;
    };
    let channel = events.plain_channel().await;
    assert!(BOMB.len() < 1_000_000);
    for meanness in ALL {
        let origin = server(meanness).await;
        events
            .subscribe(&json!({
                "name": format!("{meanness:?}"), "run_as_role": "reader", "filter": { "action": [format!("{meanness:?}")] },
                "target": { "type": "webhook", "url": origin, "timeout_ms": 1500 },
            }))
            .await;
    }
    let before = events.service.process().memory_kb();
    for meanness in ALL {
        let event = events
            .event(&channel, &json!({ "action": format!("{meanness:?}") }))
            .await;
        let delivery = events
            .delivery_of(&event, &["succeeded", "retrying", "failed"])
            .await;
        let attempt = &delivery["attempts"][0];
        let expected = match meanness {
            // A status is an answer, whatever comes after it.
            Meanness::Endless | Meanness::Drip | Meanness::Bomb => ("succeeded", json!(200)),
            Meanness::Redirect => ("failed", json!(302)),
            _ => ("retrying", Value::Null),
        };
        assert_eq!(
            (
                delivery["status"].as_str().unwrap(),
                attempt["response_status"].clone()
            ),
            expected,
            "{meanness:?}: {delivery}"
        );
        // 4,096 bytes, of which each that is no UTF-8 may be shown as one character.
        let shown = attempt["response_body"].as_str().unwrap_or_default();
        assert!(shown.len() <= 4_096, "{meanness:?}");
    }
    let after = events.service.process().memory_kb();
    assert!(after < before + 100_000, "{before} KB before, {after} KB after");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_hangs_holds_up_nobody_else() {
    let Some(events) = Events::start().await else {
        return;
    };
    let channel = events.plain_channel().await;
    let origin = server(Meanness::Hang).await;
    events
        .subscribe(&json!({
            "name": "Hang", "run_as_role": "reader", "filter": { "action": ["hang"] },
            "target": { "type": "webhook", "url": origin, "timeout_ms": 50_000 },
        }))
        .await;
    let mut body = events.webhook_body("/good");
    body["filter"]["action"] = json!(["good"]);
    events.subscribe(&body).await;
    // More than anybody could have under way, and each of them for longer than the test takes.
    for _ in 0..300 {
        events.event(&channel, &json!({ "action": "hang" })).await;
    }
    for n in 0..50 {
        events.event(&channel, &json!({ "action": "good", "n": n })).await;
        events.received("/good", n + 1).await;
    }
    let hanging = events
        .deliveries(&json!({ "action": ["hang"], "limit": 200 }))
        .await;
    assert!(
        hanging.iter().all(|delivery| delivery["status"] != "succeeded"),
        "nobody took them"
    );
}
