//! Tests native copies of tables that are read often: they change only the time that queries take.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tests::Store;

/// Returns rows that do not compress well.
fn csv(from: u64, count: u64) -> String {
    let mut text = String::from("id,name,n\n");
    for id in from..from + count {
        let hash = id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24;
        let _ = writeln!(text, "{id},name {hash},{}", hash % 1_000_000);
    }
    text
}

/// Queries until the store has this number of native copies, and asserts the same answer each time.
async fn ask_until_copied(store: &Store, sql: &str, copies: usize, expected: &Value) {
    for _ in 0..1_000 {
        assert_eq!(store.rows(sql).await, *expected, "{sql}");
        if store.copies() >= copies {
            break;
        }
    }
    assert_eq!(store.copies(), copies);
    for _ in 0..3 {
        assert_eq!(store.rows(sql).await, *expected, "{sql}");
    }
}

#[tokio::test]
async fn every_version_answers_as_its_rows_are_whatever_is_copied_locally() {
    let store = Store::start_local().await;
    store
        .table("t", &["id BIGINT primary_key", "name STRING", "n INTEGER"])
        .await;
    store
        .append_csv("t", csv(0, 20_000).as_bytes())
        .await
        .expect_status(200);
    let first = store.detail().await["version_id"].clone();
    let sum = |sql: &str| format!("SELECT count(*), sum(id), {sql} FROM t");
    let before = store.rows(&sum("sum(n)")).await;
    ask_until_copied(&store, &sum("sum(n)"), 1, &before).await;

    // A rename needs no new native copy, and the old name is gone.
    let rename = json!({ "rename_columns": [{ "from": "n", "to": "amount" }] });
    store.alter("t", &rename).await.expect_status(200);
    assert_eq!(store.rows(&sum("sum(amount)")).await, before);
    store
        .query(&sum("sum(n)"), &json!({}))
        .await
        .expect_error(400, "invalid_request");
    ask_until_copied(&store, &sum("sum(amount)"), 1, &before).await;

    // More rows, and a wider type with a new column, each need another native copy.
    store
        .append_csv("t", csv(20_000, 5_000).replace(",n\n", ",amount\n").as_bytes())
        .await
        .expect_status(200);
    let more = store.rows(&sum("sum(amount)")).await;
    assert_eq!(more[0][0], 25_000);
    ask_until_copied(&store, &sum("sum(amount)"), 2, &more).await;
    let widen = json!({ "modify_columns": [{ "name": "amount", "type": "BIGINT" }],
        "add_columns": [{ "name": "state", "type": "STRING", "default": "'open'" }] });
    store.alter("t", &widen).await.expect_status(200);
    let states = json!([[25_000, more[0][1], "open"]]);
    ask_until_copied(&store, &sum("min(state)"), 3, &states).await;
    assert_eq!(
        store.rows("SELECT typeof(amount) FROM t LIMIT 1").await,
        json!([["BIGINT"]])
    );

    // An earlier version reads its own native copy.
    let rollback = format!("/versions/{}/rollback", first.as_str().unwrap());
    store.post(&rollback, &json!({})).await.expect_status(200);
    assert_eq!(store.rows(&sum("sum(n)")).await, before);
    assert_eq!(store.copies(), 3);

    // Native copies are invisible to statements.
    for sql in [
        "SELECT * FROM native1.t",
        "SELECT c1 FROM t",
        "SELECT t.native1 FROM t",
        "SELECT * FROM duckdb_databases()",
        "SELECT database_name FROM duckdb_tables",
        "ATTACH 'x.duckdb' AS native1",
        "DETACH native1",
        "USE native1",
    ] {
        let refused = store.query(sql, &json!({})).await.expect_status(400);
        assert!(
            !refused.text().contains(".duckdb\"") || sql.contains("ATTACH"),
            "{}",
            refused.text()
        );
        assert!(!refused.text().contains("cache"), "{}", refused.text());
    }
    assert_eq!(store.rows(&sum("sum(n)")).await, before);
}
