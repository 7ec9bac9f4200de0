//! Tests columns that change their type: a wider type keeps the files, any other rewrites them or is refused
//! as a whole.

use serde_json::{Value, json};
use tests::Store;

fn modify(column: &str, to: &str) -> Value {
    json!({ "modify_columns": [{ "name": column, "type": to }] })
}

/// Creates a table `t` with a column `v` of a type, and these values in two files.
async fn column(store: &Store, from: &str, values: &[Value]) {
    store.table("t", &["n BIGINT", &format!("v {from}")]).await;
    let (first, second) = values.split_at(values.len() / 2);
    for (values, offset) in [(first, 1), (second, 1 + first.len())] {
        let rows = values
            .iter()
            .zip(offset..)
            .map(|(value, n)| json!({ "n": n, "v": value }));
        let imported = store.append("t", &rows.collect()).await;
        imported.expect_status(200);
    }
}

#[tokio::test]
async fn widening_is_exact_and_takes_new_rows() {
    let store = Store::start().await;
    for (from, to, values, texts, wider) in [
        (
            "INTEGER",
            "BIGINT",
            json!([-2_147_483_648_i64, null, 2_147_483_647]),
            json!([-2_147_483_648_i64, null, 2_147_483_647]),
            json!(2_147_483_648_i64),
        ),
        (
            "INTEGER",
            "DOUBLE",
            json!([-2_147_483_648_i64, null, 2_147_483_647]),
            json!([-2_147_483_648.0, null, 2_147_483_647.0]),
            json!(0.5),
        ),
        (
            "INTEGER",
            "DECIMAL(14,4)",
            json!([-2_147_483_648_i64, null, 7]),
            json!(["-2147483648.0000", null, "7.0000"]),
            json!("9999999999.9999"),
        ),
        (
            "BIGINT",
            "DECIMAL(38,19)",
            json!(["-9223372036854775808", null, "9223372036854775807"]),
            json!([
                "-9223372036854775808.0000000000000000000",
                null,
                "9223372036854775807.0000000000000000000"
            ]),
            json!("0.0000000000000000001"),
        ),
        (
            "FLOAT",
            "DOUBLE",
            json!([0.5, null, 0.1]),
            json!([0.5, null, 0.100_000_001_490_116_12]),
            json!(1e300),
        ),
        (
            "DECIMAL(4,2)",
            "DECIMAL(20,6)",
            json!(["-99.99", null, "0.01"]),
            json!(["-99.990000", null, "0.010000"]),
            json!("12345678901234.567891"),
        ),
        (
            "JSON",
            "STRING",
            json!([{ "a": [1] }, null, "x"]),
            json!(["{\"a\":[1]}", null, "\"x\""]),
            json!("{not JSON"),
        ),
    ] {
        let what = format!("{from} to {to}");
        column(&store, from, values.as_array().unwrap()).await;
        let bytes = store.detail().await["storage_bytes"].clone();
        let altered = store.alter("t", &modify("v", to)).await.expect_status(200);
        assert_eq!(altered.body["columns"][1]["type"], to, "{what}");
        // The files did not change.
        assert_eq!(store.detail().await["storage_bytes"], bytes, "{what}");
        let expected: Vec<_> = texts
            .as_array()
            .unwrap()
            .iter()
            .map(|value| json!([value]))
            .collect();
        assert_eq!(
            store.rows("SELECT v FROM t ORDER BY n").await,
            json!(expected),
            "{what}"
        );
        store
            .append("t", &json!([{ "n": 99, "v": wider }]))
            .await
            .expect_status(200);
        let sql = "SELECT count(*) FROM t a JOIN (SELECT v FROM t) b ON a.v = b.v";
        assert_eq!(store.rows(sql).await, json!([[3]]), "{what}");
        let sql = "SELECT count(*) FROM t WHERE v >= (SELECT min(v) FROM t) AND v <= (SELECT max(v) FROM t)";
        assert_eq!(store.rows(sql).await, json!([[3]]), "{what}");
        store.delete("/tables/t").await.expect_status(200);
    }
}

#[tokio::test]
async fn type_change_converts_values_that_the_new_type_holds_exactly() {
    let store = Store::start().await;
    for (from, to, values, texts) in [
        (
            "BIGINT",
            "INTEGER",
            json!([1, null, -2_147_483_648_i64]),
            json!([1, null, -2_147_483_648_i64]),
        ),
        (
            "DOUBLE",
            "BIGINT",
            json!([1.0, null, 1e16]),
            json!([1, null, "10000000000000000"]),
        ),
        ("DOUBLE", "FLOAT", json!([0.1, null, 3]), json!([0.1, null, 3.0])),
        (
            "BIGINT",
            "DOUBLE",
            json!([1, null, "9007199254740992"]),
            json!([1.0, null, 9_007_199_254_740_992.0]),
        ),
        (
            "DECIMAL(18,4)",
            "DECIMAL(6,2)",
            json!(["1.5", null, "-9999.99"]),
            json!(["1.50", null, "-9999.99"]),
        ),
        (
            "DECIMAL(18,4)",
            "INTEGER",
            json!(["1", null, "-7"]),
            json!([1, null, -7]),
        ),
        (
            "DOUBLE",
            "DECIMAL",
            json!([0.1, null, -2.5]),
            json!(["0.1000", null, "-2.5000"]),
        ),
        (
            "INTEGER",
            "BOOLEAN",
            json!([0, null, 1]),
            json!([false, null, true]),
        ),
        (
            "BOOLEAN",
            "INTEGER",
            json!([false, null, true]),
            json!([0, null, 1]),
        ),
        (
            "STRING",
            "INTEGER",
            json!(["7", null, "-1"]),
            json!([7, null, -1]),
        ),
        (
            "STRING",
            "DATE",
            json!(["2024-02-29", null, "2026-01-02"]),
            json!(["2024-02-29", null, "2026-01-02"]),
        ),
        (
            "STRING",
            "TIMESTAMP",
            json!(["2024-01-01T10:00:00+02:00", null, "2024-01-01 10:00:00"]),
            json!(["2024-01-01T08:00:00.000Z", null, "2024-01-01T10:00:00.000Z"]),
        ),
        (
            "STRING",
            "JSON",
            json!(["{\"a\": 1}", null, "[]"]),
            json!([{ "a": 1 }, null, []]),
        ),
        (
            "DATE",
            "TIMESTAMP",
            json!(["2024-02-29", null, "1900-01-01"]),
            json!(["2024-02-29T00:00:00.000Z", null, "1900-01-01T00:00:00.000Z"]),
        ),
        (
            "TIMESTAMP",
            "DATE",
            json!(["2024-02-29", null, "1900-01-01 00:00:00"]),
            json!(["2024-02-29", null, "1900-01-01"]),
        ),
        (
            "DATE",
            "STRING",
            json!(["2024-02-29", null, "1900-01-01"]),
            json!(["2024-02-29", null, "1900-01-01"]),
        ),
        (
            "DECIMAL",
            "STRING",
            json!(["1.5", null, "2"]),
            json!(["1.5000", null, "2.0000"]),
        ),
        ("BIGINT", "JSON", json!([1, null, -2]), json!([1, null, -2])),
        (
            "DATE",
            "JSON",
            json!(["2024-02-29", null, "1900-01-01"]),
            json!(["2024-02-29", null, "1900-01-01"]),
        ),
        ("JSON", "INTEGER", json!([1, null, -2]), json!([1, null, -2])),
    ] {
        let what = format!("{from} to {to}");
        column(&store, from, values.as_array().unwrap()).await;
        let altered = store.alter("t", &modify("v", to)).await;
        assert_eq!(altered.status, 200, "{what}: {}", altered.text());
        let rows = store.rows("SELECT n, v FROM t").await;
        let expected: Vec<_> = texts
            .as_array()
            .unwrap()
            .iter()
            .zip(1..)
            .map(|(value, n)| json!([n, value]))
            .collect();
        assert_eq!(rows, json!(expected), "{what}");
        store.append("t", &json!([{ "n": 99 }])).await.expect_status(200);
        store.delete("/tables/t").await.expect_status(200);
    }
}

#[tokio::test]
async fn type_change_with_an_unconvertible_value_is_refused_and_names_it() {
    let store = Store::start().await;
    for (from, to, values, row, value) in [
        (
            "BIGINT",
            "INTEGER",
            json!([1, 2, 2_147_483_648_i64]),
            3,
            "2147483648",
        ),
        ("DOUBLE", "INTEGER", json!([1, 1.5, 2]), 2, "1.5"),
        ("DOUBLE", "FLOAT", json!([1, 2, 1e300]), 3, "1e+300"),
        (
            "BIGINT",
            "DOUBLE",
            json!([1, "9007199254740993"]),
            2,
            "9007199254740993",
        ),
        (
            "DECIMAL(18,4)",
            "DECIMAL(6,2)",
            json!(["1.255", "2"]),
            1,
            "1.2550",
        ),
        ("DOUBLE", "DECIMAL", json!([0.5, 0.00001]), 2, "1e-05"),
        ("STRING", "INTEGER", json!(["1", "two"]), 2, "two"),
        ("STRING", "JSON", json!(["1", "{"]), 2, "{"),
        (
            "STRING",
            "DATE",
            json!(["2024-01-01", "2024-02-30"]),
            2,
            "2024-02-30",
        ),
        (
            "TIMESTAMP",
            "DATE",
            json!(["2024-01-01", "2024-01-01 00:00:01"]),
            2,
            "2024-01-01 00:00:01",
        ),
        ("DATE", "INTEGER", json!(["2024-01-01"]), 1, "2024-01-01"),
        ("INTEGER", "BOOLEAN", json!([1, 2]), 2, "2"),
        ("BOOLEAN", "DATE", json!([true]), 1, "true"),
        ("JSON", "BIGINT", json!([1, { "a": 1 }]), 2, "{\"a\":1}"),
    ] {
        let what = format!("{from} to {to}");
        column(&store, from, values.as_array().unwrap()).await;
        let before = store.detail().await;
        let refused = store.alter("t", &modify("v", to)).await;
        let refused = refused.expect_error(422, "unprocessable");
        let expected = format!("Table 't', row {row}: column 'v': '{value}' does not convert to ");
        assert!(
            refused.message().starts_with(&expected),
            "{what}: {}",
            refused.message()
        );
        assert_eq!(store.detail().await, before, "{what}");
        store.delete("/tables/t").await.expect_status(200);
    }
    // Ten faults are listed, across all files and columns.
    store.table("t", &["a STRING", "b STRING"]).await;
    for file in 0..3 {
        let rows = (0..5).map(|n| json!({ "a": format!("a{file}{n}"), "b": if n == 2 { "x" } else { "1" } }));
        store.append("t", &rows.collect()).await.expect_status(200);
    }
    let changes = json!({ "modify_columns": [
        { "name": "a", "type": "STRING", "description": "stays" }, { "name": "b", "type": "BIGINT" }
    ] });
    let refused = store
        .alter("t", &changes)
        .await
        .expect_error(422, "unprocessable");
    let details = refused.body["details"].as_str().unwrap();
    let rows: Vec<_> = details
        .split("; ")
        .map(|line| line.split(':').next().unwrap())
        .collect();
    assert_eq!(rows, ["row 3", "row 8", "row 13"]);
    let changes =
        json!({ "modify_columns": [{ "name": "a", "type": "BIGINT" }, { "name": "b", "type": "BIGINT" }] });
    let refused = store
        .alter("t", &changes)
        .await
        .expect_error(422, "unprocessable");
    assert_eq!(refused.body["details"].as_str().unwrap().split("; ").count(), 10);
    let rows = store.rows("SELECT count(*), count(DISTINCT a) FROM t").await;
    assert_eq!(rows, json!([[15, 15]]));
}

#[tokio::test]
async fn a_rewrite_keeps_what_it_does_not_change() {
    let store = Store::start().await;
    store
        .table(
            "t",
            &["id BIGINT primary_key", "v STRING unique", "w DOUBLE", "x JSON"],
        )
        .await;
    let rows = json!([
        { "id": 1, "v": "1", "w": 0.1, "x": { "b": 1, "a": [null] } }, { "id": 2, "v": null, "w": 1e300, "x": null }
    ]);
    store.append("t", &rows).await.expect_status(200);
    let add =
        json!({ "add_columns": [{ "name": "s", "type": "STRING", "default": "'old'" }], "drop_columns": [] });
    store.alter("t", &add).await.expect_status(200);
    store
        .append("t", &json!([{ "id": 3, "v": "3", "s": "new" }]))
        .await
        .expect_status(200);
    let changes = json!({
        "rename_columns": [{ "from": "v", "to": "number" }],
        "modify_columns": [{ "name": "number", "type": "INTEGER" }],
        "add_columns": [{ "name": "e", "type": "BIGINT", "default": "5" }]
    });
    let altered = store.alter("t", &changes).await.expect_status(200);
    assert_eq!(altered.body["row_count"], 3);
    let rows = store.rows("SELECT * FROM t").await;
    let expected = json!([
        [1, 1, 0.1, { "b": 1, "a": [null] }, "old", 5], [2, null, 1e300, null, "old", 5], [3, 3, null, null, "new", 5]
    ]);
    assert_eq!(rows, expected);
    let refused = store.append("t", &json!([{ "id": 4, "number": 3 }])).await;
    refused.expect_error(409, "conflict");
    // Values that become equal break a key.
    store.table("k", &["v STRING unique"]).await;
    store
        .append("k", &json!([{ "v": "1" }, { "v": "01" }]))
        .await
        .expect_status(200);
    let refused = store
        .alter("k", &modify("v", "INTEGER"))
        .await
        .expect_error(409, "conflict");
    assert!(refused.message().contains("(v) = ('1')"), "{}", refused.message());
    assert_eq!(store.rows("SELECT v FROM k").await, json!([["1"], ["01"]]));
    // A type and a rule in one request: rows are numbered across all files.
    store
        .append("k", &json!([{ "v": "2" }, {}]))
        .await
        .expect_status(200);
    let both =
        json!({ "modify_columns": [{ "name": "v", "type": "INTEGER", "nullable": false, "unique": false }] });
    let refused = store.alter("k", &both).await.expect_error(409, "conflict");
    assert!(refused.message().contains("row 4"), "{}", refused.message());
    if !store.service.is_shared() {
        let report = store.service.operator().json(&["check"]);
        assert_eq!(report["findings"], json!([]));
    }
}

#[tokio::test]
async fn an_empty_table_takes_any_type() {
    let store = Store::start().await;
    store.table("t", &["v DATE"]).await;
    let default = json!({ "modify_columns": [{ "name": "v", "default": "'2024-01-01'" }] });
    store.alter("t", &default).await.expect_status(200);
    let refused = store.alter("t", &modify("v", "BIGINT")).await;
    let refused = refused.expect_error(400, "invalid_request");
    assert!(
        refused.message().contains("modify_columns[0].default"),
        "{}",
        refused.message()
    );
    let both =
        json!({ "modify_columns": [{ "name": "v", "type": "BIGINT", "default": "8", "primary_key": true }] });
    store.alter("t", &both).await.expect_status(200);
    store.append("t", &json!([{}])).await.expect_status(200);
    assert_eq!(store.rows("SELECT v FROM t").await, json!([[8]]));
}
