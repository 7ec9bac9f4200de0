//! Tests a runner that is killed during a change, and concurrent changes.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use futures::future::join_all;
use serde_json::{Value, json};
use tests::runs::WITHIN;
use tests::stores::{columns, inline};
use tests::{Client, Service, Store, unique};

/// Returns all files below a folder.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut paths = BTreeSet::new();
    // Ignore files that vanish meanwhile.
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            paths.extend(files(&path));
        } else {
            paths.insert(path);
        }
    }
    paths
}

/// Waits until a new file whose path contains `part` exists, or until `is_over`.
async fn appears(folder: &Path, before: &BTreeSet<PathBuf>, part: &str, is_over: impl Fn() -> bool) {
    let deadline = Instant::now() + WITHIN;
    let is_new = |path: &PathBuf| !before.contains(path) && path.to_string_lossy().contains(part);
    while !is_over() && !files(folder).iter().any(is_new) {
        assert!(Instant::now() < deadline, "no file '{part}' after {WITHIN:?}");
        tokio::task::yield_now().await;
    }
}

/// Sends a request in the background, kills the runner when a file appears, and starts it again.
async fn killed_at(service: &mut Service, token: &str, path: &str, body: &Value, part: &str) {
    let folder = service.data_dir();
    let before = files(&folder);
    let client: Client = (**service).clone();
    let (token, path, body) = (token.to_owned(), path.to_owned(), body.clone());
    let request = tokio::spawn(async move { client.post(&token, &path, &body).send().await });
    appears(&folder, &before, part, || request.is_finished()).await;
    service.restart();
    // The request may or may not have an answer.
    let _ = request.await;
}

fn check(service: &Service) {
    let report = service.operator().json(&["check"]);
    assert_eq!(report["findings"], json!([]));
}

async fn counts(store: &Store) -> Value {
    store
        .rows(
            "SELECT (SELECT count(*) FROM large), (SELECT count(*) FROM small), (SELECT sum(id) FROM large)",
        )
        .await
}

/// Each stage of an import shows by its file: its input, its segment, the stored segment, the manifest.
#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_is_killed_is_there_whole_or_not_at_all_locally() {
    let mut store = Store::start_local().await;
    store
        .table("large", &["id BIGINT primary_key", "text STRING"])
        .await;
    store.table("small", &["id BIGINT"]).await;
    let mut csv = "id,text\n".to_owned();
    for id in 1..=100_000 {
        let _ = writeln!(csv, "{id},row {id}");
    }
    store.put_artifact("out/large.csv", csv.as_bytes());
    let old = json!([[2, 1, 3]]);
    let new = json!([[100_000, 3, 5_000_050_000_i64]]);
    let reset = json!({ "mode": "replace", "tables": {
        "large": { "source": "inline", "data": [{ "id": 1 }, { "id": 2 }] },
        "small": { "source": "inline", "data": [{ "id": 1 }] }
    } });
    let import = json!({ "mode": "replace", "tables": {
        "large": { "source": "artifact", "uri": "out/large.csv" },
        "small": { "source": "inline", "data": [{ "id": 1 }, { "id": 2 }, { "id": 3 }] }
    } });
    let path = store.path("/import");
    let mut outcomes = Vec::new();
    for part in ["input-", "cache/staging/", "/segments/", "/manifests/", "never"] {
        store.post("/import", &reset).await.expect_status(200);
        assert_eq!(counts(&store).await, old, "before {part}");
        let token = store.token.clone();
        killed_at(&mut store.service, &token, &path, &import, part).await;
        let now = counts(&store).await;
        assert!(now == old || now == new, "{part}: {now}");
        let detail = store.detail().await;
        let rows = now[0][0].as_u64().unwrap() + now[0][1].as_u64().unwrap();
        assert_eq!(detail["total_rows"], rows, "{part}");
        check(&store.service);
        outcomes.push(now == new);
        store.post("/import", &import).await.expect_status(200);
        assert_eq!(counts(&store).await, new, "{part}");
    }
    assert_eq!(
        outcomes.first(),
        Some(&false),
        "a kill at the start comes too late to test anything"
    );
    assert_eq!(
        outcomes.last(),
        Some(&true),
        "an import that was answered is lost"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_and_stores_whose_creation_is_killed_are_there_whole_or_not_at_all_locally() {
    let mut store = Store::start_local().await;
    let token = store.token.clone();
    for (round, part) in ["manifests", ".json", "records.sqlite", "never"]
        .into_iter()
        .enumerate()
    {
        let names = [format!("a{round}"), format!("b{round}")];
        let tables: Vec<_> = names
            .iter()
            .map(|name| json!({ "name": name, "columns": columns(&["id BIGINT"]) }))
            .collect();
        let before = store.detail().await["table_count"].as_u64().unwrap();
        let path = store.path("/tables");
        let body = json!({ "tables": tables });
        // If a file of the records exists already, the kill comes at the end.
        killed_at(&mut store.service, &token, &path, &body, part).await;
        let detail = store.detail().await;
        let count = detail["table_count"].as_u64().unwrap();
        assert!([before, before + 2].contains(&count), "{part}: {detail}");
        let listed = store.get("/tables").await.expect_status(200).each("name");
        assert_eq!(listed.len() as u64, count, "{part}");
        let again = store.post("/tables", &body).await;
        let expected = if count == before { 201 } else { 409 };
        again.expect_status(expected);
        for name in &names {
            assert_eq!(store.rows(&format!("SELECT * FROM {name}")).await, json!([]));
        }

        let name = unique("killed");
        let body = json!({ "name": name });
        killed_at(&mut store.service, &token, "/data", &body, part).await;
        let list = store.service.get(&token, "/data").await.expect_status(200);
        let items = list.body.as_array().unwrap();
        let record = items.iter().find(|item| item["name"] == name.as_str());
        if let Some(item) = record {
            let path = format!("/data/{}", item["id"].as_str().unwrap());
            store.service.get(&token, &path).await.expect_status(200);
        }
        let again = store.service.post(&token, "/data", &body).await;
        again.expect_status(if record.is_some() { 409 } else { 201 });
        assert!(
            part != "never" || record.is_some(),
            "a store that was answered is lost"
        );
        check(&store.service);
    }
}

#[tokio::test]
async fn imports_at_once_all_land() {
    let store = Store::start().await;
    store.table("t", &["n INTEGER"]).await;
    let before = store.detail().await;
    // One fewer than the number of files that starts a compaction, which also makes a version.
    let bodies: Vec<_> = (0..31)
        .map(|n| inline("t", &json!([{ "n": n }, { "n": n + 100 }])))
        .collect();
    let answers = join_all(
        bodies
            .iter()
            .map(|body| async { store.post("/import", body).await }),
    )
    .await;
    let mut versions = BTreeSet::new();
    for answer in answers {
        let answer = answer.expect_status(200);
        versions.insert(answer.body["version_id"].to_string());
    }
    assert_eq!(versions.len(), 31);
    let sums = store
        .rows("SELECT count(*), count(DISTINCT n), sum(n), min(n), max(n) FROM t")
        .await;
    assert_eq!(sums, json!([[62, 62, 465 + 465 + 3_100, 0, 130]]));
    let after = store.detail().await;
    assert_eq!(after["total_rows"], 62);
    assert_eq!(
        after["version_count"].as_u64().unwrap(),
        before["version_count"].as_u64().unwrap() + 31
    );
    assert_eq!(after["schema_version"], before["schema_version"]);
}

#[tokio::test]
async fn the_same_key_imported_at_once_lands_once() {
    let store = Store::start().await;
    store.table("t", &["id INTEGER primary_key", "who INTEGER"]).await;
    let bodies: Vec<_> = (0..8)
        .map(|who| inline("t", &json!([{ "id": 1, "who": who }])))
        .collect();
    let answers = join_all(
        bodies
            .iter()
            .map(|body| async { store.post("/import", body).await }),
    )
    .await;
    let statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(
        statuses.iter().filter(|status| **status == 200).count(),
        1,
        "{statuses:?}"
    );
    assert_eq!(
        statuses.iter().filter(|status| **status == 409).count(),
        7,
        "{statuses:?}"
    );
    assert_eq!(store.rows("SELECT count(*) FROM t").await, json!([[1]]));
}

#[tokio::test]
async fn of_tables_with_one_name_made_at_once_one_is_made() {
    let store = Store::start().await;
    let names = ["wanted", "WANTED", "Wanted"];
    let bodies: Vec<_> = (0..12)
        .map(|n| json!({ "tables": [{ "name": names[n % 3], "columns": columns(&["a STRING"]) }] }))
        .collect();
    let answers = join_all(
        bodies
            .iter()
            .map(|body| async { store.post("/tables", body).await }),
    )
    .await;
    let statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(
        statuses.iter().filter(|status| **status == 201).count(),
        1,
        "{statuses:?}"
    );
    assert_eq!(
        statuses.iter().filter(|status| **status == 409).count(),
        11,
        "{statuses:?}"
    );
    let detail = store.detail().await;
    assert_eq!(detail["table_count"], 1);
    assert_eq!(detail["version_count"], 2);
}
