//! Tests imports in the background: each is accepted with 202 and carried out once, whatever happens to the
//! process meanwhile.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use futures::future::join_all;
use serde_json::{Value, json};
use tests::file_server::file;
use tests::runs::WITHIN;
use tests::stores::{artifact, columns, elsewhere, inline};
use tests::{FileServer, Service, Store};

fn in_background(mut body: Value) -> Value {
    body["background"] = true.into();
    body
}

/// Starts an import that must be accepted. Returns its path.
async fn start_import(store: &Store, body: Value) -> String {
    let answer = store
        .post("/import", &in_background(body))
        .await
        .expect_status(202);
    assert_eq!(answer.body["status"], "PENDING");
    assert!(answer.body.get("version_id").is_none(), "{}", answer.text());
    let path = format!("/import/{}", answer.id());
    let location = store.service.located(answer.header("location"));
    assert_eq!(
        location,
        format!("{}{}", store.service.base_url(), store.path(&path))
    );
    path
}

fn csv(rows: u64) -> String {
    let mut csv = "id,text\n".to_owned();
    for id in 1..=rows {
        let _ = writeln!(csv, "{id},row {id}");
    }
    csv
}

fn check(service: &Service) {
    if service.is_shared() {
        // Other tests write to a shared service meanwhile.
        return;
    }
    let report = service.operator().json(&["check"]);
    assert_eq!(report["findings"], json!([]));
}

#[tokio::test]
async fn an_import_continues_after_its_request_stops_waiting_locally() {
    let store = Store::start_local_with(&[("MILLRACE_IMPORT_WAIT_SECONDS", "0")]).await;
    store.table("t", &["id BIGINT primary_key", "text STRING"]).await;
    store.put_artifact("in.csv", csv(1_000).as_bytes());
    let answer = store
        .post("/import", &artifact("t", "in.csv"))
        .await
        .expect_status(202);
    assert_eq!(answer.body["status"], "RUNNING");
    assert!(answer.body.get("version_id").is_none(), "{}", answer.text());
    let record = store.ended_import(&format!("/import/{}", answer.id())).await;
    assert_eq!(record["status"], "COMPLETED", "{record}");
    assert_eq!(record["rows_imported"], json!({ "t": 1_000 }));
}

#[tokio::test]
async fn an_import_is_taken_and_carried_out() {
    let store = Store::start().await;
    store.table("t", &["id BIGINT primary_key", "text STRING"]).await;
    store.put_artifact("out/rows.csv", csv(3).as_bytes());
    let mut body = artifact("t", "out/rows.csv");
    body["message"] = "Nightly".into();
    let path = start_import(&store, body).await;
    let record = store.ended_import(&path).await;
    assert_eq!(record["status"], "COMPLETED", "{record}");
    assert_eq!(record["rows_imported"], json!({ "t": 3 }));
    assert_eq!(record["message"], "Nightly");
    assert_eq!(
        store.rows("SELECT count(*), sum(id) FROM t").await,
        json!([[3, 6]])
    );
    let detail = store.detail().await;
    assert_eq!(detail["version_id"], record["version_id"]);
    assert!(detail["last_import_at"].is_string());
    let newest = store.get("/versions?limit=1").await.expect_status(200).body;
    assert_eq!(newest[0]["message"], "Nightly");
    assert_eq!(newest[0]["created_by"], "user:developer");

    // The same rows again break the key, and none of them is visible.
    let path = start_import(&store, artifact("t", "out/rows.csv")).await;
    let record = store.ended_import(&path).await;
    assert_eq!(record["status"], "FAILED", "{record}");
    assert!(
        record["error"].as_str().unwrap().contains("already in the table"),
        "{record}"
    );
    assert_eq!(record["rows_imported"], json!({}));
    assert!(record.get("version_id").is_none());
    assert_eq!(store.detail().await["version_id"], detail["version_id"]);
    check(&store.service);
}

#[tokio::test]
async fn early_faults_are_answered_at_once_and_later_ones_are_recorded() {
    let store = Store::start().await;
    store.table("t", &["id BIGINT", "text STRING"]).await;
    for (body, status) in [
        (inline("t", &json!([{ "id": 1 }])), 400),
        (elsewhere("t", "url", "https://10.0.0.1/rows.csv"), 400),
        (elsewhere("t", "s3", "s3://uploads/rows.csv"), 403),
        (artifact("missing", "out/rows.csv"), 404),
        (artifact("t", "../rows.csv"), 400),
    ] {
        let refused = store.post("/import", &in_background(body.clone())).await;
        assert_eq!(refused.status, status, "{body}: {}", refused.text());
        refused.check_error();
    }
    let mut not_a_flag = artifact("t", "out/rows.csv");
    not_a_flag["background"] = "yes".into();
    store.post("/import", &not_a_flag).await.expect_status(400);

    // More tables than a job can store.
    let mut many = serde_json::Map::new();
    let mut tables = Vec::new();
    for n in 0..100 {
        let name = format!("many{n}");
        let uri = format!("https://example.com/rows.csv?{}", "x".repeat(3_500));
        many.insert(name.clone(), json!({ "source": "url", "uri": uri }));
        tables.push(json!({ "name": name, "columns": columns(&["id BIGINT"]) }));
    }
    store
        .post("/tables", &json!({ "tables": tables }))
        .await
        .expect_status(201);
    let refused = store
        .post("/import", &in_background(json!({ "tables": many })))
        .await;
    let refused = refused.expect_error(400, "invalid_request");
    assert!(
        refused.message().contains("fewer tables"),
        "{}",
        refused.message()
    );

    let server = FileServer::start([("/words.csv".to_owned(), file(b"id,text\none,a\n"))]).await;
    for (body, expected) in [
        (artifact("t", "out/missing.csv"), "no artifact"),
        (
            elsewhere("t", "url", &format!("{}/missing.csv?key=hunter2", server.origin)),
            "status 404",
        ),
        (
            elsewhere("t", "url", &format!("{}/words.csv", server.origin)),
            "'one' is not a BIGINT",
        ),
    ] {
        let path = start_import(&store, body).await;
        let record = store.ended_import(&path).await;
        assert_eq!(record["status"], "FAILED", "{record}");
        assert!(record["error"].as_str().unwrap().contains(expected), "{record}");
        assert!(!record.to_string().contains("hunter2"), "{record}");
    }
    store.get("/import/no-such-import").await.expect_status(404);
    assert_eq!(store.detail().await["total_rows"], 0);
}

#[tokio::test]
async fn imports_taken_at_once_all_land_once() {
    let store = Store::start().await;
    store.table("t", &["id BIGINT", "text STRING"]).await;
    store.put_artifact("out/rows.csv", csv(10).as_bytes());
    let before = store.detail().await["version_count"].as_u64().unwrap();
    let paths = join_all((0..8).map(|_| start_import(&store, artifact("t", "out/rows.csv")))).await;
    // Other imports run meanwhile.
    for _ in 0..3 {
        store.append("t", &json!([{ "id": 0 }])).await.expect_status(200);
    }
    for path in &paths {
        assert_eq!(store.ended_import(path).await["status"], "COMPLETED");
    }
    assert_eq!(
        store.rows("SELECT count(*), sum(id) FROM t").await,
        json!([[83, 440]])
    );
    let after = store.detail().await["version_count"].as_u64().unwrap();
    assert_eq!(after, before + 11);
}

/// The kill comes between start and end of the import, because the source holds the file back.
#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_was_killed_while_it_ran_lands_once_after_the_restart_locally() {
    let mut store = Store::start_local().await;
    store.table("t", &["id BIGINT", "text STRING"]).await;
    let server = FileServer::start([("/held/rows.csv".to_owned(), file(csv(5).as_bytes()))]).await;
    let path = start_import(
        &store,
        elsewhere("t", "url", &format!("{}/held/rows.csv", server.origin)),
    )
    .await;
    let deadline = Instant::now() + WITHIN;
    for kills in 1..=3 {
        while server.requests().len() < kills {
            assert!(Instant::now() < deadline, "the import does not begin");
            tokio::task::yield_now().await;
        }
        let record = store.get(&path).await.expect_status(200).body;
        assert_eq!(record["status"], "RUNNING", "{record}");
        assert_eq!(store.detail().await["total_rows"], 0);
        store.service.restart();
    }
    server.release();
    let record = store.ended_import(&path).await;
    assert_eq!(record["status"], "COMPLETED", "{record}");
    assert_eq!(
        store.rows("SELECT count(*), sum(id) FROM t").await,
        json!([[5, 15]])
    );
    store.service.restart();
    assert_eq!(store.rows("SELECT count(*) FROM t").await, json!([[5]]));
    check(&store.service);
}

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

/// Each stage of an import shows by its file: its input, its segment, and then each object that it stores.
#[tokio::test(flavor = "multi_thread")]
async fn whenever_it_is_killed_an_import_that_was_taken_lands_once_locally() {
    let mut store = Store::start_local().await;
    store.table("t", &["id BIGINT", "text STRING"]).await;
    store.put_artifact("out/rows.csv", csv(100_000).as_bytes());
    let mut imports = 0;
    for (part, count) in [
        ("/input-", 1),
        ("cache/importer/staging/", 2),
        ("data/objects/", 1),
        ("data/objects/", 2),
        ("data/objects/", 3),
        ("data/objects/", 4),
    ] {
        let folder = store.service.data_dir();
        let before = files(&folder);
        let versions = store.detail().await["version_count"].as_u64().unwrap();
        let path = start_import(&store, artifact("t", "out/rows.csv")).await;
        let is_new = |path: &&PathBuf| !before.contains(*path) && path.to_string_lossy().contains(part);
        let deadline = Instant::now() + WITHIN;
        // An import that completes with fewer files is killed after its end.
        while files(&folder).iter().filter(is_new).count() < count
            && store.get(&path).await.expect_status(200).body["status"] != "COMPLETED"
        {
            assert!(
                Instant::now() < deadline,
                "{part}; the log:\n{}",
                store.service.log()
            );
        }
        store.service.restart();
        let record = store.ended_import(&path).await;
        assert_eq!(record["status"], "COMPLETED", "{part}: {record}");
        imports += 1;
        let counts = store.rows("SELECT count(*), count(DISTINCT id) FROM t").await;
        assert_eq!(counts, json!([[100_000 * imports, 100_000]]), "{part}");
        let after = store.detail().await["version_count"].as_u64().unwrap();
        assert_eq!(after, versions + 1, "{part}");
        check(&store.service);
    }
    let attempts = store.service.log().matches("import begun").count();
    assert!(attempts > imports, "every kill came too late to test anything");
}
