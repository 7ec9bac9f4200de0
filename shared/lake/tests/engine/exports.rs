//! Tests exports of a version by reading the files with plain DuckDB.

use std::path::Path;

use duckdb::Connection;
use lake::manifest::ManifestColumn;
use serde_json::json;

use crate::fixture::{Store, limits, table};

/// Makes a store with two tables, one with a schema newer than its files, and one empty.
async fn store() -> Store {
    let orders = table(
        "Orders",
        json!([
            { "name": "id", "type": "BIGINT", "primary_key": true },
            { "name": "customer", "type": "STRING", "description": "it's \"who\"" },
            { "name": "j", "type": "JSON" },
            { "name": "amount", "type": "DECIMAL(12,2)" },
            { "name": "day", "type": "DATE" }
        ]),
    );
    let mut empty = table("select", json!([{ "name": "group", "type": "TIMESTAMP" }]));
    empty.table_id = 2;
    let mut store = Store::new(limits(), vec![orders, empty]);
    store
        .import(
            0,
            "id,customer,j,amount,day\n1,ada,\"{\"\"a\"\":1}\",1.50,2024-01-02\n2,,,,\n",
        )
        .await
        .unwrap();
    let orders = &mut store.tables[0];
    orders.description = Some("What was sold; don't guess".to_owned());
    orders.columns[1].name = "buyer".to_owned();
    let status = serde_json::from_value(json!({ "name": "status", "type": "STRING" })).unwrap();
    orders
        .columns
        .push(ManifestColumn::new(6, status, Some("open".to_owned())));
    orders.next_field_id = 7;
    store.import(0, "id,buyer,status\n3,bob,closed\n").await.unwrap();
    store
}

fn texts(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

const ROWS: [&str; 3] = [
    "{\"id\":1,\"buyer\":\"ada\",\"j\":{\"a\":1},\"amount\":1.5,\"day\":\"2024-01-02\",\"status\":\"open\"}",
    "{\"id\":2,\"buyer\":null,\"j\":null,\"amount\":null,\"day\":null,\"status\":\"open\"}",
    "{\"id\":3,\"buyer\":\"bob\",\"j\":null,\"amount\":null,\"day\":null,\"status\":\"closed\"}",
];

#[tokio::test]
async fn a_database_file_holds_tables_types_rows_and_comments() {
    let store = store().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.duckdb");
    store.engine.export_database(store.scope(), &file).await.unwrap();
    let names: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["store.duckdb"], "no log beside it");

    let connection = Connection::open(&file).unwrap();
    let tables = "SELECT table_name FROM duckdb_tables() ORDER BY 1";
    assert_eq!(texts(&connection, tables), ["Orders", "select"]);
    let rows = "SELECT to_json(o)::VARCHAR FROM (SELECT * FROM Orders ORDER BY id) o";
    assert_eq!(texts(&connection, rows), ROWS);
    let types = "SELECT column_name || ' ' || data_type FROM duckdb_columns() WHERE NOT internal ORDER BY table_name, column_index";
    assert_eq!(
        texts(&connection, types),
        [
            "id BIGINT",
            "buyer VARCHAR",
            "j JSON",
            "amount DECIMAL(12,2)",
            "day DATE",
            "status VARCHAR",
            "group TIMESTAMP"
        ]
    );
    let comments = "SELECT comment FROM duckdb_tables() WHERE comment IS NOT NULL UNION ALL \
                    SELECT comment FROM duckdb_columns() WHERE comment IS NOT NULL";
    assert_eq!(
        texts(&connection, comments),
        ["What was sold; don't guess", "it's \"who\""]
    );
    let tags = "SELECT tags::VARCHAR FROM duckdb_databases() WHERE path IS NOT NULL";
    let tags = texts(&connection, tags).join(" ");
    assert!(tags.contains("v1.0.0"), "old clients read it: {tags}");
}

#[tokio::test]
async fn parquet_files_are_one_a_table() {
    let store = store().await;
    let folder = tempfile::tempdir().unwrap();
    store
        .engine
        .export_parquet(store.scope(), folder.path())
        .await
        .unwrap();
    let connection = Connection::open_in_memory().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let sql = format!(
        "SELECT to_json(o)::VARCHAR FROM (SELECT * FROM '{}' ORDER BY id) o",
        file("Orders.parquet")
    );
    assert_eq!(texts(&connection, &sql), ROWS);
    let sql = format!(
        "SELECT column_type FROM (DESCRIBE SELECT * FROM '{}')",
        file("select.parquet")
    );
    assert_eq!(texts(&connection, &sql), ["TIMESTAMP"]);
}

#[tokio::test]
async fn a_store_without_tables_is_an_empty_file() {
    let store = Store::new(limits(), Vec::new());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.duckdb");
    store.engine.export_database(store.scope(), &file).await.unwrap();
    let connection = Connection::open(&file).unwrap();
    assert!(texts(&connection, "SELECT table_name FROM duckdb_tables()").is_empty());
    let empty = tempfile::tempdir().unwrap();
    store
        .engine
        .export_parquet(store.scope(), empty.path())
        .await
        .unwrap();
    assert_eq!(std::fs::read_dir(empty.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_missing_file_is_a_fault_of_ours() {
    let store = store().await;
    for path in store.files.values() {
        std::fs::remove_file(path).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.duckdb");
    let error = store
        .engine
        .export_database(store.scope(), &file)
        .await
        .unwrap_err();
    assert_eq!(error.status(), 500, "{error}");
    assert!(
        !error
            .message()
            .contains(&*Path::new(folder.path()).display().to_string()),
        "{error}"
    );
}
