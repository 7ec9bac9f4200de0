//! Tests a full disk: what callers get, what stays, and that the service continues once there is room.
//!
//! The full disk is a limit on the size of the runner's files, which the test sets and lifts from outside. A
//! write beyond the limit fails as on a full disk.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use tests::samples::prompt;
use tests::{Answer, Method, Persona, Service, unique};

/// The limit's signal would end a process that does not ignore it.
const IGNORING: [&str; 4] = ["sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh"];
/// Bytes that still fit beyond the existing ones.
const ROOM: u64 = 60_000;
/// Requests after which the disk must be full.
const MOST: usize = 200;

/// Sets the limit.
fn limit(service: &mut Service, bytes: &str) {
    let process = service.process().id().to_string();
    let set = Command::new("prlimit")
        .args(["--pid", &process, &format!("--fsize={bytes}:unlimited")])
        .status();
    assert!(
        set.expect("there is `prlimit`").success(),
        "the limit cannot be set"
    );
}

/// Asserts the refusal of a write that may be repeated.
fn check_refused(answer: &Answer) {
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert_eq!(answer.body["error"], "unavailable");
    let message = answer.body["message"].as_str().unwrap();
    assert!(message.contains("repeat the request"), "{message}");
}

#[tokio::test]
async fn a_full_disk_refuses_writes_loses_nothing_and_is_over_when_there_is_room_locally() {
    let mut service = Service::start_local().await;
    let scope = service.scope();
    let token = scope.token(Persona::Developer);
    let channel = json!({ "name": "Channel", "source": "tests" });
    let channel = service
        .post(&token, "/events/channels", &channel)
        .await
        .expect_status(201)
        .body;
    // Restart, so that the WAL starts small.
    service.restart_by(&IGNORING);
    let mut prompts = vec![
        service
            .post(&token, "/prompts", &prompt("Before"))
            .await
            .expect_status(201),
    ];
    let wal = service.data_dir().join("records.sqlite-wal");
    let bytes = fs::metadata(&wal).unwrap().len();
    limit(&mut service, &(bytes + ROOM).to_string());
    let id = channel["id"].as_str().unwrap();
    let url = format!(
        "{}/webhooks/events/{}/{}/{id}",
        service.ingest_url(),
        scope.account,
        scope.project
    );
    let ingest_token = channel["ingest_token"].as_str().unwrap();
    // Event details of this size are stored as an object.
    let large = json!({ "text": "a".repeat(usize::try_from(bytes + ROOM).unwrap().clamp(150_000, 240_000)) });
    let event = || {
        service
            .request(Method::POST, &url)
            .token(ingest_token)
            .json(&large)
    };
    check_refused(&event().await);

    let mut refused = 0;
    for _ in 0..MOST {
        let answer = service.post(&token, "/prompts", &prompt(&unique("more"))).await;
        match answer.status {
            201 => prompts.push(answer),
            _ => {
                check_refused(&answer);
                refused += 1;
            }
        }
        if refused == 10 {
            break;
        }
    }
    assert_eq!(refused, 10, "the disk is never full");
    let first_path = format!("/prompts/{}", prompts[0].id());
    service.get(&token, &first_path).await.expect_status(200);
    assert!(
        service.log().contains("nothing of it was written"),
        "{}",
        service.log()
    );

    limit(&mut service, "unlimited");
    let event = service
        .request(Method::POST, &url)
        .token(ingest_token)
        .json(&large);
    event.await.expect_status(202);
    prompts.push(
        service
            .post(&token, "/prompts", &prompt("After"))
            .await
            .expect_status(201),
    );
    let drafts = service.data_dir().join("objects/.drafts");
    assert_eq!(
        fs::read_dir(drafts).unwrap().count(),
        0,
        "a part of an object is left"
    );
    for restarted in [false, true] {
        if restarted {
            service.restart();
        }
        let list: Value = service.get(&token, "/prompts").await.expect_status(200).body;
        assert_eq!(list.as_array().unwrap().len(), prompts.len());
        for one in &prompts {
            let path = format!("/prompts/{}", one.id());
            let answer = service.get(&token, &path).await.expect_status(200);
            assert_eq!(answer.body, one.body);
        }
        assert_eq!(service.operator().json(&["check"])["findings"], json!([]));
    }
}
