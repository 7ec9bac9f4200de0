//! Tests compaction, retention and garbage collection: nothing that a kept version names is lost, and nothing
//! else stays.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tests::Store;

const GRACE_OVER: [&str; 2] = ["--grace-hours", "0"];

/// Runs `ops store collect` for the stores of the project. Returns its report.
fn collect(store: &Store, more: &[&str]) -> Value {
    let arguments = [&["store", "collect"], more].concat();
    store.scope.ops_json(&arguments)
}

/// Compacts the store. Returns the version that this made.
fn compact(store: &Store) -> Value {
    store.scope.ops_json(&["store", "compact", &store.id])["version_id"].clone()
}

fn check(store: &Store) {
    if store.service.is_shared() {
        // Other tests write to a shared service meanwhile.
        return;
    }
    let report = store.service.operator().json(&["check"]);
    assert_eq!(report["findings"], json!([]));
}

async fn versions(store: &Store) -> Vec<Value> {
    let listed = store.get("/versions?limit=1000").await.expect_status(200);
    listed.body.as_array().unwrap().clone()
}

/// Returns the rows of each version, by version id.
async fn contents(store: &Store) -> BTreeMap<String, Value> {
    let mut contents = BTreeMap::new();
    for version in versions(store).await {
        let id = version["id"].as_str().unwrap().to_owned();
        let body = json!({ "sql": "SELECT * FROM orders ORDER BY ALL", "limit": 10_000 });
        let answer = store.post(&format!("/versions/{id}/query"), &body).await;
        let rows = match answer.status {
            200 => answer.body["rows"].clone(),
            // This version is older than the table.
            400 => Value::Null,
            status => panic!("{status}: {}", answer.text()),
        };
        contents.insert(id, rows);
    }
    contents
}

async fn append(store: &Store, from: u64, to: u64) {
    for id in from..to {
        let rows = json!([{ "id": id, "city": format!("city {}", id % 3) }]);
        store.append("orders", &rows).await.expect_status(200);
    }
}

async fn started() -> Store {
    with_table(Store::start().await).await
}

/// Starts a local service, where a collection of all stores affects no other test.
async fn started_local() -> Store {
    with_table(Store::start_local().await).await
}

async fn with_table(store: Store) -> Store {
    store
        .table("orders", &["id BIGINT primary_key", "city STRING"])
        .await;
    store
}

#[tokio::test]
async fn compaction_changes_no_row_of_any_version() {
    let store = started().await;
    append(&store, 0, 12).await;
    let added = json!({ "add_columns": [{ "name": "paid", "type": "BOOLEAN", "default": "true" }] });
    store.alter("orders", &added).await.expect_status(200);
    append(&store, 12, 20).await;
    let renamed = json!({ "rename_columns": [{ "from": "city", "to": "town" }] });
    store.alter("orders", &renamed).await.expect_status(200);
    let before = contents(&store).await;
    let totals = |detail: &Value| [&detail["total_rows"], &detail["table_count"]].map(Clone::clone);
    let detail = totals(&store.detail().await);

    let version = compact(&store);
    let newest = versions(&store).await[0].clone();
    assert_eq!(newest["id"], version);
    assert_eq!(newest["message"], "Compacted 20 files of orders into 1");
    assert_eq!(newest["created_by"], "system");
    assert_eq!(totals(&store.detail().await), detail);
    let mut after = contents(&store).await;
    let head = after.remove(version.as_str().unwrap()).unwrap();
    assert_eq!(after, before);
    assert_eq!(&head, &before[newest["parent_version_id"].as_str().unwrap()]);

    // The key still holds, and another compaction has nothing to do.
    let twice = store.append("orders", &json!([{ "id": 7 }])).await;
    twice.expect_error(409, "conflict");
    assert_eq!(compact(&store), Value::Null);
    check(&store);
}

/// The import that makes the compaction due starts it.
#[tokio::test]
async fn many_small_imports_are_compacted_in_the_background() {
    let store = started().await;
    append(&store, 0, 32).await;
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let compacted = loop {
        let newest = versions(&store).await[0].clone();
        if newest["created_by"] == "system" {
            break newest;
        }
        assert!(std::time::Instant::now() < deadline, "{newest}");
        tokio::task::yield_now().await;
    };
    assert_eq!(compacted["message"], "Compacted 32 files of orders into 1");
    assert_eq!(store.rows("SELECT count(*) FROM orders").await, json!([[32]]));
    check(&store);
}

#[tokio::test]
async fn a_store_without_small_files_is_left_alone() {
    let store = started().await;
    append(&store, 0, 7).await;
    let before = store.detail().await;
    assert_eq!(compact(&store), Value::Null);
    assert_eq!(store.detail().await, before);
    let unknown = store.scope.ops(&["store", "compact", "nothing"]).expect_refusal();
    assert!(unknown.stderr.contains("nothing"), "{}", unknown.stderr);
}

#[tokio::test]
async fn old_versions_go_where_that_is_asked_for_and_nothing_else_does_locally() {
    let store = started_local().await;
    append(&store, 0, 3).await;
    let snapshot = store.post("/versions", &json!({ "name": "three" })).await;
    let snapshot = snapshot.expect_status(201).id();
    append(&store, 3, 6).await;
    let replaced =
        json!({ "mode": "replace", "tables": { "orders": { "source": "inline", "data": [{ "id": 9 }] } } });
    store.post("/import", &replaced).await.expect_status(200);
    let head = store.detail().await["version_id"].as_str().unwrap().to_owned();
    let all = contents(&store).await;

    // Without an age limit, every version stays, and there is no garbage.
    let nothing =
        json!({ "removed_versions": 0, "removed_objects": 0, "removed_bytes": 0, "waiting_objects": 0 });
    assert_eq!(collect(&store, &GRACE_OVER), nothing);
    assert_eq!(
        collect(&store, &["--keep-versions-days", "1", "--grace-hours", "0"]),
        nothing
    );
    assert_eq!(contents(&store).await, all);

    // Objects wait for the end of their grace period; versions do not.
    let removed = collect(&store, &["--keep-versions-days", "0"]);
    assert_eq!(removed["removed_versions"], all.len() - 2);
    assert_eq!(removed["removed_objects"], 0);
    let waiting = removed["waiting_objects"].as_u64().unwrap();
    assert!(waiting > 0);
    let versions = contents(&store).await;
    assert_eq!(versions.keys().collect::<Vec<_>>(), [&snapshot, &head]);
    assert!(versions.iter().all(|(id, rows)| all[id] == *rows), "{versions:?}");
    let removed = collect(&store, &GRACE_OVER);
    assert_eq!(removed["removed_objects"], waiting);
    assert_eq!(collect(&store, &GRACE_OVER), nothing);
    assert_eq!(contents(&store).await, versions);
    let gone = all.keys().find(|id| !versions.contains_key(*id)).unwrap();
    let path = format!("/versions/{gone}/rollback");
    store.post(&path, &json!({})).await.expect_error(404, "not_found");
    check(&store);

    // A kept version can be rolled back to, and the history continues.
    let path = format!("/versions/{snapshot}/rollback");
    store.post(&path, &json!({})).await.expect_status(200);
    assert_eq!(store.rows("SELECT count(*) FROM orders").await, json!([[3]]));
    store.get("/schema/history").await.expect_status(200);
    append(&store, 20, 22).await;
    check(&store);
}

#[tokio::test]
async fn a_download_is_built_again_after_it_was_collected_locally() {
    let store = started_local().await;
    append(&store, 0, 2).await;
    let get = async || {
        let link = store.get("/download?format=parquet").await.expect_status(200);
        let url = link.body["url"].as_str().unwrap().to_owned();
        let request = store.service.request(tests::Method::GET, &url);
        request.await.expect_status(200)
    };
    get().await;
    assert_eq!(collect(&store, &[])["waiting_objects"], 1);
    get().await;
    assert_eq!(collect(&store, &GRACE_OVER)["removed_objects"], 1);
    get().await;
}

#[tokio::test]
async fn a_collection_touches_the_stores_of_its_project_alone() {
    let store = started().await;
    append(&store, 0, 3).await;
    let before = versions(&store).await;
    let arguments = ["store", "collect", "--keep-versions-days", "0"];
    let elsewhere = [&arguments[..], &["--account", "nobody", "--project", "nope"]].concat();
    let collected = store.service.operator().json(&elsewhere);
    assert_eq!(collected["removed_versions"], 0, "{collected}");
    assert_eq!(versions(&store).await, before);

    let unknown = store.scope.ops(&["store", "collect", "nope"]).expect_refusal();
    assert!(
        unknown.stderr.contains("The data store 'nope' does not exist."),
        "{unknown:?}"
    );
    let both = store
        .scope
        .ops(&["store", "collect", &store.id, "--all-projects"]);
    both.expect_refusal();

    let collected = collect(&store, &["--keep-versions-days", "0"]);
    assert_eq!(collected["removed_versions"], before.len() - 1, "{collected}");
    assert_eq!(versions(&store).await.len(), 1);
}
