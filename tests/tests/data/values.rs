//! Tests values of imported rows: every type, values that do not fit, and missing values.

use serde_json::json;
use tests::Store;
use tests::stores::inline;

const KINDS: [&str; 11] = [
    "s STRING",
    "i INTEGER",
    "b BIGINT",
    "f FLOAT",
    "d DOUBLE",
    "n DECIMAL(20,3)",
    "t BOOLEAN",
    "day DATE",
    "at TIMESTAMP",
    "j JSON",
    "k INTEGER",
];

#[tokio::test]
async fn values_of_every_type_come_back_as_they_went_in() {
    let store = Store::start().await;
    store.table("kinds", &KINDS).await;
    let long = "\u{1F600}é\u{0}\n\"'\\".repeat(10_000);
    for (column, value, expected) in [
        ("s", json!("it's \"quoted\", ; -- é 日本 \u{1F600}\r\n\t"), None),
        ("s", json!(""), None),
        ("s", json!(" null "), None),
        ("s", json!(long), None),
        ("i", json!(-2_147_483_648), None),
        ("i", json!("42"), Some(json!(42))),
        ("i", json!(7.0), Some(json!(7))),
        ("b", json!(9_007_199_254_740_992_i64), None),
        (
            "b",
            json!(9_007_199_254_740_993_i64),
            Some(json!("9007199254740993")),
        ),
        ("b", json!("-9223372036854775808"), None),
        ("f", json!(0.1), None),
        ("f", json!(-1.5e10), None),
        ("d", json!(1.797_693_134_862_315_7e308), None),
        ("d", json!(0.1), None),
        ("d", json!(7), Some(json!(7.0))),
        ("n", json!("12345678901234567.891"), None),
        ("n", json!(-0.5), Some(json!("-0.500"))),
        ("n", json!(12), Some(json!("12.000"))),
        ("t", json!(true), None),
        ("t", json!(false), None),
        ("day", json!("2024-02-29"), None),
        ("day", json!("0001-01-01"), None),
        ("at", json!("2024-05-01T10:11:12.345Z"), None),
        ("at", json!("2024-05-01T10:11:12.345678Z"), None),
        (
            "at",
            json!("2024-05-01 10:11:12"),
            Some(json!("2024-05-01T10:11:12.000Z")),
        ),
        (
            "at",
            json!("2024-05-01T10:00:00+02:00"),
            Some(json!("2024-05-01T08:00:00.000Z")),
        ),
        ("at", json!("2024-05-01"), Some(json!("2024-05-01T00:00:00.000Z"))),
        ("j", json!({ "a": [1, 2.5, null, { "é": "x" }], "b": {} }), None),
        ("j", json!([]), None),
        ("j", json!("text"), None),
        ("j", json!(7), None),
        ("k", json!(null), None),
        ("s", json!(null), None),
    ] {
        let rows = json!([{ "k": 1, column: value }]);
        let mut body = inline("kinds", &rows);
        body["mode"] = "replace".into();
        store.post("/import", &body).await.expect_status(200);
        // Quoted, because `at` is a keyword of SQL.
        let rows = store.rows(&format!("SELECT \"{column}\" FROM kinds")).await;
        assert_eq!(rows, json!([[expected.unwrap_or(value)]]), "{column}");
    }
}

#[tokio::test]
async fn a_value_that_does_not_fit_is_named_and_nothing_is_there() {
    let store = Store::start().await;
    store.table("kinds", &KINDS).await;
    for (column, values) in [
        ("s", vec![json!({}), json!([])]),
        (
            "i",
            vec![
                json!("x"),
                json!(1.5),
                json!(2_147_483_648_i64),
                json!(true),
                json!(""),
                json!("1e-3"),
            ],
        ),
        ("b", vec![json!("9223372036854775808"), json!({}), json!("1,000")]),
        ("f", vec![json!("x"), json!([1]), json!(true)]),
        ("d", vec![json!("one"), json!("")]),
        ("n", vec![json!("1e"), json!("123456789012345678901")]),
        ("t", vec![json!("maybe"), json!(2), json!([true])]),
        (
            "day",
            vec![
                json!("2024-02-30"),
                json!("soon"),
                json!(20_240_501),
                json!("01/05/2024"),
            ],
        ),
        ("at", vec![json!("2024-05-01T25:00:00Z"), json!(1_714_557_600)]),
    ] {
        for value in values {
            let rows = json!([{ "k": 1 }, { "k": 2, column: value }]);
            let refused = store.append("kinds", &rows).await;
            let refused = refused.expect_error(422, "unprocessable");
            for part in ["kinds", "row 2", &format!("'{column}'")] {
                assert!(
                    refused.message().contains(part),
                    "{column} {value}: {}",
                    refused.message()
                );
            }
        }
    }
    assert_eq!(store.rows("SELECT count(*) FROM kinds").await, json!([[0]]));
}

#[tokio::test]
async fn value_beyond_its_type_is_refused_and_not_cut_off() {
    let store = Store::start().await;
    store.table("kinds", &KINDS).await;
    let mut wrong = Vec::new();
    for (column, value) in [
        ("i", json!(0.5)),
        ("n", json!(0.0001)),
        ("n", json!("12.5005")),
        ("n", json!("1e-4")),
        ("d", json!(9_007_199_254_740_993_i64)),
        ("f", json!(16_777_217)),
        ("at", json!("2024-05-01T10:00:00.1234567Z")),
        ("b", json!("-9223372036854775809")),
        ("f", json!(1e39)),
        ("f", json!("-1e39")),
        ("d", json!("1e400")),
        ("n", json!("1e20")),
        ("day", json!("2024-05-01T10:00:00Z")),
        ("day", json!("2024-05-01 10:00:00")),
    ] {
        let answer = store.append("kinds", &json!([{ column: value }])).await;
        if answer.status != 422 || !answer.message().contains("row 1") {
            let rows = store.rows(&format!("SELECT {column} FROM kinds")).await;
            wrong.push(format!("{column} {value} is {rows}: {}", answer.text()));
            let replace =
                json!({ "mode": "replace", "tables": { "kinds": { "source": "inline", "data": [] } } });
            store.post("/import", &replace).await.expect_status(200);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn up_to_ten_bad_values_are_listed() {
    let store = Store::start().await;
    store.table("t", &["a INTEGER", "b DATE"]).await;
    let rows: Vec<_> = (1..=30)
        .map(|n| json!({ "a": "x", "b": format!("day {n}") }))
        .collect();
    let refused = store.append("t", &json!(rows)).await;
    let refused = refused.expect_error(422, "unprocessable");
    let details = refused.body["details"].as_str().unwrap();
    assert_eq!(details.matches("column ").count(), 10, "{details}");
    assert!(
        details.contains("row 1:") && details.contains("row 10:"),
        "{details}"
    );
    assert!(!details.contains("row 11:"), "{details}");
}

#[tokio::test]
async fn the_first_bad_row_is_told_whatever_is_wrong_with_it() {
    let store = Store::start().await;
    store.table("t", &["a INTEGER", "b DATE"]).await;
    let rows = json!([{ "a": 1 }, { "a": "x" }, { "c": 1 }, 7, { "a": 1, "A": 2 }]);
    let refused = store.append("t", &rows).await;
    let refused = refused.expect_error(422, "unprocessable");
    assert!(refused.message().contains("row 2"), "{}", refused.text());
    let details = refused.body["details"].as_str().unwrap();
    for row in ["row 2", "row 3", "row 4", "row 5"] {
        assert!(details.contains(row), "{details}");
    }
}

#[tokio::test]
async fn an_unknown_column_is_named() {
    let store = Store::start().await;
    store.table("t", &["a INTEGER"]).await;
    let refused = store
        .append("t", &json!([{ "a": 1 }, { "A": 2, "amout": 3 }]))
        .await;
    let refused = refused.expect_error(422, "unprocessable");
    for part in ["'t'", "row 2", "'amout'"] {
        assert!(refused.message().contains(part), "{}", refused.message());
    }
    store.append("T", &json!([{ "A": 2 }])).await.expect_status(200);
    assert_eq!(store.rows("SELECT a FROM t").await, json!([[2]]));
}

#[tokio::test]
async fn value_left_out_of_a_row_is_its_default_null_or_an_error() {
    let store = Store::start().await;
    let table = json!({ "tables": [{ "name": "t", "columns": [
        { "name": "id", "type": "BIGINT" },
        { "name": "state", "type": "STRING", "nullable": false, "default": "'new'" },
        { "name": "note", "type": "STRING" },
        { "name": "mail", "type": "STRING", "nullable": false }
    ] }] });
    store.post("/tables", &table).await.expect_status(201);
    let good = json!([{ "id": 1, "mail": "a" }, { "id": 2, "mail": "b", "state": "old", "note": "x" }]);
    store.append("t", &good).await.expect_status(200);
    for bad in [
        json!([{ "id": 3, "mail": "c" }, { "id": 4 }]),
        json!([{ "id": 3, "mail": "c" }, { "id": 4, "mail": null }]),
        json!([{ "id": 3, "mail": "c" }, { "id": 4, "mail": "d", "state": null }]),
    ] {
        let refused = store.append("t", &bad).await.expect_error(409, "conflict");
        assert!(refused.message().contains("'t'"), "{}", refused.message());
        assert!(refused.message().contains("row 2"), "{}", refused.message());
        let column = if bad[1]["state"].is_null() && bad[1].get("state").is_some() {
            "'state'"
        } else {
            "'mail'"
        };
        assert!(refused.message().contains(column), "{}", refused.message());
    }
    assert_eq!(
        store.rows("SELECT * FROM t ORDER BY id").await,
        json!([[1, "new", null, "a"], [2, "old", "x", "b"]])
    );
}
