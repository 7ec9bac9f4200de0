//! Tests the shards of a project: the operator's command, and listings before and after a change.

use serde_json::json;
use tests::{Events, faults};

#[tokio::test]
async fn listings_show_what_was_created_before_and_after_a_change_locally() {
    let mut events = Events::start_local().await;
    events.webhook("/orders").await;
    let mut ids = Vec::new();
    for turn in 0..2 {
        if turn == 1 {
            let changed = events.scope.ops_json(&["project", "shards", "4"]);
            for listings in ["runs", "events"] {
                assert_eq!(changed[listings][0]["shards"], 4, "{changed}");
            }
            // The change takes effect two minutes later.
            let ahead = faults::ahead_by(1);
            let variables = ahead
                .each_ref()
                .map(|(name, value)| (name.as_str(), value.as_str()));
            events.service.restart_with(&variables);
        }
        let channel = events.plain_channel().await;
        for number in 0..12 {
            let id = events.event(&channel, &json!({ "number": number })).await;
            events.delivery_of(&id, &["succeeded"]).await;
            ids.push(id);
        }
    }
    ids.reverse();
    let mut run_ids = Vec::new();
    let mut search = json!({ "limit": 5 });
    loop {
        let page = events
            .post(&events.token, "/events/deliveries/search", &search)
            .await;
        let page = page.expect_status(200).body;
        let deliveries = page["deliveries"].as_array().unwrap();
        run_ids.extend(
            deliveries
                .iter()
                .map(|delivery| delivery["event_id"].as_str().unwrap().to_owned()),
        );
        if page["next_cursor"].is_null() {
            break;
        }
        search["cursor"] = page["next_cursor"].clone();
    }
    assert_eq!(run_ids, ids);
    events.scope.check().await;
}

#[tokio::test]
async fn the_command_says_what_it_changed_and_refuses_what_it_cannot_locally() {
    let events = Events::start_local().await;
    let scope = &events.scope;
    let shards = |number: &[&str]| scope.ops(&[&["project", "shards"], number].concat());
    let before = shards(&[]).expect_success().stdout;
    assert_eq!(before, "runs: 1 shard\ndeliveries and events: 1 shard\n");
    for number in ["0", "65"] {
        let refused = shards(&[number]);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert_eq!(
            refused.stderr,
            format!("millrace ops: A project has from 1 to 64 shards; {number} is not among them.\n")
        );
    }
    assert_eq!(shards(&["-1"]).code, Some(2));
    assert_eq!(shards(&["70000"]).code, Some(2));
    let changed = shards(&["8"]).expect_success().stdout;
    let lines: Vec<_> = changed.lines().collect();
    assert!(
        lines[0].starts_with("runs: 1 shard, 8 shards from 2"),
        "{changed}"
    );
    assert!(
        lines[1].starts_with("deliveries and events: 1 shard, 8 shards from 2"),
        "{changed}"
    );
    // Repeating the command changes nothing.
    assert_eq!(shards(&["8"]).expect_success().stdout, changed);
    assert_eq!(shards(&[]).expect_success().stdout, changed);
    let other = scope.other_project();
    let other = scope.ops(&["project", "shards", "--project", &other]);
    assert!(!other.stdout.contains('8'), "{other:?}");
}
