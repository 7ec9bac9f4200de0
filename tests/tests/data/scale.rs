//! Tests stores with many tables.

use serde_json::{Map, Value, json};
use tests::Store;
use tests::stores::columns;

const TABLES: usize = 1_000;

#[tokio::test]
async fn a_thousand_tables_work() {
    let store = Store::start().await;
    let of = columns(&[
        "id BIGINT primary_key",
        "name STRING",
        "at TIMESTAMP",
        "amount DECIMAL(12,2)",
    ]);
    let tables: Vec<_> = (0..TABLES)
        .map(|number| json!({ "name": format!("t{number}"), "columns": of }))
        .collect();
    let answer = store.post("/tables", &json!({ "tables": tables })).await;
    answer.expect_status(201);
    let detail = store.detail().await;
    assert_eq!(detail["table_count"], TABLES);
    let listed = store.get("/tables").await.expect_status(200);
    assert_eq!(listed.body.as_array().unwrap().len(), TABLES);
    let schema = store.get("/schema?format=ai").await.expect_status(200);
    assert!(schema.text().contains("t999"));

    // Import into a hundred tables at once.
    let rows: Map<String, Value> = (0..100)
        .map(|number| {
            let data = json!([{ "id": number, "name": format!("row of {number}") }]);
            (
                format!("t{}", number * 10),
                json!({ "source": "inline", "data": data }),
            )
        })
        .collect();
    let imported = store.post("/import", &json!({ "tables": rows })).await;
    imported.expect_status(200);
    let all: Vec<_> = (0..TABLES)
        .map(|number| format!("SELECT id FROM t{number}"))
        .collect();
    let sql = format!("SELECT count(*), sum(id) FROM ({})", all.join(" UNION ALL "));
    assert_eq!(store.rows(&sql).await, json!([[100, 4_950]]));

    let altered = json!({ "add_columns": [{ "name": "more", "type": "STRING", "default": "'x'" }] });
    store.alter("t990", &altered).await.expect_status(200);
    assert_eq!(store.rows("SELECT id, more FROM t990").await, json!([[99, "x"]]));
    store.delete("/tables/t990").await.expect_status(200);
    assert_eq!(store.detail().await["table_count"], TABLES - 1);
}
