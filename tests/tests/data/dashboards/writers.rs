//! Tests many concurrent writers of one dashboard, a crash, and the audit trail.

use std::collections::BTreeSet;

use futures::future::join_all;
use serde_json::json;
use tests::{Answer, Dashboard};

const WRITERS: usize = 64;

#[tokio::test]
async fn concurrent_updates_each_get_a_version_of_their_own() {
    let dashboard = Dashboard::start().await;
    let updates = (0..WRITERS).map(|writer| {
        // Each update has its own query, so that the engine runs as well; every eighth writer takes a
        // snapshot instead.
        let text = format!("writer {writer}");
        let change = json!({ "description": text, "query": format!("SELECT {writer} AS day, 1 AS total") });
        let request = match writer % 8 {
            0 => dashboard.snapshot(&json!({ "name": text })),
            _ => dashboard.put(&change),
        };
        async move { (writer, request.await) }
    });
    let mut numbers = BTreeSet::new();
    for (writer, answer) in join_all(updates).await {
        let field = if writer % 8 == 0 {
            "version_number"
        } else {
            assert_eq!(
                answer.body["description"],
                format!("writer {writer}"),
                "{}",
                answer.text()
            );
            assert_eq!(
                answer.body["query"],
                format!("SELECT {writer} AS day, 1 AS total")
            );
            "version"
        };
        numbers.insert(answer.body[field].as_u64().unwrap());
    }
    assert_eq!(numbers, (2..=65).collect());
    let expected: Vec<_> = (1..=65).rev().collect();
    let listed = dashboard.versions().await;
    assert_eq!(listed.each("version_number"), expected);
    if dashboard.store.service.is_shared() {
        // Other tests write to a shared service meanwhile.
        return;
    }
    let check = dashboard.store.service.operator().json(&["check"]);
    assert_eq!(check["findings"], json!([]), "{check}");
}

#[tokio::test]
async fn without_versioning_no_concurrent_update_is_lost() {
    let dashboard = Dashboard::start().await;
    dashboard.switch(false).await;
    let fields = [
        "name",
        "description",
        "tags",
        "queryLimit",
        "queryParameters",
        "query",
    ];
    let updates = fields.iter().map(|field| {
        let value = match *field {
            "tags" => json!(["new"]),
            "queryLimit" => json!(77),
            "queryParameters" => json!({ "p": 1 }),
            "query" => json!("SELECT 9 AS day, 1 AS total"),
            _ => json!("new"),
        };
        let request = dashboard.put(&json!({ *field: value }));
        async move { (*field, value, request.await.expect_status(200)) }
    });
    let answers = join_all(updates).await;
    let now = dashboard.read().await.body;
    for (field, value, _) in answers {
        assert_eq!(now[field], value, "{field}");
    }
    assert_eq!(dashboard.versions().await.each("version_number"), [1]);
}

#[tokio::test]
async fn of_concurrent_snapshots_of_one_name_and_of_deletes_one_succeeds() {
    let dashboard = Dashboard::start().await;
    let body = json!({ "name": "Only" });
    let statuses = |answers: Vec<Answer>| {
        let mut statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
        statuses.sort_unstable();
        statuses
    };
    let snapshots = (0..8).map(|_| dashboard.snapshot(&body).into_future());
    assert_eq!(
        statuses(join_all(snapshots).await),
        [201, 409, 409, 409, 409, 409, 409, 409]
    );
    let path = dashboard.path("");
    let deletes = (0..8).map(|_| {
        dashboard
            .store
            .service
            .delete(&dashboard.store.token, &path)
            .into_future()
    });
    assert_eq!(
        statuses(join_all(deletes).await),
        [200, 404, 404, 404, 404, 404, 404, 404]
    );
    assert_eq!(dashboard.versions().await.each("version_number"), [2, 1]);
}

#[tokio::test]
async fn acknowledged_update_survives_a_crash_locally() {
    let dashboard = Dashboard::start_local().await;
    let mut dashboard = dashboard;
    dashboard.describe("second").await;
    dashboard
        .snapshot(&json!({ "name": "s" }))
        .await
        .expect_status(201);
    dashboard.switch(false).await;
    dashboard.describe("in place").await;
    let (before, versions) = (dashboard.read().await, dashboard.versions().await);
    dashboard.store.service.restart();
    let after = dashboard.read().await;
    assert_eq!(
        (&after.body, after.header("etag")),
        (&before.body, before.header("etag"))
    );
    assert_eq!(dashboard.versions().await.body, versions.body);
    dashboard
        .put(&json!({ "query": "SELECT 3 AS day, 1 AS total" }))
        .await
        .expect_status(200);
    dashboard
        .promote(&dashboard.version(3).await)
        .await
        .expect_status(200);
    let check = dashboard.store.service.operator().json(&["check"]);
    assert_eq!(check["findings"], json!([]), "{check}");
}

#[tokio::test]
async fn every_change_is_in_the_audit_trail_under_the_dashboards_id() {
    let dashboard = Dashboard::start().await;
    let (store, id) = (&dashboard.store, &dashboard.id);
    dashboard.describe("second").await;
    let snapshot = dashboard.snapshot(&json!({ "name": "s" })).await.id();
    dashboard.promote(&snapshot).await.expect_status(200);
    dashboard.switch(false).await;
    dashboard.put(&json!({ "name": "" })).await.expect_status(400);
    let delete = store.service.delete(&store.token, &dashboard.path(""));
    delete.await.expect_status(200);
    store.post("/dashboards", &json!({})).await.expect_status(400);

    let trail = store
        .service
        .get(&store.token, "/audit-trail?resourceTypes=dashboard")
        .await;
    let events = trail.expect_status(200).body["events"].clone();
    let records: Vec<_> = events
        .as_array()
        .unwrap()
        .iter()
        .map(|event| json!([event["action"], event["resource_id"], event["status"]]))
        .collect();
    let expected = json!([
        ["create", "", 400],
        ["delete", id, 200],
        ["update", id, 400],
        ["update", id, 200],
        ["update", id, 200],
        ["update", id, 201],
        ["update", id, 200],
        ["create", id, 201]
    ]);
    assert_eq!(json!(records), expected);
}
