//! Tests versions of a dashboard: updates, snapshots, promotion, the switch, preconditions.

use serde_json::{Value, json};
use tests::dashboards::dashboard as dashboard_body;
use tests::{Dashboard, redacted};

/// Returns the number of the current version from the list, and asserts that exactly one is current.
async fn current(dashboard: &Dashboard) -> Value {
    let versions = dashboard.versions().await.body;
    let list = versions.as_array().unwrap();
    let mut current = list.iter().filter(|version| version["is_current"] == true);
    let number = current.next().unwrap()["version_number"].clone();
    assert!(current.next().is_none(), "{versions}");
    number
}

#[tokio::test]
async fn every_update_is_a_version() {
    let dashboard = Dashboard::start().await;
    dashboard.describe("second").await;
    let change = json!({ "name": "Renamed", "queryLimit": 7, "message": "For the board" });
    let third = dashboard.put(&change).await.expect_status(200);
    assert_eq!(third.body["version"], 3);
    let versions = dashboard.versions().await;
    assert_eq!(versions.each("version_number"), [3, 2, 1]);
    assert_eq!(versions.each("is_current"), [true, false, false]);
    assert_eq!(
        versions.each("message"),
        ["For the board", "Updated description", "Created the dashboard"]
    );
    assert!(
        versions
            .each("dashboard_id")
            .iter()
            .all(|id| *id == dashboard.id.as_str())
    );
    insta::assert_json_snapshot!(redacted(&versions.body[0]), @r#"
    {
      "created_at": "<time>",
      "created_by": "user:developer",
      "dashboard_id": "<id>",
      "id": "<id>",
      "is_current": true,
      "is_snapshot": false,
      "message": "For the board",
      "version_number": 3
    }
    "#);
    let part = dashboard.path("/versions?limit=1&offset=1");
    let part = dashboard.store.service.get(&dashboard.store.token, &part).await;
    assert_eq!(part.expect_status(200).each("version_number"), [2]);
    for bad in ["?limit=0", "?limit=1001", "?offset=x"] {
        let path = dashboard.path(&format!("/versions{bad}"));
        let refused = dashboard.store.service.get(&dashboard.store.token, &path).await;
        refused.expect_error(400, "invalid_request");
    }
    let past = dashboard.path("/versions?offset=3");
    let past = dashboard.store.service.get(&dashboard.store.token, &past).await;
    assert_eq!(past.expect_status(200).body, json!([]));
}

#[tokio::test]
async fn a_promoted_version_is_the_dashboard() {
    let dashboard = Dashboard::start().await;
    let first = dashboard.read().await.body;
    let change = json!({
        "name": "Costs", "description": "d", "query": "SELECT 5 AS c", "queryLimit": 9, "tags": ["t"],
        "queryParameters": { "p": 1 },
        "spec": { "mark": "line", "encoding": { "y": { "field": "c", "type": "quantitative" } } }
    });
    let second = dashboard.put(&change).await.expect_status(200).body;
    let id = dashboard.version(1).await;
    let promoted = dashboard.promote(&id).await.expect_status(200);
    let mut expected = first.clone();
    expected["updated_at"] = promoted.body["updated_at"].clone();
    assert_eq!(promoted.body, expected);
    assert_eq!(dashboard.read().await.body, promoted.body);
    assert_eq!(current(&dashboard).await, 1);
    // Repeating the promotion changes nothing.
    let again = dashboard.promote(&id).await.expect_status(200);
    assert_eq!(
        (&again.body, again.header("etag")),
        (&promoted.body, promoted.header("etag"))
    );

    // Version numbers are never reused, and no version was changed.
    assert_eq!(dashboard.describe("third").await.body["version"], 3);
    let back = dashboard
        .promote(&dashboard.version(2).await)
        .await
        .expect_status(200);
    assert_eq!(
        (&back.body["spec"], &back.body["name"]),
        (&second["spec"], &second["name"])
    );
    assert_eq!(dashboard.versions().await.each("version_number"), [3, 2, 1]);

    // The name of a promoted version may belong to another dashboard by now.
    dashboard
        .store
        .post("/dashboards", &dashboard_body("sales"))
        .await
        .expect_status(201);
    dashboard.promote(&id).await.expect_error(409, "conflict");
    assert_eq!(current(&dashboard).await, 2);

    for missing in ["nothing", &dashboard.id, "1"] {
        let refused = dashboard.promote(missing).await.expect_error(404, "not_found");
        assert!(refused.message().contains("version"), "{}", refused.message());
    }
}

#[tokio::test]
async fn a_snapshot_is_kept_beside_the_current_version() {
    let dashboard = Dashboard::start().await;
    let before = dashboard.read().await;
    let snapshot = dashboard
        .snapshot(&json!({ "name": "Release 1", "message": "m" }))
        .await
        .expect_status(201);
    let location = snapshot.header("location").to_owned();
    assert!(location.ends_with(&dashboard.path("/versions")), "{location}");
    let version = &snapshot.body;
    assert_eq!(version["name"], "Release 1");
    assert_eq!(
        (&version["message"], &version["version_number"]),
        (&json!("m"), &json!(2))
    );
    assert_eq!(
        (&version["is_snapshot"], &version["is_current"]),
        (&json!(true), &json!(false))
    );
    let after = dashboard.read().await;
    assert_eq!(
        (&after.body, after.header("etag")),
        (&before.body, before.header("etag"))
    );
    assert_eq!(dashboard.versions().await.body[0], *version);

    dashboard.describe("changed").await;
    let promoted = dashboard.promote(&snapshot.id()).await.expect_status(200);
    assert!(promoted.body.get("description").is_none(), "{}", promoted.body);
    assert_eq!(promoted.body["version"], 2);

    let answer = dashboard.snapshot(&json!({ "name": "RELEASE 1" })).await;
    answer.expect_error(409, "conflict");
    for bad in [
        json!({}),
        json!({ "name": "" }),
        json!({ "name": 7 }),
        json!({ "name": "x", "message": "x".repeat(2_001) }),
    ] {
        dashboard
            .snapshot(&bad)
            .await
            .expect_error(400, "invalid_request");
    }
    let unnamed = dashboard
        .snapshot(&json!({ "name": "Two" }))
        .await
        .expect_status(201);
    assert_eq!(
        (&unnamed.body["message"], &unnamed.body["version_number"]),
        (&json!("Snapshot Two"), &json!(4))
    );
    assert_eq!(dashboard.versions().await.each("version_number"), [4, 3, 2, 1]);
}

#[tokio::test]
async fn without_versioning_an_update_changes_the_current_version() {
    let dashboard = Dashboard::start().await;
    let off = dashboard.switch(false).await;
    assert_eq!(
        off.body,
        json!({ "id": dashboard.id, "enabled": false, "version": 1 })
    );
    assert_eq!(dashboard.read().await.body["versioning_enabled"], false);
    let changed = dashboard.describe("in place").await;
    assert_eq!(
        (&changed.body["version"], &changed.body["description"]),
        (&json!(1), &json!("in place"))
    );
    assert_eq!(dashboard.versions().await.each("version_number"), [1]);

    // A snapshot never changes, whether it is current or not.
    let snapshot = dashboard
        .snapshot(&json!({ "name": "s" }))
        .await
        .expect_status(201)
        .id();
    dashboard.describe("still in place").await;
    assert_eq!(dashboard.read().await.body["version"], 1);
    dashboard.promote(&snapshot).await.expect_status(200);
    assert_eq!(dashboard.describe("after the snapshot").await.body["version"], 3);
    assert_eq!(dashboard.describe("in place again").await.body["version"], 3);
    let answer = dashboard.promote(&snapshot).await.expect_status(200);
    assert_eq!(answer.body["description"], "in place");
    let first = dashboard.promote(&dashboard.version(1).await).await;
    assert_eq!(first.body["description"], "still in place");

    // Switching versioning on makes a version of the current content, which the next update does not change.
    let on = dashboard.switch(true).await;
    assert_eq!(
        on.body,
        json!({ "id": dashboard.id, "enabled": true, "version": 4 })
    );
    assert_eq!(dashboard.switch(true).await.body, on.body);
    assert_eq!(dashboard.describe("fifth").await.body["version"], 5);
    let fourth = dashboard.promote(&dashboard.version(4).await).await;
    assert_eq!(fourth.body["description"], "still in place");
    assert_eq!(dashboard.versions().await.each("version_number"), [5, 4, 3, 2, 1]);
    for bad in [
        json!({}),
        json!({ "enabled": "yes" }),
        json!({ "enabled": null }),
        json!([true]),
    ] {
        let request =
            dashboard
                .store
                .service
                .put(&dashboard.store.token, &dashboard.path("/versioning"), &bad);
        request.await.expect_error(400, "invalid_request");
    }
}

#[tokio::test]
async fn if_match_refuses_a_stale_writer() {
    let dashboard = Dashboard::start().await;
    let first = dashboard.read().await.header("etag").to_owned();
    assert!(first.starts_with('"') && first.len() > 2, "{first}");
    let put = |tag: &str| dashboard.put(&json!({ "tags": ["t"] })).header("if-match", tag);
    let second = put(&first).await.expect_status(200).header("etag").to_owned();
    assert_ne!(first, second);
    put(&first).await.expect_error(412, "conflict");
    // A change in place, the switch and a promotion all change the ETag.
    dashboard.switch(false).await;
    put(&second).await.expect_error(412, "conflict");
    let third = put("*").await.expect_status(200).header("etag").to_owned();
    let fourth = put(&format!("{first}, {third}"))
        .await
        .expect_status(200)
        .header("etag")
        .to_owned();
    assert_ne!(third, fourth);
    dashboard
        .promote(&dashboard.version(1).await)
        .await
        .expect_status(200);
    let delete = |tag: &str| {
        let request = dashboard
            .store
            .service
            .delete(&dashboard.store.token, &dashboard.path(""));
        request.header("if-match", tag)
    };
    delete(&fourth).await.expect_error(412, "conflict");
    let current = dashboard.read().await.header("etag").to_owned();
    delete(&current).await.expect_status(200);
    delete("*").await.expect_error(404, "not_found");
}
