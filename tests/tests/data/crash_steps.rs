//! Tests a process that dies at each numbered step of an import, a commit, a compaction and a collection:
//! afterwards the store is completely the old or the new version, nothing unreachable stays for ever, and the
//! same request succeeds when repeated.

use std::time::Instant;

use serde_json::{Value, json};
use tests::Store;
use tests::runs::WITHIN;
use tests::stores::artifact;

/// Variable that names the step; see `Step` in `shared/lake`.
const CRASH_AT: &str = "MILLRACE_CRASH_AT";
const SEGMENT_WRITTEN: &str = "1";
const MANIFEST_WRITTEN: &str = "2";
const HEAD_MOVED: &str = "3";
const COMPACTED_SEGMENTS_WRITTEN: &str = "4";
const VERSION_REMOVED: &str = "5";
const GARBAGE_LISTED: &str = "6";
const OBJECT_REMOVED: &str = "7";
const IMPORT_ENQUEUED: &str = "8";
const IMPORT_BEGUN: &str = "9";

async fn started(imports: u64) -> Store {
    let store = Store::start_local().await;
    store.table("rows", &["n BIGINT unique"]).await;
    for n in 0..imports {
        store
            .append("rows", &json!([{ "n": n }]))
            .await
            .expect_status(200);
    }
    store
}

async fn numbers(store: &Store) -> Value {
    store.rows("SELECT list(n ORDER BY n) FROM rows").await[0][0].clone()
}

/// Collects all garbage, and asserts that the records and objects are then complete.
fn is_clean(store: &Store) {
    let operator = store.service.operator();
    let collect = ["store", "collect", "--grace-hours", "0"];
    operator.json(&collect);
    let again = operator.json(&collect);
    assert_eq!(
        (&again["removed_objects"], &again["waiting_objects"]),
        (&json!(0), &json!(0))
    );
    assert_eq!(operator.json(&["check"])["findings"], json!([]));
}

/// Sends a request to a runner that dies at `step`, and starts it again.
async fn dies(store: &mut Store, step: &str, path: &str, body: &Value) {
    store.service.restart_with(&[(CRASH_AT, step)]);
    let result = store.post(path, body).send().await;
    assert!(result.is_err(), "step {step} was not reached by {path}");
    store.service.restart_with(&[]);
}

#[tokio::test]
async fn an_import_that_dies_is_in_or_not_locally() {
    for (step, is_in) in [
        (SEGMENT_WRITTEN, false),
        (MANIFEST_WRITTEN, false),
        (HEAD_MOVED, true),
    ] {
        let mut store = started(2).await;
        let import = json!({ "tables": { "rows": { "source": "inline", "data": [{ "n": 7 }] } } });
        let before = store.detail().await["version_id"].clone();
        dies(&mut store, step, "/import", &import).await;
        let expected = if is_in { json!([0, 1, 7]) } else { json!([0, 1]) };
        assert_eq!(numbers(&store).await, expected, "step {step}");
        assert_eq!(store.detail().await["version_id"] != before, is_in, "step {step}");
        is_clean(&store);
        // If the key was imported, the repeated import is a conflict; otherwise it succeeds now.
        let again = store.post("/import", &import).await;
        again.expect_status(if is_in { 409 } else { 200 });
        assert_eq!(numbers(&store).await, json!([0, 1, 7]), "step {step}");
        is_clean(&store);
    }
}

/// The runner takes over open imports when it starts, so the import completes once without another request.
#[tokio::test]
async fn a_background_import_that_dies_resumes_by_itself_locally() {
    for step in [
        IMPORT_ENQUEUED,
        IMPORT_BEGUN,
        SEGMENT_WRITTEN,
        MANIFEST_WRITTEN,
        HEAD_MOVED,
    ] {
        let mut store = started(2).await;
        store.put_artifact("out/rows.csv", b"n\n7\n8\n");
        let mut import = artifact("rows", "out/rows.csv");
        import["background"] = true.into();
        store.service.restart_with(&[(CRASH_AT, step)]);
        let deadline = Instant::now() + WITHIN;
        // The answer may or may not come before the process dies.
        let _ = store.post("/import", &import).send().await;
        while store.get("").send().await.is_ok() {
            assert!(Instant::now() < deadline, "step {step} was not reached");
        }
        store.service.restart_with(&[]);
        while numbers(&store).await != json!([0, 1, 7, 8]) {
            assert!(
                Instant::now() < deadline,
                "the import did not go on after step {step}"
            );
        }
        let versions = store.get("/versions").await.expect_status(200);
        assert_eq!(versions.each("id").len(), 5, "step {step}");
        is_clean(&store);
    }
}

#[tokio::test]
async fn a_change_of_the_schema_that_dies_is_made_or_not_locally() {
    for (step, is_made) in [(MANIFEST_WRITTEN, false), (HEAD_MOVED, true)] {
        let mut store = started(2).await;
        let table = json!({ "tables": [{ "name": "more", "columns": [{ "name": "n", "type": "STRING" }] }] });
        dies(&mut store, step, "/tables", &table).await;
        let tables = store.get("/tables").await.expect_status(200);
        assert_eq!(
            tables.each("name").len(),
            if is_made { 2 } else { 1 },
            "step {step}"
        );
        is_clean(&store);
        let again = store.post("/tables", &table).await;
        again.expect_status(if is_made { 409 } else { 201 });
        is_clean(&store);
    }
}

#[tokio::test]
async fn a_compaction_that_dies_changes_no_row_locally() {
    for (step, is_made) in [
        (COMPACTED_SEGMENTS_WRITTEN, false),
        (MANIFEST_WRITTEN, false),
        (HEAD_MOVED, true),
    ] {
        let store = started(10).await;
        let compact = ["store", "compact", &store.id];
        let died = store.scope.ops_with(&compact, &[(CRASH_AT, step)]);
        assert_eq!(died.code, None, "step {step} was not reached: {died:?}");
        assert_eq!(
            numbers(&store).await,
            json!((0..10).collect::<Vec<_>>()),
            "step {step}"
        );
        is_clean(&store);
        let again = store.scope.ops_json(&compact);
        assert_eq!(again["version_id"].is_null(), is_made, "step {step}");
        assert_eq!(
            numbers(&store).await,
            json!((0..10).collect::<Vec<_>>()),
            "step {step}"
        );
        is_clean(&store);
    }
}

#[tokio::test]
async fn a_collection_that_dies_resumes_the_next_time_locally() {
    for step in [VERSION_REMOVED, GARBAGE_LISTED, OBJECT_REMOVED] {
        let store = started(5).await;
        let snapshot = store.post("/versions", &json!({ "name": "five" })).await;
        let snapshot = snapshot.expect_status(201).id();
        let replaced =
            json!({ "mode": "replace", "tables": { "rows": { "source": "inline", "data": [{ "n": 9 }] } } });
        store.post("/import", &replaced).await.expect_status(200);
        let collect = [
            "store",
            "collect",
            "--keep-versions-days",
            "0",
            "--grace-hours",
            "0",
        ];
        let died = store.scope.ops_with(&collect, &[(CRASH_AT, step)]);
        assert_eq!(died.code, None, "step {step} was not reached: {died:?}");
        let findings = &store.service.operator().json(&["check"])["findings"];
        assert_eq!(findings, &json!([]), "step {step}");
        assert_eq!(numbers(&store).await, json!([9]), "step {step}");
        store.scope.ops_json(&collect);
        is_clean(&store);
        let versions = store.get("/versions").await.expect_status(200);
        assert_eq!(versions.each("id").len(), 2, "step {step}");
        let rolled_back = store
            .post(&format!("/versions/{snapshot}/rollback"), &json!({}))
            .await;
        rolled_back.expect_status(200);
        assert_eq!(numbers(&store).await, json!([0, 1, 2, 3, 4]), "step {step}");
    }
}
