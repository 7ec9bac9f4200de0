//! Tests versions of a store: the history, snapshots, rollback, and queries of earlier versions.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tests::stores::inline;
use tests::{Answer, Persona, Store, unique};

async fn current(store: &Store) -> String {
    store.detail().await["version_id"].as_str().unwrap().to_owned()
}

async fn roll_back(store: &Store, version: &str) -> Answer {
    store
        .post(&format!("/versions/{version}/rollback"), &json!({}))
        .await
}

async fn snapshot(store: &Store, name: &str) -> Answer {
    store.post("/versions", &json!({ "name": name })).await
}

async fn rows_at(store: &Store, version: &str, sql: &str) -> Value {
    let path = format!("/versions/{version}/query");
    let answer = store.post(&path, &json!({ "sql": sql })).await.expect_status(200);
    assert_eq!(answer.body["version_id"], version);
    answer.body["rows"].clone()
}

/// Creates a store with one table of the numbers 1 to 3. Also returns the version before the import.
async fn started() -> (Store, String) {
    let store = Store::start().await;
    store.table("t", &["id INTEGER"]).await;
    let before = current(&store).await;
    let rows = json!([{ "id": 1 }, { "id": 2 }, { "id": 3 }]);
    store.append("t", &rows).await.expect_status(200);
    (store, before)
}

#[tokio::test]
async fn the_history_is_listed_newest_first() {
    let (store, _) = started().await;
    let import = json!({ "message": "two more", "tables": {
        "t": { "source": "inline", "data": [{ "id": 4 }, { "id": 5 }] }
    } });
    store.post("/import", &import).await.expect_status(200);
    let request = store.post("/versions", &json!({ "name": "first", "message": "kept" }));
    let snapshot = request.await.expect_status(201);
    let listed = store.get("/versions").await.expect_status(200);
    assert_eq!(
        listed.each("message"),
        [
            "kept",
            "two more",
            "Imported 3 rows into t",
            "Created t",
            "Created the data store"
        ]
    );
    assert_eq!(listed.each("schema_version"), [2, 2, 2, 2, 1]);
    assert_eq!(listed.each("is_snapshot"), [true, false, false, false, false]);
    let items = listed.body.as_array().unwrap();
    for (item, parent) in items.iter().zip(&items[1..]) {
        assert_eq!(item["parent_version_id"], parent["id"]);
        assert!(item["created_at"].as_str() >= parent["created_at"].as_str());
    }
    assert_eq!(items[0]["snapshot_name"], "first");
    assert!(items[1].get("snapshot_name").is_none());
    assert_eq!(items[0]["id"], snapshot.body["id"]);
    assert_eq!(items[0]["id"], current(&store).await);
    assert_eq!(store.detail().await["version_count"], 5);

    let two = store.get("/versions?limit=2").await.expect_status(200);
    assert_eq!(two.body.as_array().unwrap()[..], items[..2]);
    let snapshots = store
        .get("/versions?snapshots_only=true")
        .await
        .expect_status(200);
    assert_eq!(snapshots.body.as_array().unwrap()[..], items[..1]);
    for query in [
        "limit=0",
        "limit=-1",
        "limit=1001",
        "limit=x",
        "snapshots_only=maybe",
    ] {
        let refused = store.get(&format!("/versions?{query}")).await;
        refused.expect_error(400, "invalid_request");
    }
}

#[tokio::test]
async fn version_list_without_a_limit_has_50_entries() {
    let store = Store::start().await;
    for number in 0..52 {
        snapshot(&store, &format!("s{number}")).await.expect_status(201);
    }
    let listed = store.get("/versions").await;
    assert_eq!(listed.each("id").len(), 50);
    let all = store.get("/versions?limit=1000").await;
    assert_eq!(all.each("id").len(), 53);
    let page = store.get("/versions?snapshots_only=true&limit=3").await;
    assert_eq!(page.each("snapshot_name"), ["s51", "s50", "s49"]);
}

#[tokio::test]
async fn a_snapshot_has_a_name_of_its_own() {
    let (store, _) = started().await;
    store.table("empty", &["id INTEGER"]).await;
    let first = snapshot(&store, "Before the sale").await.expect_status(201);
    let id = first.id();
    let location = format!("/api/v1/data/{}/versions/{id}", store.id);
    assert!(
        first.header("location").ends_with(&location),
        "{:?}",
        first.headers
    );
    let mut body = first.body.clone();
    for field in ["id", "created_at", "created_by", "parent_version_id"] {
        assert!(body.as_object_mut().unwrap().remove(field).is_some(), "{field}");
    }
    let expected = json!({
        "message": "Snapshot 'Before the sale'",
        "schema_version": 3,
        "is_snapshot": true,
        "snapshot_name": "Before the sale",
        "store_id": store.id,
        "tables": { "t": { "row_count": 3 }, "empty": { "row_count": 0 } }
    });
    assert_eq!(body, expected);
    for name in ["Before the sale", "BEFORE the SALE"] {
        let refused = snapshot(&store, name).await.expect_error(409, "conflict");
        assert!(refused.message().contains(name), "{}", refused.message());
    }
    // One content may have several names, and another store may use the same names.
    let second = snapshot(&store, "again").await.expect_status(201);
    assert_eq!(second.body["tables"], first.body["tables"]);
    let (token, name) = (&store.token, json!({ "name": unique("other") }));
    let other = store.service.post(token, "/data", &name).await.id();
    let path = format!("/data/{other}/versions");
    let taken_elsewhere = json!({ "name": "again" });
    let answer = store.service.post(token, &path, &taken_elsewhere).await;
    answer.expect_status(201);

    store.append("t", &json!([{ "id": 9 }])).await.expect_status(200);
    let sum = "SELECT sum(id) FROM t";
    assert_eq!(rows_at(&store, &id, sum).await, json!([[6]]));
    assert_eq!(rows_at(&store, &second.id(), sum).await, json!([[6]]));
    assert_eq!(store.rows(sum).await, json!([[15]]));
    for body in [
        json!({}),
        json!({ "name": "" }),
        json!({ "name": " " }),
        json!({ "name": "x".repeat(201) }),
        json!({ "name": "a\u{0}" }),
        json!({ "name": 1 }),
        json!({ "name": "long", "message": "x".repeat(2_001) }),
    ] {
        let refused = store.post("/versions", &body).await;
        refused.expect_error(400, "invalid_request");
    }
    let odd = "#\u{1F600} İ/../%00";
    let answer = snapshot(&store, odd).await.expect_status(201);
    assert_eq!(answer.body["snapshot_name"], odd);
    snapshot(&store, odd).await.expect_error(409, "conflict");
}

#[tokio::test]
async fn version_names_the_changes_of_its_schema_and_rows() {
    let (store, empty) = started().await;
    let replace = json!({ "mode": "replace", "tables": {
        "T": { "source": "inline", "data": [{ "id": 7 }] }
    } });
    store.post("/import", &replace).await.expect_status(200);
    snapshot(&store, "one row").await.expect_status(201);
    let modify = json!({ "modify_columns": [{ "name": "id", "type": "STRING" }] });
    store.put("/tables/t", &modify).await.expect_status(200);
    roll_back(&store, &empty).await.expect_status(200);
    store.delete("/tables/t").await.expect_status(200);
    let rows = |added: u64, removed: u64, message: &str| {
        json!({
            "kind": "rows_changed", "table": "t", "message": message,
            "rows_added": added, "rows_removed": removed
        })
    };
    let retyped = |from: &str, to: &str| {
        json!({
            "kind": "column_altered", "table": "t", "column": "id",
            "message": format!("Changed the type of column t.id from {from} to {to}")
        })
    };
    let expected = json!([
        [{ "kind": "table_dropped", "table": "t", "rows_removed": 0, "message": "Dropped table t" }],
        [retyped("STRING", "INTEGER"), rows(0, 1, "Removed 1 row of table t")],
        [retyped("INTEGER", "STRING")],
        null,
        [rows(1, 3, "Replaced 3 rows of table t by 1")],
        [rows(3, 0, "Added 3 rows to table t")],
        [{ "kind": "table_created", "table": "t", "message": "Created table t (id INTEGER)" }],
        null
    ]);
    let versions = store.get("/versions").await.expect_status(200);
    assert_eq!(json!(versions.each("changes")), expected);
}

#[tokio::test]
async fn change_of_many_tables_is_named_up_to_its_limit() {
    let store = Store::start().await;
    let columns: Vec<_> = (0..10)
        .map(|number| json!({ "name": format!("{number:c>63}"), "type": "STRING", "default": "'é'" }))
        .collect();
    let tables = (0..120).map(|number| json!({ "name": format!("t{number}"), "columns": columns }));
    let tables = json!({ "tables": tables.collect::<Vec<_>>() });
    store.post("/tables", &tables).await.expect_status(201);
    let newest = store.get("/versions").await.expect_status(200).body[0].clone();
    let changes = newest["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 100);
    for change in changes {
        let message = change["message"].as_str().unwrap();
        assert_eq!((message.chars().count(), message.ends_with('…')), (500, true));
    }
    let history = store.get("/schema/history").await.expect_status(200);
    assert_eq!(history.body[0]["changes"], newest["changes"]);
}

#[tokio::test]
async fn a_rollback_is_a_new_version_with_the_old_content() {
    let (store, before) = started().await;
    let first = current(&store).await;
    let replace = json!({ "mode": "replace", "tables": {
        "t": { "source": "inline", "data": [{ "id": 100 }] }
    } });
    store.post("/import", &replace).await.expect_status(200);
    let replaced = current(&store).await;
    let back = roll_back(&store, &first).await.expect_status(200);
    assert_eq!(back.body["total_rows"], 3);
    assert_eq!(back.body["schema_version"], 2, "the schema is the same");
    assert_eq!(back.body["version_count"], 5);
    assert_eq!(back.body["schema"]["tables"][0]["row_count"], 3);
    let now = back.body["version_id"].as_str().unwrap().to_owned();
    assert!(![&first, &replaced].contains(&&now));
    assert_eq!(current(&store).await, now);
    let list = "SELECT id FROM t ORDER BY id";
    assert_eq!(store.rows(list).await, json!([[1], [2], [3]]));
    // The rollback removes no version, and later changes continue from it.
    assert_eq!(rows_at(&store, &replaced, list).await, json!([[100]]));
    store.append("t", &json!([{ "id": 4 }])).await.expect_status(200);
    assert_eq!(store.rows(list).await, json!([[1], [2], [3], [4]]));
    assert_eq!(rows_at(&store, &now, list).await, json!([[1], [2], [3]]));
    assert_eq!(rows_at(&store, &before, list).await, json!([]));
    // Roll forward again, and roll back to the current version itself.
    roll_back(&store, &replaced).await.expect_status(200);
    assert_eq!(store.rows(list).await, json!([[100]]));
    let itself = current(&store).await;
    roll_back(&store, &itself).await.expect_status(200);
    assert_eq!(store.rows(list).await, json!([[100]]));
    let listed = store.get("/versions").await;
    assert_eq!(listed.body[0]["message"], format!("Rolled back to {itself}"));
    assert_eq!(listed.each("id").len(), 8);
}

#[tokio::test]
async fn a_rollback_takes_the_schema_with_it() {
    let store = Store::start().await;
    let empty = current(&store).await;
    store.table("t", &["a INTEGER", "b STRING"]).await;
    let rows = json!([{ "a": 1, "b": "old" }]);
    store.append("t", &rows).await.expect_status(200);
    let old = current(&store).await;
    let back = roll_back(&store, &empty).await.expect_status(200);
    assert_eq!(back.body["schema_version"], 3);
    assert_eq!(back.body["schema"]["tables"], json!([]));
    let gone = store.query("SELECT * FROM t", &json!({})).await;
    gone.expect_error(400, "invalid_request");
    store.get("/tables/t").await.expect_error(404, "not_found");
    // A new table of that name contains nothing of the old one.
    store.table("T", &["b INTEGER", "c INTEGER", "d STRING"]).await;
    assert_eq!(store.rows("SELECT * FROM t").await, json!([]));
    store.append("t", &json!([{ "b": 7 }])).await.expect_status(200);
    assert_eq!(store.rows("SELECT * FROM t").await, json!([[7, null, null]]));
    let new = current(&store).await;
    let back = roll_back(&store, &old).await.expect_status(200);
    assert_eq!(back.body["schema_version"], 5);
    assert_eq!(store.rows("SELECT * FROM t").await, json!([[1, "old"]]));
    roll_back(&store, &new).await.expect_status(200);
    assert_eq!(store.rows("SELECT * FROM t").await, json!([[7, null, null]]));
    assert_eq!(store.detail().await["schema_version"], 6);
    assert_eq!(rows_at(&store, &old, "FROM t").await, json!([[1, "old"]]));
}

#[tokio::test]
async fn a_version_of_another_store_is_missing() {
    let (store, _) = started().await;
    let token = &store.token;
    let name = json!({ "name": unique("other") });
    let other = store.service.post(token, "/data", &name).await.body;
    let elsewhere = other["version_id"].as_str().unwrap();
    for version in [elsewhere, "nothing", &"x".repeat(200)] {
        roll_back(&store, version).await.expect_error(404, "not_found");
        let request = store.post(
            &format!("/versions/{version}/query"),
            &json!({ "sql": "SELECT 1" }),
        );
        request.await.expect_error(404, "not_found");
        let download = store.get(&format!("/download?version_id={version}")).await;
        download.expect_error(404, "not_found");
    }
    let mine = current(&store).await;
    let stranger = store.scope.token(Persona::OtherProject);
    let path = store.path(&format!("/versions/{mine}/query"));
    store
        .service
        .post(&stranger, &path, &json!({ "sql": "SELECT 1" }))
        .await
        .expect_error(404, "not_found");
    // Query the version first, so that every cache holds it.
    rows_at(&store, &mine, "SELECT 1").await;
    let id = other["id"].as_str().unwrap();
    let path = format!("/data/{id}/versions/{mine}/query");
    let request = store.service.post(token, &path, &json!({ "sql": "SELECT 1" }));
    request.await.expect_error(404, "not_found");
    store
        .service
        .delete(token, &store.path(""))
        .await
        .expect_status(200);
    store.get("/versions").await.expect_error(404, "not_found");
    snapshot(&store, "late").await.expect_error(404, "not_found");
    roll_back(&store, &mine).await.expect_error(404, "not_found");
    let request = store.post(&format!("/versions/{mine}/query"), &json!({ "sql": "SELECT 1" }));
    request.await.expect_error(404, "not_found");
}

#[tokio::test]
async fn a_reader_reads_versions_and_makes_none() {
    let (store, _) = started().await;
    let reader = store.scope.token(Persona::Reader);
    let version = current(&store).await;
    let path = |rest: &str| store.path(rest);
    let query = json!({ "sql": "SELECT count(*) FROM t" });
    let at = path(&format!("/versions/{version}/query"));
    store
        .service
        .get(&reader, &path("/versions"))
        .await
        .expect_status(200);
    store.service.post(&reader, &at, &query).await.expect_status(200);
    let name = json!({ "name": "x" });
    let refused = store.service.post(&reader, &path("/versions"), &name).await;
    refused.expect_error(403, "forbidden");
    let back = path(&format!("/versions/{version}/rollback"));
    let refused = store.service.post(&reader, &back, &json!({})).await;
    refused.expect_error(403, "forbidden");
}

/// Returns all files below a folder whose path contains `part`, with their sizes.
fn files(folder: &Path, part: &str) -> BTreeSet<(PathBuf, u64)> {
    let mut sizes = BTreeSet::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sizes.extend(files(&path, part));
        } else if path.to_string_lossy().contains(part) {
            sizes.insert((path, entry.metadata().map_or(0, |data| data.len())));
        }
    }
    sizes
}

/// A snapshot and a rollback write one manifest each, whatever the size of the store.
#[tokio::test]
async fn snapshot_and_rollback_write_no_data_locally() {
    let store = Store::start_local().await;
    store.table("t", &["id INTEGER", "text STRING"]).await;
    let objects = store.service.data_dir().join("objects");
    let mut byte_counts = Vec::new();
    for rows in [1, 20_000] {
        let mut csv = "id,text\n".to_owned();
        csv.extend((0..rows).map(|id| format!("{id},row {id} of many\n")));
        store.append_csv("t", csv.as_bytes()).await.expect_status(200);
        let version = current(&store).await;
        let segments = files(&objects, ".parquet");
        let before = files(&objects, "/stores/");
        snapshot(&store, &format!("of {rows}")).await.expect_status(201);
        roll_back(&store, &version).await.expect_status(200);
        assert_eq!(files(&objects, ".parquet"), segments);
        let after = files(&objects, "/stores/");
        byte_counts.push(after.difference(&before).map(|(_, bytes)| bytes).sum::<u64>());
    }
    // The second time, the manifest names one more segment.
    assert!(byte_counts[1] < byte_counts[0] + 2_000, "{byte_counts:?}");
    let report = store.service.operator().json(&["check"]);
    assert_eq!(report["findings"], json!([]));
}

#[tokio::test]
async fn a_repeated_snapshot_at_once_is_made_once() {
    let (store, _) = started().await;
    let many = (0..8).map(|_| snapshot(&store, "the one"));
    let answers = futures::future::join_all(many).await;
    let mut statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409, 409, 409, 409, 409, 409, 409]);
    let snapshots = store.get("/versions?snapshots_only=true").await;
    assert_eq!(snapshots.each("snapshot_name"), ["the one"]);
    let body = inline("t", &json!([{ "id": 4 }]));
    store.post("/import", &body).await.expect_status(200);
}
