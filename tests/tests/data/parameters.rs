//! Tests parameters of queries: each is one value, and never a part of the statement.

use serde_json::json;
use tests::Store;

/// Creates a store with orders of some customers.
async fn started() -> Store {
    let store = Store::start().await;
    let columns = ["id BIGINT", "customer STRING", "amount DECIMAL(12,2)", "day DATE"];
    store.table("orders", &columns).await;
    let orders = json!([
        { "id": 1, "customer": "Ada", "amount": "10.50", "day": "2024-01-01" },
        { "id": 2, "customer": "Ada", "amount": "5.00", "day": "2024-01-02" },
        { "id": 3, "customer": "O'Hara", "amount": "7.25", "day": "2024-02-01" },
        { "id": 4, "customer": null, "amount": "1.00", "day": "2024-02-01" }
    ]);
    store.append("orders", &orders).await.expect_status(200);
    store
}

#[tokio::test]
async fn a_parameter_is_one_value_of_its_kind() {
    let store = started().await;
    let mut wrong = Vec::new();
    for (sql, params, expected) in [
        ("SELECT {{a}}", json!({ "a": "text" }), json!([["text"]])),
        ("SELECT {{a}}", json!({ "a": "" }), json!([[""]])),
        ("SELECT {{a}}", json!({ "a": 7 }), json!([[7]])),
        (
            "SELECT {{a}}",
            json!({ "a": 9_007_199_254_740_993_i64 }),
            json!([["9007199254740993"]]),
        ),
        ("SELECT {{a}} + 1", json!({ "a": -2 }), json!([[-1]])),
        ("SELECT {{a}}", json!({ "a": true }), json!([[true]])),
        ("SELECT {{a}} IS NULL", json!({ "a": null }), json!([[true]])),
        ("SELECT {{a}} = 0.1", json!({ "a": 0.1 }), json!([[true]])),
        (
            "SELECT {{a}}, {{b}}, {{a}}",
            json!({ "a": 1, "b": "x", "unused": {} }),
            json!([[1, "x", 1]]),
        ),
        (
            "SELECT id FROM orders WHERE customer = {{a}}",
            json!({ "a": "O'Hara" }),
            json!([[3]]),
        ),
        (
            "SELECT id FROM orders WHERE amount > {{a}}",
            json!({ "a": 10.49 }),
            json!([[1]]),
        ),
        (
            "SELECT id FROM orders WHERE day = {{a}}::DATE AND id < {{b}}",
            json!({ "a": "2024-02-01", "b": 4 }),
            json!([[3]]),
        ),
        (
            "SELECT id FROM orders WHERE id IN ({{a}}) ORDER BY id",
            json!({ "a": [1, 3, 99] }),
            json!([[1], [3]]),
        ),
        (
            "SELECT id FROM orders WHERE id NOT IN ({{a}}) ORDER BY id",
            json!({ "a": [1, 3] }),
            json!([[2], [4]]),
        ),
        (
            "SELECT id FROM orders WHERE customer IN ({{a}})",
            json!({ "a": ["O'Hara", "'); --"] }),
            json!([[3]]),
        ),
        (
            "SELECT count(*) FROM orders WHERE id IN ({{a}})",
            json!({ "a": [] }),
            json!([[0]]),
        ),
        (
            "SELECT count(*) FROM orders WHERE id NOT IN ({{a}})",
            json!({ "a": [] }),
            json!([[4]]),
        ),
        ("SELECT {{a}}", json!({ "a": [1, 2] }), json!([[[1, 2]]])),
        ("SELECT len({{a}})", json!({ "a": [] }), json!([[0]])),
        (
            "SELECT list_contains({{a}}, 'x')",
            json!({ "a": ["x", null] }),
            json!([[true]]),
        ),
        (
            "SELECT id FROM orders ORDER BY id LIMIT {{a}}",
            json!({ "a": 1 }),
            json!([[1]]),
        ),
        (
            "SELECT {'a': {'b': {{a}}}}",
            json!({ "a": 1 }),
            json!([[{ "a": { "b": 1 } }]]),
        ),
        // Placeholders inside literals, quoted names and comments are plain text.
        ("SELECT '{{a}}'", json!({}), json!([["{{a}}"]])),
        (
            "SELECT 'it''s {{a}}', {{b}}",
            json!({ "b": 1 }),
            json!([["it's {{a}}", 1]]),
        ),
        ("SELECT 1 AS \"{{a}}\"", json!({}), json!([[1]])),
        ("SELECT 1 -- {{a}}", json!({}), json!([[1]])),
        ("SELECT /* {{a}} /* {{b}} */ */ 1", json!({}), json!([[1]])),
        ("SELECT $${{a}}$$", json!({}), json!([["{{a}}"]])),
        // No value changes the statement.
        (
            "SELECT {{a}}",
            json!({ "a": "'; DROP TABLE orders; --" }),
            json!([["'; DROP TABLE orders; --"]]),
        ),
        (
            "SELECT count(*) FROM orders WHERE customer = {{a}}",
            json!({ "a": "x' OR '1'='1" }),
            json!([[0]]),
        ),
        ("SELECT {{a}}", json!({ "a": "{{b}}" }), json!([["{{b}}"]])),
        (
            "SELECT {{a}}, {{b}}",
            json!({ "a": "{{b}}", "b": "$1" }),
            json!([["{{b}}", "$1"]]),
        ),
        (
            "SELECT {{a}}",
            json!({ "a": "\u{0} \\' \" $1 ?" }),
            json!([["\u{0} \\' \" $1 ?"]]),
        ),
        (
            "SELECT count(*) FROM orders WHERE id IN ({{a}})",
            json!({ "a": ["1"] }),
            json!([[1]]),
        ),
        ("SELECT -{{a}}", json!({ "a": -1 }), json!([[1]])),
    ] {
        let answer = store.query(sql, &params).await;
        if answer.status != 200 || answer.body["rows"] != expected {
            wrong.push(format!("{sql} {params} is not {expected}: {}", answer.text()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_parameter_that_cannot_be_one_is_refused() {
    let store = started().await;
    let mut wrong = Vec::new();
    for (sql, params, part) in [
        ("SELECT {{a}}", json!({}), "'a'"),
        ("SELECT {{a}}, {{second_1}}", json!({ "a": 1 }), "'second_1'"),
        ("SELECT {{A}}", json!({ "a": 1 }), "'A'"),
        ("SELECT {{a}}", json!({ "a": {} }), "'a'"),
        ("SELECT {{a}}", json!({ "a": { "b": 1 } }), "'a'"),
        ("SELECT {{a}}", json!({ "a": [[1]] }), "'a'"),
        ("SELECT $1", json!({}), "{{name}}"),
        ("SELECT ?", json!({}), "{{name}}"),
        ("SELECT $a", json!({ "a": 1 }), "{{name}}"),
        ("SELECT * FROM {{a}}", json!({ "a": "orders" }), "ine 1, column"),
        (
            "SELECT id AS {{a}} FROM orders",
            json!({ "a": "x" }),
            "ine 1, column",
        ),
        ("{{a}}", json!({ "a": "SELECT 1" }), "ine 1, column"),
    ] {
        let refused = store.query(sql, &params).await;
        if refused.status != 400 || !refused.message().contains(part) {
            wrong.push(format!("{sql} {params}: {}", refused.text()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for params in [json!([]), json!("a"), json!(7)] {
        let refused = store.query("SELECT 1", &params).await;
        let refused = refused.expect_error(400, "invalid_request");
        assert!(refused.message().contains("params"), "{}", refused.message());
    }
}
