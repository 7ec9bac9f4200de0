//! Tests queries: SQL, limits, messages, and the JSON forms of results.

use serde_json::{Value, json};
use tests::Store;

/// Creates a store with orders of three customers.
async fn started() -> Store {
    let store = Store::start().await;
    store
        .table(
            "Orders",
            &[
                "id BIGINT primary_key",
                "customer STRING",
                "amount DECIMAL(12,2)",
                "day DATE",
            ],
        )
        .await;
    store
        .table("customers", &["name STRING primary_key", "country STRING"])
        .await;
    let orders = json!([
        { "id": 1, "customer": "Ada", "amount": "10.50", "day": "2024-01-01" },
        { "id": 2, "customer": "Ada", "amount": "5.00", "day": "2024-01-02" },
        { "id": 3, "customer": "O'Hara", "amount": "7.25", "day": "2024-02-01" },
        { "id": 4, "customer": null, "amount": "1.00", "day": "2024-02-01" }
    ]);
    let customers = json!([{ "name": "Ada", "country": "UK" }, { "name": "O'Hara", "country": "IE" }]);
    store.append("Orders", &orders).await.expect_status(200);
    store.append("customers", &customers).await.expect_status(200);
    store
}

#[tokio::test]
async fn an_answer_has_the_fields_of_the_contract() {
    let store = started().await;
    let sql = "SELECT id, customer, amount, day FROM orders WHERE id = 3";
    let mut answer = store.query(sql, &json!({})).await.expect_status(200);
    assert_eq!(answer.header("content-type"), "application/json");
    assert!(answer.body["execution_time_ms"].is_number(), "{}", answer.text());
    answer.body["execution_time_ms"] = 0.into();
    let expected = json!({
        "columns": ["id", "customer", "amount", "day"],
        "column_types": ["BIGINT", "STRING", "DECIMAL(12,2)", "DATE"],
        "rows": [[3, "O'Hara", "7.25", "2024-02-01"]],
        "row_count": 1,
        "truncated": false,
        "execution_time_ms": 0
    });
    assert_eq!(answer.body, expected);
}

#[tokio::test]
async fn sql_of_many_kinds_is_answered() {
    let store = started().await;
    let mut wrong = Vec::new();
    for (sql, expected) in [
        ("SELECT count(*) FROM ORDERS", json!([[4]])),
        ("SELECT COUNT(*) FROM \"orders\";", json!([[4]])),
        ("FROM orders SELECT id ORDER BY id LIMIT 1", json!([[1]])),
        ("VALUES (1, 'a')", json!([[1, "a"]])),
        (
            "SELECT id FROM orders WHERE day >= DATE '2024-02-01' ORDER BY ALL",
            json!([[3], [4]]),
        ),
        (
            "WITH big AS (SELECT * FROM orders WHERE amount > 5) SELECT sum(amount) FROM big",
            json!([["17.75"]]),
        ),
        (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT sum(i) FROM n",
            json!([[15]]),
        ),
        (
            "SELECT id, row_number() OVER (PARTITION BY customer ORDER BY amount DESC) FROM orders WHERE id < 3 ORDER BY id",
            json!([[1, 1], [2, 2]]),
        ),
        (
            "SELECT c.country, sum(o.amount) FROM orders o JOIN customers c ON c.name = o.customer GROUP BY 1 ORDER BY 1",
            json!([["IE", "7.25"], ["UK", "15.50"]]),
        ),
        (
            "SELECT o.id FROM orders o LEFT JOIN customers c ON c.name = o.customer WHERE c.name IS NULL",
            json!([[4]]),
        ),
        (
            "(SELECT customer FROM orders INTERSECT SELECT name FROM customers) ORDER BY 1",
            json!([["Ada"], ["O'Hara"]]),
        ),
        (
            "SELECT id FROM orders EXCEPT SELECT id FROM orders WHERE id > 1",
            json!([[1]]),
        ),
        (
            "SELECT (SELECT max(amount) FROM orders) AS most",
            json!([["10.50"]]),
        ),
        (
            "SELECT count(*) FILTER (WHERE customer IS NULL) FROM orders",
            json!([[1]]),
        ),
        (
            "SELECT date_trunc('month', day), count(*) FROM orders GROUP BY 1 ORDER BY 1 LIMIT 1",
            json!([["2024-01-01T00:00:00.000Z", 2]]),
        ),
        ("PIVOT orders ON customer IN ('Ada') USING count(*)", json!(null)),
        ("SELECT 1 -- a comment; with a semicolon", json!([[1]])),
        ("/* first */ SELECT /* ; */ 1 ;  -- last", json!([[1]])),
        ("SELECT * FROM orders WHERE false", json!([])),
        ("SELECT \u{1F600} FROM (SELECT 1 AS \u{1F600})", json!([[1]])),
    ] {
        let answer = store.query(sql, &json!({})).await;
        let count = answer.body["rows"].as_array().map_or(0, Vec::len);
        let is_expected = expected.is_null() || answer.body["rows"] == expected;
        if answer.status != 200 || !is_expected || answer.body["row_count"] != count {
            wrong.push(format!("{sql}: {}", answer.text()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn value_of_each_type_has_one_json_form() {
    let store = Store::start().await;
    let mut wrong = Vec::new();
    for (sql, expected) in [
        ("9007199254740992", json!(9_007_199_254_740_992_i64)),
        ("9007199254740993", json!("9007199254740993")),
        ("-9007199254740993", json!("-9007199254740993")),
        ("18446744073709551615::UBIGINT", json!("18446744073709551615")),
        (
            "170141183460469231731687303715884105727",
            json!("170141183460469231731687303715884105727"),
        ),
        ("1.50", json!("1.50")),
        ("0.1::DOUBLE + 0.2", json!(0.1 + 0.2)),
        ("'nan'::DOUBLE", json!(null)),
        ("'-inf'::DOUBLE", json!(null)),
        ("'inf'::FLOAT", json!(null)),
        ("1e308", json!(1e308)),
        ("1e400", json!(null)),
        ("'\u{1}\u{7f}\u{2028}'", json!("\u{1}\u{7f}\u{2028}")),
        ("true", json!(true)),
        ("NULL", json!(null)),
        ("''", json!("")),
        ("'\u{1F600} \"é\" \\'", json!("\u{1F600} \"é\" \\")),
        ("chr(0) || chr(10)", json!("\u{0}\n")),
        ("DATE '2024-05-01'", json!("2024-05-01")),
        (
            "TIMESTAMP '2024-05-01 10:11:12.5'",
            json!("2024-05-01T10:11:12.500Z"),
        ),
        (
            "TIMESTAMPTZ '2024-05-01 10:11:12+02'",
            json!("2024-05-01T08:11:12.000Z"),
        ),
        ("'\\x00\\xFFa'::BLOB", json!("AP9h")),
        ("[1, NULL, 3]", json!([1, null, 3])),
        ("[]", json!([])),
        ("[[1], []]", json!([[1], []])),
        (
            "{'a': 1, 'b': {'c': [DATE '2024-05-01']}}",
            json!({ "a": 1, "b": { "c": ["2024-05-01"] } }),
        ),
        (
            "'{\"a\": [1, null], \"b\": 12345678901234567890}'::JSON",
            json!({ "a": [1, null], "b": 12_345_678_901_234_567_890_u64 }),
        ),
        ("'null'::JSON", json!(null)),
        ("[1.5::DECIMAL(4,1), 'nan'::DOUBLE]", json!([1.5, null])),
        ("uuid() IS NULL", json!(false)),
        ("'a'::ENUM('a', 'b')", json!("a")),
    ] {
        let answer = store.query(&format!("SELECT {sql}"), &json!({})).await;
        if answer.status != 200 || answer.body["rows"] != json!([[expected]]) {
            wrong.push(format!("{sql} is not {expected}: {}", answer.text()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let twice = store.query("SELECT 1 AS a, 2 AS a, 3 AS \"A\"", &json!({})).await;
    let twice = twice.expect_status(200);
    assert_eq!(twice.body["columns"], json!(["a", "a", "A"]));
    assert_eq!(twice.body["rows"], json!([[1, 2, 3]]));
    let large = store.query("SELECT repeat('x', 6000000)", &json!({})).await;
    let large = large.expect_error(422, "unprocessable");
    assert!(large.message().contains("5.5 MB"), "{}", large.message());
    let sql = "SELECT repeat('x', 1000000) FROM range(5)";
    store.query(sql, &json!({})).await.expect_status(200);
}

/// Lambda carries a body as a JSON string, in which each quote costs one byte more.
#[tokio::test]
async fn answer_with_escapes_counts_twice_towards_the_size_limit() {
    let store = Store::start().await;
    // 3.6 MB of JSON, 7.2 MB as a string.
    let quotes = json!({ "sql": "SELECT repeat('\"', 900) FROM range(2000)", "limit": 2_000 });
    let breaks = json!({ "sql": "SELECT repeat(chr(10), 2000) FROM range(2000)", "limit": 2_000 });
    for (accept, body) in [("application/json", &quotes), ("text/csv", &breaks)] {
        let refused = store.post("/query", body).header("accept", accept).await;
        let refused = refused.expect_error(422, "unprocessable");
        assert!(
            refused.message().contains("count twice"),
            "{accept}: {}",
            refused.message()
        );
    }
    let half = json!({ "sql": "SELECT repeat('\"', 900) FROM range(1000)", "limit": 1_000 });
    let batch = json!({ "queries": [quotes, half, half] });
    let answer = store.post("/query/batch", &batch).await.expect_status(200);
    let results = answer.body["results"].as_array().unwrap();
    let statuses: Vec<_> = results.iter().map(|result| &result["status"]).collect();
    assert_eq!(statuses, [&json!(422), &json!(null), &json!(422)]);
}

#[tokio::test]
async fn query_returns_exactly_as_many_rows_as_its_limit() {
    let store = Store::start().await;
    let ask = |sql: &str, limit: Value| {
        let mut body = json!({ "sql": sql });
        if !limit.is_null() {
            body["limit"] = limit;
        }
        store.post("/query", &body)
    };
    for (rows, limit, count, truncated) in [
        (3, json!(2), 2, true),
        (3, json!(3), 3, false),
        (3, json!(4), 3, false),
        (0, json!(1), 0, false),
        (1_000, json!(null), 1_000, false),
        (1_001, json!(null), 1_000, true),
        (10_000, json!(10_000), 10_000, false),
        (10_001, json!(10_000), 10_000, true),
        (4_096, json!(2_048), 2_048, true),
        (2_048, json!(2_048), 2_048, false),
    ] {
        let sql = format!("SELECT range FROM range({rows}) ORDER BY 1");
        let answer = ask(&sql, limit.clone()).await.expect_status(200);
        let what = format!("{rows} rows, limit {limit}");
        assert_eq!(answer.body["rows"].as_array().unwrap().len(), count, "{what}");
        assert_eq!(answer.body["row_count"], count, "{what}");
        assert_eq!(answer.body["truncated"], truncated, "{what}");
    }
    for limit in [json!(0), json!(-1), json!(10_001), json!(1.5), json!("10")] {
        let refused = ask("SELECT 1", limit.clone()).await;
        let refused = refused.expect_error(400, "invalid_request");
        assert!(
            refused.message().contains("limit"),
            "{limit}: {}",
            refused.message()
        );
    }
}

#[tokio::test]
async fn a_statement_that_is_wrong_is_told_where() {
    let store = started().await;
    let nothing: &[&str] = &[];
    let mut wrong = Vec::new();
    for (sql, parts) in [
        ("SELEC 1", &["Line 1, column 1", "SELEC"][..]),
        ("SELECT 1,\n  nope\nFROM orders", &["Line 2, column 3", "nope"]),
        (
            "SELECT 'é', {{a}}, nope FROM orders",
            &["Line 1, column 20", "nope"],
        ),
        (
            "SELECT 'ééé',\n 'é', nope FROM orders",
            &["Line 2, column 7", "nope"],
        ),
        ("SELECT * FROM", &["Line 1, column 14"]),
        ("SELECT (1", &["Line 1"]),
        ("SELECT 'open", &["Line 1, column 8"]),
        ("SELECT * FROM ordrs", &["Line 1, column 15", "'ordrs'", "Orders"]),
        (
            "SELECT * FROM orders o JOIN missing m ON true",
            &["Line 1, column 29", "'missing'"],
        ),
        (
            "SELECT amont FROM orders",
            &["Line 1, column 8", "amont", "amount"],
        ),
        ("SELECT o.nope FROM orders o", &["Line 1, column 8", "nope"]),
        ("SELECT nofunction(1)", &["Line 1, column 8", "nofunction"]),
        ("SELECT id, count(*) FROM orders", &["id"]),
        ("SELECT customer + 1 FROM orders", nothing),
        ("SELECT sum(customer) FROM orders", &["sum"]),
        ("", &["empty"]),
        (" ; ; -- nothing", &["empty"]),
        ("SELECT 1; SELECT 2", &["One statement"]),
        ("SELECT 1; DROP TABLE orders", nothing),
    ] {
        let refused = store.query(sql, &json!({ "a": 1 })).await;
        let lacks = |part: &&&str| !refused.message().contains(**part);
        let missing: Vec<_> = parts.iter().filter(lacks).collect();
        let is_sentence = !refused.message().contains('\n');
        let place = match (&refused.body["line"], &refused.body["column"]) {
            (Value::Null, Value::Null) => String::new(),
            (line, column) => format!("Line {line}, column {column}: "),
        };
        let of_message = refused.message().split_inclusive(": ").next();
        let of_message = of_message
            .filter(|part| part.starts_with("Line "))
            .unwrap_or_default();
        assert_eq!(place, of_message, "{sql}");
        if refused.status != 400 || !missing.is_empty() || !is_sentence {
            wrong.push(format!("{sql}: no {missing:?} in {}", refused.text()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let version = store.detail().await["version_id"].clone();
    let version = version.as_str().unwrap();
    for (sql, part) in [
        ("SELECT 'x'::INTEGER", "Could not convert string 'x'"),
        ("SELECT customer::DATE FROM orders", "Ada"),
        ("SELECT (id * 100)::TINYINT FROM orders", "200"),
        ("SELECT sum(id::TINYINT * 100::TINYINT) FROM orders", "Overflow"),
        ("SELECT 9223372036854775807 + id FROM orders", "Overflow"),
    ] {
        let body = json!({ "sql": sql });
        for path in ["/query".to_owned(), format!("/versions/{version}/query")] {
            let refused = store.post(&path, &body).await.expect_error(422, "unprocessable");
            assert!(refused.message().contains(part), "{sql}: {}", refused.message());
        }
    }
    for body in [json!({}), json!({ "sql": null }), json!({ "sql": ["SELECT 1"] })] {
        let refused = store.post("/query", &body).await;
        let refused = refused.expect_error(400, "invalid_request");
        assert!(refused.message().contains("sql"), "{}", refused.message());
    }
}

#[tokio::test]
async fn each_form_works_at_a_version_in_a_batch_and_in_a_check() {
    let store = Store::start().await;
    store.table("orders", &["id INTEGER", "customer STRING"]).await;
    let rows = json!([{ "id": 1, "customer": "ada" }, { "id": 2, "customer": "bob" }]);
    store.append("orders", &rows).await.expect_status(200);
    let version = store.detail().await["version_id"].as_str().unwrap().to_owned();
    let later = json!([{ "id": 3, "customer": "cleo" }]);
    store.append("orders", &later).await.expect_status(200);
    let forms = [
        (
            "SELECT customer.upper() AS name FROM orders WHERE id = {{id}}",
            json!(["name"]),
        ),
        (
            "PIVOT (FROM orders WHERE id > {{id}} - 1) ON customer USING sum(id)",
            json!(["ada", "bob"]),
        ),
        (
            "WITH wide AS (PIVOT orders ON customer USING sum(id)) SELECT ada + bob AS both_of_them FROM wide",
            json!(["both_of_them"]),
        ),
        (
            "SELECT column_name FROM (DESCRIBE orders)",
            json!(["column_name"]),
        ),
        ("SELECT max AS most FROM (SUMMARIZE orders)", json!(["most"])),
        (
            "WITH RECURSIVE t(k, v) USING KEY (k) AS (SELECT 1, {{id}} UNION SELECT k, v + 1 FROM recurring.t WHERE v < 3) FROM t",
            json!(["k", "v"]),
        ),
        (
            "SELECT id::VARIANT AS v, union_value(u := customer) AS u FROM orders",
            json!(["v", "u"]),
        ),
    ];
    let params = json!({ "id": 1 });
    let path = format!("/versions/{version}/query");
    for (sql, columns) in &forms {
        let body = json!({ "sql": sql, "params": params });
        let then = store.post(&path, &body).await.expect_status(200);
        assert_eq!(then.body["columns"], *columns, "{sql}");
        // The newer version has one value more.
        let mut now = store.post("/query", &body).await.expect_status(200);
        let names = now.body["columns"].take();
        let has_more = sql.starts_with("PIVOT");
        assert_eq!(names == json!(["ada", "bob", "cleo"]), has_more, "{sql}: {names}");
    }
    let queries = forms
        .iter()
        .map(|(sql, _)| json!({ "sql": sql, "params": params }));
    let batch = json!({ "queries": queries.collect::<Vec<_>>() });
    let batch = store.post("/query/batch", &batch).await.expect_status(200);
    for result in batch.body["results"].as_array().unwrap() {
        assert!(
            result["error"].is_null() && result["columns"].is_array(),
            "{result}"
        );
    }
    let queries: Vec<_> = forms.iter().map(|(sql, _)| sql).collect();
    let answer = store
        .post("/query/validate", &json!({ "queries": queries }))
        .await;
    assert_eq!(answer.expect_status(200).body["valid"], json!(true));
}
