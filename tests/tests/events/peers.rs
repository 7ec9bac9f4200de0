//! Tests against third-party code: its verifiers with our deliveries, and its payloads and signatures with
//! our ingest.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use futures::stream::{self, StreamExt as _};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::Sha256;
use tests::{Events, Method, peers_node, tools_python};

#[tokio::test]
async fn third_party_verifiers_accept_our_deliveries_and_nothing_else() {
    let events = Events::start().await;
    let mut body = events.webhook_body("/signed");
    body["target"]["signing_mode"] = json!("signed");
    let subscription = events.subscribe(&body).await;
    let channel = events.plain_channel().await;
    events
        .event(&channel, &json!({ "text": "Grüße, 世界 — \u{1f600}" }))
        .await;
    let received = events.received("/signed", 1).await;
    let input = json!({ "secret": subscription["signing_secret"], "headers": received[0].headers, "body": received[0].body });
    let mut verifier = Command::new(tools_python())
        .arg("peers/webhooks/verify.py")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    verifier
        .stdin
        .take()
        .unwrap()
        .write_all(input.to_string().as_bytes())
        .unwrap();
    let output = verifier.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    insta::assert_json_snapshot!(report, @r#"{
  "standard": true,
  "standard, another byte": false,
  "standard, another id": false,
  "standard, another time": false,
  "standard, too old": false,
  "stripe": true,
  "stripe, another byte": false,
  "stripe, another id": false,
  "stripe, another secret": false,
  "stripe, another time": false,
  "stripe, too old": false
}"#);
}

/// Event of GitHub in the npm package `@octokit/webhooks-examples`, with payloads.
#[derive(Deserialize)]
struct Kind {
    name: String,
    examples: Vec<Box<RawValue>>,
}

struct Example {
    event: String,
    payload: Box<RawValue>,
}

fn examples() -> Vec<Example> {
    let file = peers_node().join("@octokit/webhooks-examples/api.github.com/index.json");
    let kinds: Vec<Kind> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let of_kind = |kind: Kind| {
        let event = kind.name;
        let examples = kind.examples.into_iter();
        examples.map(move |payload| Example {
            event: event.clone(),
            payload,
        })
    };
    kinds.into_iter().flat_map(of_kind).collect()
}

#[tokio::test]
async fn the_payloads_of_github_arrive_as_they_were_sent() {
    let events = Events::start().await;
    let examples = examples();
    assert_eq!(examples.len(), 329);

    events.webhook("/github").await;
    let channel = events
        .channel(&json!({
            "name": "GitHub", "source": "github", "default_action": "none", "default_resource_type": "repository",
            "transform": { "resource_id_path": "repository.full_name", "static_details": { "host": "github.com" } },
            "signature": { "header": "x-hub-signature-256", "prefix": "sha256=" },
        }))
        .await;
    let posts = examples.iter().map(|example| {
        let body = example.payload.get().as_bytes().to_vec();
        let mut mac = Hmac::<Sha256>::new_from_slice(channel.secret().as_bytes()).unwrap();
        mac.update(&body);
        let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
        let request = events
            .request(Method::POST, &channel.url)
            .header("x-hub-signature-256", &signature);
        // In the form that GitHub sends.
        let request = request
            .header("content-type", "application/json")
            .header("x-github-event", &example.event);
        async {
            request.body(body).await.expect_status(202).body["event_id"]
                .as_str()
                .unwrap()
                .to_owned()
        }
    });
    let posts: Vec<_> = posts.collect();
    let ids: Vec<String> = stream::iter(posts).buffered(16).collect().await;
    let received = events.received("/github", ids.len()).await;
    for (id, example) in ids.iter().zip(&examples) {
        let one = received
            .iter()
            .find(|received| received.header("x-service-event-id") == id)
            .unwrap();
        let payload = format!(
            r#""payload":{}}},"meters":[]}},"delivery""#,
            example.payload.get()
        );
        assert!(
            one.body.contains(&payload),
            "{} is not as it was sent: {}",
            example.event,
            one.body
        );
        let (event, payload) = (
            &one.json()["event"],
            serde_json::from_str::<Value>(example.payload.get()).unwrap(),
        );
        let action = payload["action"].as_str().unwrap_or("none");
        assert_eq!(
            (&event["action"], &event["details"]["host"]),
            (&json!(action), &json!("github.com"))
        );
        let repository = payload["repository"]["full_name"].as_str().unwrap_or(id);
        assert_eq!(event["resource_id"], repository, "{}", example.event);
    }
    assert_eq!(received.len(), ids.len(), "something came twice");
}

/// Requests of senders: preset, secret, body, and the action of the event.
const REQUESTS: [(&str, &str, &str, &str); 5] = [
    (
        "github",
        "a secret of our own",
        r#"{"action":"opened","issue":{"id":7}}"#,
        "opened",
    ),
    (
        "stripe",
        "whsec_0123456789abcdef",
        r#"{"id":"evt_live","object":"event","type":"invoice.paid","data":{"object":{"id":"in_1","object":"invoice"}}}"#,
        "invoice.paid",
    ),
    (
        "twilio",
        "0123456789abcdef0123456789abcdef",
        "MessageSid=SM1&MessageStatus=delivered&Body=hi+there",
        "delivered",
    ),
    (
        "svix",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        r#"{"type":"invoice.paid","data":{"id":"in_2"}}"#,
        "invoice.paid",
    ),
    (
        "standard_webhooks",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        r#"{"type":"contact.created","data":{"id":"c_1"}}"#,
        "contact.created",
    ),
];

#[tokio::test]
async fn requests_that_the_libraries_of_senders_sign_are_events_once_and_others_none() {
    let events = Events::start().await;
    let mut channels = Vec::new();
    let mut unsigned = Vec::new();
    for (preset, secret, body, _) in REQUESTS {
        let channel = json!({ "name": preset, "source": preset, "preset": preset, "signing_secret": secret });
        let channel = events.channel(&channel).await;
        unsigned.push(json!({ "preset": preset, "secret": secret, "url": channel.url, "body": body }));
        channels.push(channel);
    }
    let mut signer = Command::new("node")
        .arg("peers/webhooks/sign.mjs")
        .arg(peers_node())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let input = Value::from(unsigned).to_string();
    signer.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = signer.wait_with_output().unwrap();
    assert!(output.status.success());
    let signed: Vec<BTreeMap<String, String>> = serde_json::from_slice(&output.stdout).unwrap();

    for (((preset, _, body, action), channel), headers) in REQUESTS.iter().zip(&channels).zip(&signed) {
        let send = async |body: &str| {
            let mut request = events.request(Method::POST, &channel.url);
            for (name, value) in headers {
                request = request.header(name, value);
            }
            request.body(body.as_bytes().to_vec()).await
        };
        let event = send(body).await.expect_status(202).body["event_id"].clone();
        let again = send(body).await.expect_status(202).body["event_id"].clone();
        assert_eq!(event, again, "{preset} repeats an event");
        send(&body.replacen("i", "j", 1)).await.expect_status(401);
        let path = format!("/events/{}", event.as_str().unwrap());
        let detail = events.get(&events.token, &path).await.expect_status(200);
        assert_eq!(detail.body["event"]["action"], *action, "{preset}");
    }
}
