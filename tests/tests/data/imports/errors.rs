//! Tests faulty rows: one error per row, all in one answer, and rounding where an import requests it.

use serde_json::{Value, json};
use tests::stores::{artifact, inline};
use tests::{Answer, Store};

async fn store() -> Store {
    let store = Store::start().await;
    let table = json!({ "tables": [{ "name": "orders", "columns": [
        { "name": "id", "type": "BIGINT", "primary_key": true },
        { "name": "amount", "type": "DECIMAL(10,2)" },
        { "name": "placed", "type": "DATE" },
        { "name": "state", "type": "STRING", "nullable": false },
        { "name": "mail", "type": "STRING", "unique": true }
    ] }] });
    store.post("/tables", &table).await.expect_status(201);
    let rows = json!([{ "id": 1, "state": "new", "mail": "a@x.org" }, { "id": 2, "state": "new" }]);
    store.append("orders", &rows).await.expect_status(200);
    store
}

/// Returns the rows and reasons of an error.
fn reasons(answer: &Answer) -> Vec<(u64, String)> {
    let errors = answer.body["errors"].as_array();
    let errors = errors.unwrap_or_else(|| panic!("no errors in {}", answer.text()));
    let pair = |error: &Value| {
        (
            error["row"].as_u64().unwrap(),
            error["reason"].as_str().unwrap().to_owned(),
        )
    };
    errors.iter().map(pair).collect()
}

#[tokio::test]
async fn faults_of_values_nulls_and_keys_are_listed_together() {
    let store = store().await;
    let rows = json!([
        { "id": 10, "state": "new", "amount": "12.505", "placed": "soon" },
        { "id": 11 },
        { "id": 1, "state": "new" },
        { "id": 12, "state": "new", "mail": "b@x.org" },
        { "id": 13, "state": "new", "mail": "b@x.org" },
        { "id": 12, "state": 7, "colour": "red" },
        { "id": 12, "state": "new" },
        { "id": 14, "state": "new", "mail": "a@x.org" },
        { "id": 15, "state": "new" }
    ]);
    let refused = store.append("orders", &rows).await;
    let refused = refused.expect_error(422, "unprocessable");
    let first =
        "'12.505' has more digits after the point than DECIMAL(10,2) keeps; round it, or set 'rounding'";
    assert_eq!(
        reasons(&refused),
        [
            (1, first.to_owned()),
            (2, "the column 'state' needs a value and has none".to_owned()),
            (3, "the primary key (id) = ('1') is already in the table".to_owned()),
            (
                5,
                "the unique value (mail) = ('b@x.org') occurs twice in the imported data, for the first time in row 4"
                    .to_owned()
            ),
            (6, "the table has no column 'colour'".to_owned()),
            (
                7,
                "the primary key (id) = ('12') occurs twice in the imported data, for the first time in row 4".to_owned()
            ),
            (8, "the unique value (mail) = ('a@x.org') is already in the table".to_owned()),
        ]
    );
    assert_eq!(
        refused.message(),
        format!(
            "Table 'orders', row 1: column 'amount': {first}. 6 more rows are at fault. Row 1 is the first row of data."
        )
    );
    let errors = &refused.body["errors"];
    assert_eq!(
        errors[0],
        json!({ "table": "orders", "row": 1, "column": "amount", "value": "12.505", "reason": first })
    );
    assert_eq!(
        (errors[1]["column"].as_str(), errors[1].get("value")),
        (Some("state"), None)
    );
    assert_eq!(
        (errors[2]["column"].as_str(), errors[2]["value"].as_str()),
        (Some("id"), Some("1"))
    );
    assert_eq!(errors[4].get("column"), None);
    assert_eq!(store.rows("SELECT count(*) FROM orders").await, json!([[2]]));

    // Without a faulty value, and in each mode: replaced rows cannot collide.
    let rows = json!([{ "id": 1, "state": "new" }, { "id": 20 }, { "id": 1, "state": "new" }]);
    let refused = store.append("orders", &rows).await.expect_error(409, "conflict");
    let rows_at_fault = |answer: &Answer| reasons(answer).iter().map(|(row, _)| *row).collect::<Vec<_>>();
    assert_eq!(rows_at_fault(&refused), [1, 2, 3]);
    let mut replace = inline("orders", &rows);
    replace["mode"] = "replace".into();
    let refused = store
        .post("/import", &replace)
        .await
        .expect_error(409, "conflict");
    assert_eq!(rows_at_fault(&refused), [2, 3]);

    // The record of the import has the same list.
    let details = refused.body["details"].as_str().unwrap();
    let id = details.split_whitespace().find(|word| word.len() == 36).unwrap();
    let record = store.get(&format!("/import/{id}")).await.expect_status(200);
    assert_eq!(record.body["errors"], refused.body["errors"]);
    let message = record.body["error"].as_str().unwrap();
    assert!(message.starts_with(refused.message()), "{message}");
}

#[tokio::test]
async fn faults_of_several_tables_are_sorted_by_table_and_row() {
    let store = Store::start().await;
    store.table("a", &["n INTEGER primary_key"]).await;
    store.table("b", &["n INTEGER"]).await;
    let source = |rows: Value| json!({ "source": "inline", "data": rows });
    let body = json!({ "tables": {
        "b": source(json!([{ "n": "x" }, { "n": 1 }])), "a": source(json!([{ "n": 1 }, { "n": 1 }])),
    } });
    let refused = store.post("/import", &body).await;
    let refused = refused.expect_error(422, "unprocessable");
    let errors = refused.body["errors"].as_array().unwrap();
    let places: Vec<_> = errors
        .iter()
        .map(|error| (error["table"].as_str().unwrap(), error["row"].as_u64().unwrap()))
        .collect();
    assert_eq!(places, [("a", 2), ("b", 1)]);
    let details = refused.body["details"].as_str().unwrap();
    assert!(details.contains("table 'b', row 1: column 'n': 'x'"), "{details}");
}

#[tokio::test]
async fn at_most_a_hundred_rows_are_listed() {
    let store = Store::start().await;
    store.table("t", &["a INTEGER", "b DATE"]).await;
    let long = "x".repeat(500);
    let rows: Vec<_> = (0..150).map(|_| json!({ "a": long, "b": "never" })).collect();
    let refused = store.append("t", &json!(rows)).await;
    let refused = refused.expect_error(422, "unprocessable");
    let errors = refused.body["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 100);
    assert_eq!(errors[99]["row"], 100);
    assert_eq!(errors[0]["column"], "a");
    assert_eq!(errors[0]["value"], "x".repeat(100));
    assert!(
        refused
            .message()
            .contains("More than 100 rows are at fault; the first are listed."),
        "{}",
        refused.message()
    );
}

#[tokio::test]
async fn an_unclosed_quote_is_the_one_cause() {
    let store = Store::start().await;
    store.table("t", &["id BIGINT", "name STRING"]).await;
    for (file, row) in [
        ("id,name\n1,a\n2,\"b\n3,c\n4,d\n", 2),
        ("id,name\n1,\"a\n2,b\n3,\"c\"\n4,d,e\n", 1),
    ] {
        let refused = store.append_csv("t", file.as_bytes()).await;
        let refused = refused.expect_error(422, "unprocessable");
        let reason = format!("the quote opened in row {row} is not closed; the rows after it were not read");
        assert_eq!(reasons(&refused), [(row, reason)], "{file:?}");
    }
}

#[tokio::test]
async fn a_row_with_two_faults_counts_once() {
    let store = Store::start().await;
    store.table("t", &["id BIGINT", "name STRING"]).await;
    let row = b"1,\xe9,3\n";
    for (rows, part) in [
        (60, "59 more rows are at fault"),
        (500, "More than 100 rows are at fault"),
    ] {
        let file = [b"id,name\n".to_vec(), row.repeat(rows)].concat();
        let refused = store.append_csv("t", &file).await;
        let refused = refused.expect_error(422, "unprocessable");
        assert!(refused.message().contains(part), "{}", refused.message());
        assert_eq!(refused.body["errors"].as_array().unwrap().len(), rows.min(100));
    }
}

#[tokio::test]
async fn an_import_rounds_as_it_asks() {
    let store = Store::start().await;
    store.table("t", &["n DECIMAL(10,2)", "i INTEGER"]).await;
    let rows = json!([{ "n": 12.505, "i": 2.5 }]);
    store.append("t", &rows).await.expect_error(422, "unprocessable");
    for (rounding, expected) in [
        ("half_even", json!([["12.50", 2]])),
        ("half_up", json!([["12.51", 3]])),
    ] {
        let mut body = inline("t", &rows);
        body["mode"] = "replace".into();
        body["rounding"] = rounding.into();
        store.post("/import", &body).await.expect_status(200);
        assert_eq!(store.rows("SELECT n, i FROM t").await, expected);
    }
    for wrong in [json!("down"), json!("HALF_UP"), json!(2)] {
        let mut body = inline("t", &rows);
        body["rounding"] = wrong;
        let refused = store.post("/import", &body).await;
        let refused = refused.expect_error(400, "invalid_request");
        assert!(refused.message().contains("rounding"), "{}", refused.message());
    }
}

#[tokio::test]
async fn an_import_in_the_background_rounds_and_lists_the_same() {
    let store = Store::start().await;
    store.table("t", &["n DECIMAL(10,2)"]).await;
    store.put_artifact("out/rows.csv", b"n\n1.5\n12.505\n");
    for rounding in [None, Some("half_up")] {
        let mut body = artifact("t", "out/rows.csv");
        body["background"] = true.into();
        if let Some(rounding) = rounding {
            body["rounding"] = rounding.into();
        }
        let import = store.post("/import", &body).await.expect_status(202);
        let path = format!("/import/{}", import.id());
        let record = loop {
            let record = store.get(&path).await.expect_status(200).body;
            if record["completed_at"].is_string() {
                break record;
            }
        };
        match rounding {
            None => {
                assert_eq!(record["status"], "FAILED", "{record}");
                assert_eq!(record["errors"][0]["row"], 2);
                assert_eq!(record["errors"][0]["value"], "12.505");
            }
            Some(_) => assert_eq!(record["status"], "COMPLETED", "{record}"),
        }
    }
    assert_eq!(
        store.rows("SELECT n FROM t ORDER BY n").await,
        json!([["1.50"], ["12.51"]])
    );
}
