//! Tests the update messages of workflow runs: published, listed, and followed.

use futures::future::join_all;
use serde_json::{Value, json};
use tests::nginx::Nginx;
use tests::{Listener, Method, Request, Run, Runs};

/// Opens a run's stream.
fn stream(runs: &Runs, run: &Run, query: &str) -> Request {
    runs.get(run, &format!("/stream{query}"))
}

/// Opens a run's stream after the event with which another stream ended.
async fn resumed(runs: &Runs, run: &Run, last: &str) -> Listener {
    stream(runs, run, "").header("last-event-id", last).listen().await
}

async fn say(runs: &Runs, run: &Run, message: &str) {
    let posted = runs.update(run, &json!({ "message": message })).await;
    assert_eq!(posted.expect_status(200).body, json!({ "success": true }));
}

fn messages(updates: &[Value]) -> Vec<&str> {
    let message = |update: &'_ Value| update["message"].as_str().is_some();
    assert!(updates.iter().all(message), "{updates:?}");
    updates
        .iter()
        .filter_map(|update| update["message"].as_str())
        .collect()
}

/// Starts a run that waits and publishes nothing itself.
async fn waiting(runs: &Runs) -> Run {
    let run = runs.begin("Steps", &json!({ "steps": 1, "pause_ms": 600_000 }));
    runs.wait_for_attempt(&run).await;
    run
}

#[tokio::test]
async fn an_update_has_defaults_and_carries_any_json() {
    let runs = Runs::start().await;
    let run = waiting(&runs).await;
    // An empty parameter counts as left out, and a whole number is an integer.
    for query in ["", "?since=", "?since", "?&since=&", "?since=1.0"] {
        assert_eq!(runs.updates(&run, query).await, Vec::<Value>::new(), "{query}");
    }
    let path = format!("/workflows/runs/{}/updates", run.run_id);
    let nothing = runs.service.request(Method::POST, &path).token(&runs.token);
    nothing.await.expect_status(200);
    runs.update(&run, &json!({ "type": "PROGRESS" }))
        .await
        .expect_status(200);
    let details = [
        json!({ "done": 3, "of": 10.5, "nested": [{ "a": null }] }),
        json!([]),
        json!("text \u{2028} and\nlines"),
        json!(0),
        json!(false),
        Value::Null,
        json!("x".repeat(200_000)),
    ];
    for details in &details {
        let body = json!({ "message": "m", "details": details, "workstream_id": "w" });
        runs.update(&run, &body).await.expect_status(200);
    }
    let updates = runs.updates(&run, "").await;
    let pair = |update: &Value| (update["type"].clone(), update["message"].clone());
    assert_eq!(pair(&updates[0]), (json!("UPDATE"), json!("UPDATE")));
    assert_eq!(pair(&updates[1]), (json!("PROGRESS"), json!("PROGRESS")));
    assert!(updates[0].get("details").is_none() && updates[0].get("workstream_id").is_none());
    assert_eq!(updates.len(), 2 + details.len());
    for (update, details) in updates[2..].iter().zip(&details) {
        assert_eq!(update.get("details").unwrap_or(&Value::Null), details);
        assert_eq!(update["workstream_id"], "w");
    }
    for update in &updates {
        assert_eq!(update["workflow_run_id"], run.run_id);
        assert!(update["timestamp"].as_u64() > Some(1_600_000_000_000));
    }
}

#[tokio::test]
async fn invalid_update_is_refused() {
    let runs = Runs::start().await;
    let run = waiting(&runs).await;
    for body in [
        json!({ "type": 7 }),
        json!({ "type": "" }),
        json!({ "message": {} }),
        json!({ "workstream_id": 1 }),
        json!({ "message": "x".repeat(10_001) }),
        json!({ "message": "x".repeat(200_000) }),
        json!([]),
    ] {
        let refused = runs.update(&run, &body).await;
        refused.expect_error(400, "invalid_request");
    }
    let large = json!({ "details": "x".repeat(1_048_576) });
    runs.update(&run, &large)
        .await
        .expect_error(413, "payload_too_large");
    let unknown = runs.update(&Run::missing(), &json!({})).await;
    unknown.expect_error(404, "not_found");
    for since in ["a", "1.5"] {
        let refused = runs.get(&run, &format!("/updates?since={since}")).await;
        refused.expect_error(400, "invalid_request");
    }
    assert_eq!(runs.updates(&run, "").await, Vec::<Value>::new());
}

#[tokio::test]
async fn updates_since_a_time_are_those_after_it_and_every_one_has_a_time_of_its_own() {
    let runs = Runs::start().await;
    let run = waiting(&runs).await;
    let words: Vec<_> = (0..20).map(|n| format!("m{n}")).collect();
    join_all(words.iter().map(|word| say(&runs, &run, word))).await;
    let updates = runs.updates(&run, "").await;
    assert_eq!(updates.len(), 20);
    let times: Vec<_> = updates
        .iter()
        .map(|update| update["timestamp"].as_i64().unwrap())
        .collect();
    assert!(times.is_sorted_by(|one, next| one < next), "{times:?}");
    for (place, time) in times.iter().enumerate() {
        let rest = runs.updates(&run, &format!("?since={time}")).await;
        assert_eq!(rest, updates[place + 1..], "since {time}");
    }
    for since in ["0", "-1"] {
        assert_eq!(runs.updates(&run, &format!("?since={since}")).await, updates);
    }
}

#[tokio::test]
async fn the_newest_thousand_updates_are_kept_in_their_order() {
    let runs = Runs::start().await;
    let run = waiting(&runs).await;
    for n in 0..1_100 {
        say(&runs, &run, &n.to_string()).await;
    }
    let updates = runs.updates(&run, "").await;
    let expected: Vec<_> = (100..1_100).map(|n| n.to_string()).collect();
    assert_eq!(messages(&updates), expected);
    let since = format!("?since={}", updates[989]["timestamp"]);
    assert_eq!(runs.updates(&run, &since).await, updates[990..]);
    if !runs.service.has("/stream") {
        return;
    }
    let mut listener = stream(&runs, &run, "?since=0").listen().await;
    for message in &expected {
        assert_eq!(listener.message().await, *message);
    }
}

#[tokio::test]
async fn large_updates_are_all_listed() {
    let runs = Runs::start().await;
    let run = waiting(&runs).await;
    for n in 0..20 {
        let body = json!({ "message": n.to_string(), "details": "x".repeat(100_000) });
        runs.update(&run, &body).await.expect_status(200);
    }
    let updates = runs.updates(&run, "").await;
    let expected: Vec<_> = (0..20).map(|n| n.to_string()).collect();
    assert_eq!(messages(&updates), expected);
}

#[tokio::test]
async fn updates_beyond_one_answer_come_with_the_next() {
    let runs = Runs::start().await;
    let run = waiting(&runs).await;
    let expected: Vec<_> = (0..40).map(|n| n.to_string()).collect();
    for message in &expected {
        let body = json!({ "message": message, "details": "x".repeat(200_000) });
        runs.update(&run, &body).await.expect_status(200);
    }
    let (mut all, mut answers, mut since) = (Vec::new(), 0, json!(0));
    loop {
        let page = runs.get(&run, &format!("/updates?since={since}")).await;
        let page = page.expect_status(200).body;
        all.extend_from_slice(page["messages"].as_array().unwrap());
        answers += 1;
        if page["has_more"] == false {
            break;
        }
        since = all.last().unwrap()["timestamp"].clone();
    }
    assert_eq!(messages(&all), expected);
    assert!(answers > 1, "all in one answer");
}

#[tokio::test]
async fn a_stream_opens_at_once_and_sends_later_updates() {
    let runs = Runs::start().await;
    let run = waiting(&runs).await;
    say(&runs, &run, "before").await;
    let mut listener = stream(&runs, &run, "").listen().await;
    assert_eq!(listener.header("content-type"), "text/event-stream");
    assert_eq!(listener.header("cache-control"), "no-cache");
    assert_eq!(listener.header("x-accel-buffering"), "no");
    let opening = listener.frame().await.unwrap();
    assert_eq!(opening.comments.len(), 1, "{opening:?}");
    assert!(opening.retry.is_some() && opening.id.is_none(), "{opening:?}");
    let body = json!({ "type": "PROGRESS", "message": "half\nway", "details": { "percent": 50 } });
    runs.update(&run, &body).await.expect_status(200);
    let event = listener.event().await.unwrap();
    assert_eq!(event.event, None, "the type is the default");
    assert_eq!(event.id.as_deref(), Some("2"));
    let updates = runs.updates(&run, "").await;
    assert_eq!(event.data, updates[1]);
}

#[tokio::test]
async fn stream_sends_each_update_at_once_behind_nginx_locally() {
    let runs = Runs::start_local().await;
    let (address, folder) = (runs.service.address().to_owned(), runs.service.folder());
    let nginx = Nginx::before(&address, folder);
    let run = waiting(&runs).await;
    let direct = format!("{}{}", runs.service.base_url(), run.path("/stream"));
    let url = direct.replace(&address, nginx.address());
    let request = runs.service.request(Method::GET, &url).token(&runs.token);
    let mut listener = request.listen().await;
    assert!(listener.header("server").starts_with("nginx"));
    assert_eq!(listener.frame().await.unwrap().comments.len(), 1);
    for message in ["first", "second"] {
        say(&runs, &run, message).await;
        assert_eq!(listener.message().await, message);
    }
}

#[tokio::test]
async fn a_stream_resumes_after_an_event_or_a_time_without_gap_and_repeat_locally() {
    let mut runs = Runs::start_local().await;
    let run = waiting(&runs).await;
    for n in 1..=4 {
        say(&runs, &run, &format!("m{n}")).await;
    }
    let mut first = stream(&runs, &run, "?since=0").listen().await;
    let mut last = String::new();
    for n in 1..=2 {
        let event = first.event().await.unwrap();
        assert_eq!(event.data["message"], format!("m{n}"));
        last = event.id.unwrap();
    }
    drop(first);
    say(&runs, &run, "m5").await;
    let mut second = resumed(&runs, &run, &last).await;
    say(&runs, &run, "m6").await;
    for n in 3..=6 {
        let event = second.event().await.unwrap();
        assert_eq!(event.data["message"], format!("m{n}"));
        last = event.id.unwrap();
    }
    runs.service.restart();
    say(&runs, &run, "m7").await;
    let mut third = resumed(&runs, &run, &last).await;
    assert_eq!(third.message().await, "m7");
    let updates = runs.updates(&run, "").await;
    let since = format!("?since={}", updates[4]["timestamp"]);
    let mut fourth = stream(&runs, &run, &since).listen().await;
    assert_eq!(fourth.message().await, "m6");
    assert_eq!(fourth.message().await, "m7");
}

#[tokio::test]
async fn the_stream_of_a_run_that_ends_says_so_and_ends() {
    let runs = Runs::start().await;
    for (end, kind, status) in [
        ("cancel", "complete", "CANCELED"),
        ("terminate", "terminated", "TERMINATED"),
        ("approve", "complete", "COMPLETED"),
    ] {
        let run = runs.approval("Invoice").await;
        let mut live = stream(&runs, &run, "").listen().await;
        match end {
            "approve" => runs.signal(&run, "Approve", &json!({ "message": "yes" })).await,
            action => runs.act(&run, action).await,
        }
        if end == "cancel" {
            assert_eq!(live.message().await, "put in order");
        }
        let late = stream(&runs, &run, "").listen().await;
        for mut listener in [live, late] {
            let mut last = listener.event().await.unwrap();
            // The second stream may have been opened before the run ended.
            if last.data["message"] == "put in order" {
                last = listener.event().await.unwrap();
            }
            assert_eq!(
                last.event, None,
                "an `onmessage` hears only frames without a name"
            );
            assert_eq!(last.data["type"], kind);
            assert_eq!(last.data["workflow_run_id"], run.run_id);
            assert_eq!(last.data["details"]["status"], status);
            assert!(last.data["timestamp"].is_u64() && last.data["message"].is_string());
            assert_eq!(listener.frame().await, None);
            // A 204 stops an `EventSource`.
            let id = last.id.unwrap();
            let again = stream(&runs, &run, "").header("last-event-id", &id).await;
            assert_eq!(again.expect_status(204).text(), "");
            let since = format!("?since={}", last.data["timestamp"]);
            stream(&runs, &run, &since).await.expect_status(204);
        }
    }
}

#[tokio::test]
async fn a_follower_of_all_messages_still_receives_the_end() {
    let runs = Runs::start().await;
    let run = runs.begin("Steps", &json!({ "steps": 0 }));
    runs.wait_for_status(&run, "COMPLETED").await;
    say(&runs, &run, "afterwards").await;
    let mut all = stream(&runs, &run, "?since=0").listen().await;
    let message = all.event().await.unwrap();
    let since = format!("?since={}", message.data["timestamp"]);
    let by_time = stream(&runs, &run, &since).listen().await;
    let by_id = resumed(&runs, &run, &message.id.unwrap()).await;
    for mut listener in [all, by_time, by_id] {
        assert_eq!(listener.event().await.unwrap().data["type"], "complete");
        assert_eq!(listener.frame().await, None);
    }
}

#[tokio::test]
async fn an_update_of_a_run_that_has_ended_is_taken_and_told_before_the_end() {
    let runs = Runs::start().await;
    let run = runs.begin("Steps", &json!({ "steps": 0 }));
    runs.wait_for_status(&run, "COMPLETED").await;
    say(&runs, &run, "afterwards").await;
    assert_eq!(messages(&runs.updates(&run, "").await), ["afterwards"]);
    if !runs.service.has("/stream") {
        return;
    }
    let mut listener = stream(&runs, &run, "?since=0").listen().await;
    assert_eq!(listener.message().await, "afterwards");
    assert_eq!(listener.event().await.unwrap().data["type"], "complete");
    assert_eq!(listener.frame().await, None);
}

#[tokio::test]
async fn a_stream_takes_its_token_also_from_the_query_and_no_other_endpoint_does() {
    let runs = Runs::start().await;
    let run = runs.approval("Invoice").await;
    let bare = |rest: String| runs.service.request(Method::GET, &run.path(&rest));
    let query = format!("?access_token={}", runs.token);
    let mut listener = bare(format!("/stream{query}&since=0")).listen().await;
    assert_eq!(listener.message().await, "waiting for an approval");
    for rest in ["", "/updates", "/query/__state"] {
        let refused = bare(format!("{rest}{query}")).await;
        refused.expect_error(401, "unauthenticated");
    }
    for rest in ["/stream", "/stream?access_token=", "/stream?access_token=garbage"] {
        let refused = bare(rest.to_owned()).await;
        refused.expect_error(401, "unauthenticated");
    }
    assert!(!runs.service.log().contains(&runs.token), "the log has the token");
}

#[tokio::test]
async fn a_stream_that_begins_nowhere_is_refused() {
    let runs = Runs::start().await;
    let run = runs.approval("Invoice").await;
    for id in ["abc", "-1", "1.5", "", "18446744073709551616"] {
        let refused = stream(&runs, &run, "").header("last-event-id", id).await;
        let refused = refused.expect_error(400, "invalid_request");
        assert!(refused.message().contains("Last-Event-ID"), "{}", refused.text());
    }
    let refused = stream(&runs, &run, "?since=yesterday").await;
    refused.expect_error(400, "invalid_request");
}

#[tokio::test]
async fn two_hundred_streams_all_tell_an_update() {
    let runs = Runs::start().await;
    let run = waiting(&runs).await;
    let listeners = join_all((0..200).map(|_| stream(&runs, &run, "").listen())).await;
    say(&runs, &run, "to all").await;
    let heard = listeners
        .into_iter()
        .map(|mut listener| async move { listener.message().await });
    let heard = join_all(heard).await;
    assert_eq!(heard, vec!["to all"; 200]);
    // The closed streams do not block a later one.
    let mut one = stream(&runs, &run, "").listen().await;
    say(&runs, &run, "to one").await;
    assert_eq!(one.message().await, "to one");
}
