//! Tests the rules for the query and the chart of a dashboard, and its size limits.

use futures::future::join_all;
use serde_json::json;
use tests::Store;
use tests::dashboards::{dashboard, dashboard_with};

use super::calls::{create, put, read, with_sales};

/// Creates a store with an empty table of sales.
async fn started() -> Store {
    with_sales(Store::start().await).await
}

#[tokio::test]
async fn a_query_that_cannot_run_is_refused_with_the_place() {
    let store = started().await;
    let id = create(&store, &dashboard("Kept")).await.expect_status(201).id();
    for (query, expected) in [
        ("SELECT dya AS day FROM sales", "Line 1, column 8"),
        (
            "SELECT day\nFROM sale",
            "Line 2, column 6: The table 'sale' does not exist in this store; did you mean 'sales'?",
        ),
        ("SELEC 1", "Line 1"),
        ("", "The query is empty"),
        ("DROP TABLE sales", "Only SELECT"),
        ("SELECT 1; SELECT 2", "One statement"),
        ("SELECT * FROM read_csv('/etc/passwd')", "read_csv"),
        ("SELECT getenv('HOME') AS day", "getenv"),
        ("SELECT day FROM sales WHERE region = $1", "{{name}}"),
        (
            "SELECT day FROM sales WHERE region = {{region}}",
            "'region'; give it a value in 'queryParameters'",
        ),
    ] {
        for refused in [
            create(&store, &dashboard_with(&json!({ "query": query }))).await,
            put(&store, &id, &json!({ "query": query })).await,
        ] {
            let refused = refused.expect_error(400, "invalid_request");
            assert!(
                refused.message().contains(expected),
                "{query}: {}",
                refused.message()
            );
        }
    }
    let object = dashboard_with(
        &json!({ "query": "SELECT {{p}} AS day, 1 AS total", "queryParameters": { "p": { "a": 1 } } }),
    );
    let refused = create(&store, &object).await.expect_error(400, "invalid_request");
    assert!(refused.message().contains("'p'"), "{}", refused.message());
    assert_eq!(store.get("/dashboards").await.each("name"), ["Kept"]);
    assert_eq!(read(&store, &id).await.body["version"], 1);
}

#[tokio::test]
async fn a_query_is_checked_and_not_run() {
    let store = started().await;
    // Each query would run for minutes, or fail on its first row.
    for query in [
        "SELECT count(*) AS day, 1 AS total FROM range(10000000000) a, range(10000000000) b",
        "SELECT error('no') AS day, 1 AS total",
        "SELECT CAST({{text}} AS INTEGER) AS day, 1 AS total",
    ] {
        let body =
            dashboard_with(&json!({ "name": query, "query": query, "queryParameters": { "text": "x" } }));
        create(&store, &body).await.expect_status(201);
    }
}

#[tokio::test]
async fn a_chart_names_what_the_query_produces() {
    let store = started().await;
    let spec =
        |field: &str| json!({ "mark": "bar", "encoding": { "x": { "field": field, "type": "nominal" } } });
    let refused = create(&store, &dashboard_with(&json!({ "spec": spec("amuont") }))).await;
    insta::assert_snapshot!(refused.expect_error(400, "invalid_request").message(), @"The field 'spec.encoding.x.field' is 'amuont', which the query does not produce; its columns are: day, total.");
    let query = "SELECT *, count(*), {'a': 1} AS s, max(sales.amount), [1] AS l FROM sales GROUP BY ALL";
    for field in [
        "day",
        "extra",
        "extra.a.b",
        "s.a",
        "s['a']",
        "l[0]",
        "count_star()",
        "max(sales\\.amount)",
        "['max(sales.amount)']",
    ] {
        let body = dashboard_with(&json!({ "name": field, "query": query, "spec": spec(field) }));
        create(&store, &body).await.expect_status(201);
    }
    for field in [
        "total",
        "Day",
        "max(sales.amount)",
        "amount.x",
        "day[0]",
        "",
        "s[",
        "sales.day",
    ] {
        let body = dashboard_with(&json!({ "query": query, "spec": spec(field) }));
        let refused = create(&store, &body).await.expect_error(400, "invalid_request");
        let message = refused.message();
        assert!(message.contains("'spec.encoding.x.field'"), "{field}: {message}");
    }
    let id = create(&store, &dashboard("Kept")).await.expect_status(201).id();
    // A new query must still fill the existing chart.
    let refused = put(&store, &id, &json!({ "query": "SELECT day FROM sales" })).await;
    let refused = refused.expect_error(400, "invalid_request");
    assert!(
        refused.message().contains("spec.encoding.y.field"),
        "{}",
        refused.message()
    );
    for body in [
        json!([]),
        json!("bar"),
        json!({}),
        json!({ "mark": "pie", "encoding": {} }),
    ] {
        let refused = put(&store, &id, &json!({ "spec": body })).await;
        refused.expect_error(400, "invalid_request");
    }
}

#[tokio::test]
async fn a_dashboard_outlives_its_columns() {
    let store = started().await;
    let query = json!("SELECT day, amount AS total FROM sales");
    let sales = dashboard_with(&json!({ "query": query }));
    let id = create(&store, &sales).await.expect_status(201).id();
    let table = store.path("/tables/sales");
    store
        .service
        .delete(&store.token, &table)
        .await
        .expect_status(200);
    read(&store, &id).await.expect_status(200);
    put(&store, &id, &json!({ "name": "Old", "queryLimit": 5 }))
        .await
        .expect_status(200);
    let refused = put(&store, &id, &json!({ "query": query })).await;
    let refused = refused.expect_error(400, "invalid_request");
    assert!(refused.message().contains("sales"), "{}", refused.message());
}

#[tokio::test]
async fn bad_fields_are_refused() {
    let store = started().await;
    let long = "x".repeat(201);
    let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    for (field, value) in [
        ("name", json!("")),
        ("name", json!(long)),
        ("name", json!("a\u{7}")),
        ("description", json!("x".repeat(10_001))),
        ("tags", json!([""])),
        ("tags", json!(vec!["t"; 51])),
        ("queryLimit", json!(0)),
        ("queryLimit", json!(10_001)),
        ("queryLimit", json!("5")),
        ("queryLimit", json!(-1)),
        ("queryLimit", json!(1.5)),
        ("queryParameters", json!([])),
        ("queryParameters", json!("x")),
        ("spec", json!(null)),
        ("query", json!(7)),
    ] {
        let refused = create(&store, &dashboard_with(&json!({ field: value }))).await;
        let refused = refused.expect_error(400, "invalid_request");
        assert!(
            refused.message().contains(field),
            "{field}: {}",
            refused.message()
        );
    }
    for missing in ["name", "query", "spec"] {
        let mut body = dashboard("x");
        body.as_object_mut().unwrap().remove(missing);
        let refused = create(&store, &body).await.expect_error(400, "invalid_request");
        assert!(
            refused.message().contains(missing),
            "{missing}: {}",
            refused.message()
        );
    }
    for raw in [
        dashboard("x").to_string().replace("\"bar\"", &deep),
        dashboard("x")
            .to_string()
            .replace("\"bar\"", "\"bar\",\"mark\":\"line\""),
        dashboard("x").to_string().replace("\"bar\"", "1e400"),
    ] {
        let request = store
            .service
            .request(tests::Method::POST, &store.path("/dashboards"));
        let request = request
            .token(&store.token)
            .header("content-type", "application/json");
        request.body(raw).await.expect_error(400, "invalid_request");
    }
    assert_eq!(store.get("/dashboards").await.body, json!([]));
}

#[tokio::test]
async fn dashboard_beyond_the_size_limit_is_413_and_one_at_it_is_kept() {
    let store = started().await;
    let chart = dashboard("x")["spec"].clone();
    let spec_of = |bytes: usize| {
        let mut spec = chart.clone();
        spec["note"] = "".into();
        let least = spec.to_string().len();
        spec["note"] = "x".repeat(bytes - least).into();
        spec
    };
    let query_of = |bytes: usize| {
        let query = "SELECT 1 AS day, 2 AS total";
        format!("{query}{}", " ".repeat(bytes - query.len()))
    };
    let parameters_of = |bytes: usize| json!({ "p": "x".repeat(bytes - 8) });
    let largest = json!({
        "name": "é".repeat(200), "description": "é".repeat(10_000), "tags": vec!["é".repeat(200); 50],
        "query": query_of(65_536), "spec": spec_of(65_536), "queryParameters": parameters_of(65_536)
    });
    let created = create(&store, &largest).await.expect_status(201);
    let changed = put(&store, &created.id(), &json!({ "spec": spec_of(65_535) })).await;
    assert_eq!(changed.expect_status(200).body["spec"], spec_of(65_535));
    for (field, value) in [
        ("spec", spec_of(65_537)),
        ("query", json!(query_of(65_537))),
        ("queryParameters", parameters_of(65_537)),
    ] {
        for refused in [
            create(&store, &dashboard_with(&json!({ field: value }))).await,
            put(&store, &created.id(), &json!({ field: value })).await,
        ] {
            let refused = refused.expect_error(413, "payload_too_large");
            assert!(refused.message().contains(field), "{}", refused.message());
        }
    }
    // Create more than one answer can hold.
    let copies = (0..30).map(|number| {
        let mut body = largest.clone();
        body["name"] = format!("copy {number}").into();
        let request = store.post("/dashboards", &body);
        async move { request.await.expect_status(201) }
    });
    join_all(copies).await;
    let refused = store.get("/dashboards").await.expect_error(422, "unprocessable");
    assert!(refused.message().contains("'limit'"), "{}", refused.message());
    let part = store
        .get("/dashboards?limit=10&offset=25")
        .await
        .expect_status(200);
    assert_eq!(part.body.as_array().unwrap().len(), 6);
}
