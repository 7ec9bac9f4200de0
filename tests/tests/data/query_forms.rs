//! Tests the formats of a query: CSV and Arrow, ETags and cached answers, batches, and validation without a
//! run.

use serde_json::{Value, json};
use tests::{Answer, Store};

const ARROW: &str = "application/vnd.apache.arrow.stream";

/// Creates a store with a table of two rows.
async fn started() -> Store {
    let store = Store::start().await;
    store.table("people", &["id INTEGER", "name STRING"]).await;
    let rows = json!([{ "id": 1, "name": "Ada, Countess" }, { "id": 2, "name": null }]);
    store.append("people", &rows).await.expect_status(200);
    store
}

async fn accept(store: &Store, accept: &str, body: &Value) -> Answer {
    store.post("/query", body).header("accept", accept).await
}

async fn query_if_none_match(store: &Store, tag: &str, body: &Value) -> Answer {
    store.post("/query", body).header("if-none-match", tag).await
}

#[tokio::test]
async fn rows_come_as_csv_where_a_caller_wants_it() {
    let store = started().await;
    let body = json!({ "sql": "SELECT * FROM people ORDER BY id" });
    let answer = accept(&store, "text/csv", &body).await.expect_status(200);
    assert_eq!(answer.text(), "id,name\r\n1,\"Ada, Countess\"\r\n2,\r\n");
    assert!(
        answer.header("content-type").starts_with("text/csv"),
        "{:?}",
        answer.headers
    );
    assert_eq!(answer.header("x-row-count"), "2");
    assert_eq!(answer.header("x-truncated"), "false");
    let body = json!({ "sql": "SELECT * FROM range(20)", "limit": 3 });
    let answer = accept(&store, "text/csv", &body).await.expect_status(200);
    assert_eq!(answer.text(), "range\r\n0\r\n1\r\n2\r\n");
    assert_eq!(
        (answer.header("x-row-count"), answer.header("x-truncated")),
        ("3", "true")
    );
    let body = json!({ "sql": "SELECT 'x'::VARIANT AS v, union_value(u := 'y') AS u, [1]::VARIANT AS l" });
    let answer = accept(&store, "text/csv", &body).await.expect_status(200);
    assert_eq!(answer.text(), "v,u,l\r\n\"\"\"x\"\"\",y,[1]\r\n");
    accept(&store, ARROW, &body).await.expect_status(200);
    // An exported file can be imported.
    let text = accept(&store, "text/csv", &json!({ "sql": "FROM people" }))
        .await
        .bytes;
    if !store.service.is_shared() {
        store.table("again", &["id INTEGER", "name STRING"]).await;
        store.append_csv("again", &text).await.expect_status(200);
        assert_eq!(store.rows("FROM people EXCEPT FROM again").await, json!([]));
    }
    let refused = accept(&store, "text/csv", &json!({ "sql": "SELECT nope" })).await;
    let refused = refused.expect_error(400, "invalid_request");
    assert!(
        refused.message().starts_with("Line 1, column 8"),
        "{}",
        refused.message()
    );
    let large = json!({ "sql": "SELECT repeat('x', 6000000)" });
    let refused = accept(&store, "text/csv", &large)
        .await
        .expect_error(422, "unprocessable");
    assert!(refused.message().contains("5.5 MB"), "{}", refused.message());
}

#[tokio::test]
async fn rows_come_as_an_arrow_stream() {
    let store = started().await;
    let body = json!({ "sql": "SELECT * FROM people" });
    let answer = accept(&store, ARROW, &body).await.expect_status(200);
    assert_eq!(answer.header("content-type"), ARROW);
    assert_eq!(answer.header("x-row-count"), "2");
    // The continuation marker before the schema, and the end of the stream.
    assert_eq!(answer.bytes[..4], [0xff; 4]);
    assert_eq!(
        answer.bytes[answer.bytes.len() - 8..],
        [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]
    );
    // The answer must also fit in Base64, as a gateway transfers it.
    let large = json!({ "sql": "SELECT repeat('x', 4200000)" });
    accept(&store, ARROW, &large)
        .await
        .expect_error(422, "unprocessable");
    accept(&store, "*/*", &large).await.expect_status(200);
}

#[tokio::test]
async fn query_without_an_accepted_form_is_answered_as_json() {
    let store = started().await;
    let body = json!({ "sql": "SELECT 1" });
    for header in [
        "*/*",
        "application/json",
        "text/html",
        "image/*",
        "text/csv;q=0, */*",
        "nonsense",
        "",
    ] {
        let answer = accept(&store, header, &body).await.expect_status(200);
        assert_eq!(answer.header("content-type"), "application/json", "{header}");
        assert_eq!(answer.body["rows"], json!([[1]]), "{header}");
        assert_eq!(answer.header("vary"), "accept", "{header}");
    }
}

#[tokio::test]
async fn query_with_the_current_etag_is_304_and_does_not_run() {
    let store = started().await;
    let body = json!({ "sql": "SELECT count(*) FROM people WHERE id > {{n}}", "params": { "n": 0 } });
    let first = store.post("/query", &body).await.expect_status(200);
    let tag = first.header("etag").to_owned();
    assert!(tag.starts_with("W/\"") && tag.ends_with('"'), "{tag}");
    let again = query_if_none_match(&store, &tag, &body).await.expect_status(304);
    assert_eq!(again.bytes, b"");
    assert_eq!(again.header("etag"), tag);
    assert_eq!(store.post("/query", &body).await.header("etag"), tag);
    let same = json!({ "limit": 1000, "params": { "unused": [1], "n": 0 }, "sql": body["sql"] });
    query_if_none_match(&store, &format!("\"x\", {tag}"), &same)
        .await
        .expect_status(304);
    query_if_none_match(&store, tag.trim_start_matches("W/"), &body)
        .await
        .expect_status(304);
    for (other, what) in [
        (
            json!({ "sql": body["sql"], "params": { "n": 1 } }),
            "another value",
        ),
        (
            json!({ "sql": body["sql"], "params": { "n": "0" } }),
            "another type",
        ),
        (
            json!({ "sql": body["sql"], "params": { "n": 0 }, "limit": 5 }),
            "another limit",
        ),
        (json!({ "sql": "SELECT 1" }), "another statement"),
    ] {
        let answer = query_if_none_match(&store, &tag, &other).await.expect_status(200);
        assert_ne!(answer.header("etag"), tag, "{what}");
    }
    for wrong in ["*", "\"\"", "W/", "nonsense", &tag[..tag.len() - 2]] {
        query_if_none_match(&store, wrong, &body).await.expect_status(200);
    }
    let csv = accept(&store, "text/csv", &body).await.expect_status(200);
    assert_ne!(csv.header("etag"), tag);
    // An invalid request is refused even with a matching tag.
    let broken = json!({ "sql": body["sql"], "params": { "n": 0 }, "limit": 0 });
    query_if_none_match(&store, &tag, &broken)
        .await
        .expect_error(400, "invalid_request");
    let version = store.detail().await["version_id"].clone();
    let path = format!("/versions/{}/query", version.as_str().unwrap());
    let at = store.post(&path, &body).await.expect_status(200);
    assert_ne!(at.header("etag"), tag, "the answer names the version");
    let at = store
        .post(&path, &body)
        .header("if-none-match", at.header("etag"))
        .await;
    at.expect_status(304);

    store
        .append("people", &json!([{ "id": 3 }]))
        .await
        .expect_status(200);
    let changed = query_if_none_match(&store, &tag, &body).await.expect_status(200);
    assert_eq!(changed.body["rows"], json!([[3]]));
    assert_ne!(changed.header("etag"), tag);
}

#[tokio::test]
async fn query_of_chance_or_the_clock_has_no_etag() {
    let store = started().await;
    for sql in [
        "SELECT random()",
        "SELECT uuid() FROM people",
        "SELECT now()",
        "SELECT current_date",
        "SELECT CURRENT_TIMESTAMP",
        "SELECT today()",
        "SELECT age(TIMESTAMP '2020-01-01')",
        "SELECT * FROM people USING SAMPLE 1",
        "WITH c AS (SELECT localtime AS l) SELECT * FROM c",
    ] {
        let body = json!({ "sql": sql });
        let answer = store.post("/query", &body).await.expect_status(200);
        assert_eq!(answer.header("etag"), "", "{sql}");
        query_if_none_match(&store, "*", &body).await.expect_status(200);
    }
    let refused = store.post("/query", &json!({ "sql": "SELECT nope" })).await;
    assert_eq!(refused.header("etag"), "");
}

#[tokio::test]
async fn a_batch_answers_each_query_for_itself() {
    let store = started().await;
    let batch = json!({ "queries": [
        { "name": "all", "sql": "SELECT id FROM people ORDER BY id" },
        { "sql": "SELECT\n  nope FROM people" },
        { "name": "ö\"x", "sql": "SELECT {{a}} + 1", "params": { "a": 41 } },
        { "name": "lacks", "sql": "SELECT {{b}}" },
        { "sql": "SELECT * FROM range(10)", "limit": 2 },
        { "name": "too much", "sql": "SELECT sum(a.range) FROM range(10) a; DROP TABLE people" },
        { "name": "conversion", "sql": "SELECT name::INTEGER FROM people" }
    ] });
    let mut answer = store.post("/query/batch", &batch).await.expect_status(200);
    assert_eq!(answer.body["version_id"], store.detail().await["version_id"]);
    let results = answer.body["results"].as_array_mut().unwrap();
    assert_eq!(results.len(), 7);
    for result in results.iter_mut().filter(|result| result.get("rows").is_some()) {
        assert!(result["execution_time_ms"].is_number(), "{result}");
        result["execution_time_ms"] = 0.into();
    }
    assert_eq!(
        results[0],
        json!({
            "name": "all", "columns": ["id"], "column_types": ["INTEGER"], "rows": [[1], [2]], "row_count": 2,
            "truncated": false, "execution_time_ms": 0
        })
    );
    assert_eq!(
        (&results[1]["line"], &results[1]["column"]),
        (&json!(2), &json!(3))
    );
    assert!(results[1].get("name").is_none() && results[1].get("rows").is_none());
    assert!(results[1]["error"].as_str().unwrap().contains("nope"));
    assert_eq!(
        (&results[2]["name"], &results[2]["rows"]),
        (&json!("ö\"x"), &json!([[42]]))
    );
    assert_eq!(
        (&results[3]["name"], &results[3]["status"]),
        (&json!("lacks"), &json!(400))
    );
    assert_eq!(results[4]["rows"], json!([[0], [1]]));
    assert_eq!(results[4]["truncated"], true);
    for (index, status) in [(5, 400), (6, 422)] {
        assert_eq!(results[index]["status"], status, "{}", results[index]);
    }
    let none = store
        .post("/query/batch", &json!({ "queries": [] }))
        .await
        .expect_status(200);
    assert_eq!(none.body["results"], json!([]));
}

#[tokio::test]
async fn a_batch_is_bounded() {
    let store = started().await;
    let of = |count: usize| {
        let queries: Vec<_> = (0..count)
            .map(|n| json!({ "sql": format!("SELECT {n}") }))
            .collect();
        json!({ "queries": queries })
    };
    let full = store.post("/query/batch", &of(20)).await.expect_status(200);
    assert_eq!(full.body["results"].as_array().unwrap().len(), 20);
    let refused = store
        .post("/query/batch", &of(21))
        .await
        .expect_error(400, "invalid_request");
    assert!(refused.message().contains("20"), "{}", refused.message());
    for (body, part) in [
        (json!({}), "queries"),
        (json!({ "queries": {} }), "queries"),
        (json!({ "queries": [1] }), "queries[0]"),
        (json!({ "queries": [{}] }), "sql"),
        (
            json!({ "queries": [{ "sql": "SELECT 1" }, { "sql": "SELECT 1", "limit": 0 }] }),
            "queries[1].limit",
        ),
        (
            json!({ "queries": [{ "sql": "SELECT 1", "name": "" }] }),
            "queries[0].name",
        ),
        (
            json!({ "queries": [{ "sql": "SELECT 1", "params": [] }] }),
            "queries[0]",
        ),
    ] {
        let refused = store
            .post("/query/batch", &body)
            .await
            .expect_error(400, "invalid_request");
        assert!(refused.message().contains(part), "{body}: {}", refused.message());
    }
    // All results share the room of one answer; a result that does not fit is an error of its own.
    let large = json!({ "sql": "SELECT repeat('x', 3500000)" });
    let small = json!({ "sql": "SELECT 1" });
    let body = json!({ "queries": [large, large, small] });
    let answer = store.post("/query/batch", &body).await.expect_status(200);
    let statuses = answer.body["results"].as_array().unwrap().iter();
    let statuses: Vec<_> = statuses
        .map(|result| result["status"].as_u64().unwrap_or(200))
        .collect();
    assert_eq!(statuses, [200, 422, 200]);
    assert!(answer.bytes.len() < 6_200_000);
}

#[tokio::test]
async fn a_check_finds_what_a_run_would() {
    let store = started().await;
    let queries = [
        "SELECT id FROM people WHERE id = {{id}} AND name IN ({{names}})",
        "SELEC 1",
        "SELECT 1,\n   nope FROM people",
        "SELECT * FROM nobody",
        "SELECT count(*) FROM range(100000000000) a, range(100000000000) b",
        "DROP TABLE people",
        "",
        "SELECT {{x}}, nope FROM people",
        "SELECT read_text('/etc/passwd')",
        "SELECT error('only when it runs')",
    ];
    let answer = store
        .post("/query/validate", &json!({ "queries": queries }))
        .await;
    let answer = answer.expect_status(200);
    assert_eq!(answer.body["valid"], false);
    let errors = answer.body["errors"].as_array().unwrap();
    let positions: Vec<_> = errors
        .iter()
        .map(|error| {
            assert_eq!(
                error["query"],
                queries[usize::try_from(error["index"].as_u64().unwrap()).unwrap()]
            );
            assert!(
                error["error"].as_str().is_some_and(|text| !text.is_empty()),
                "{error}"
            );
            (
                error["index"].as_u64().unwrap(),
                error["line"].as_u64(),
                error["column"].as_u64(),
            )
        })
        .collect();
    assert_eq!(
        positions,
        [
            (1, Some(1), Some(1)),
            (2, Some(2), Some(4)),
            (3, Some(1), Some(15)),
            (5, None, None),
            (6, None, None),
            (7, Some(1), Some(15)),
            (8, Some(1), Some(8)),
        ]
    );
    let sentence = errors[1]["error"].as_str().unwrap();
    assert!(
        sentence.starts_with("Line 2, column 4: ") && sentence.contains("nope"),
        "{sentence}"
    );
    let fine = json!({ "queries": ["SELECT 1", "FROM people"] });
    let fine = store.post("/query/validate", &fine).await.expect_status(200);
    assert_eq!(fine.body, json!({ "valid": true, "errors": [] }));
    let none = store
        .post("/query/validate", &json!({ "queries": [] }))
        .await
        .expect_status(200);
    assert_eq!(none.body, json!({ "valid": true, "errors": [] }));
    assert_eq!(store.rows("SELECT count(*) FROM people").await, json!([[2]]));
    for body in [
        json!({}),
        json!({ "queries": "SELECT 1" }),
        json!({ "queries": [1] }),
        json!({ "queries": vec!["SELECT 1"; 101] }),
    ] {
        let refused = store.post("/query/validate", &body).await;
        let refused = refused.expect_error(400, "invalid_request");
        assert!(refused.message().contains("queries"), "{}", refused.message());
    }
}
