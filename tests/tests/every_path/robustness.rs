//! Tests faults that a code review found: requests for more than a caller should get.

use serde_json::{Map, Value, json};
use tests::samples::prompt;
use tests::{Method, Persona, Service};

#[tokio::test]
async fn long_account_and_project_ids_work_everywhere() {
    let service = Service::start().await;
    for id in ["0199c0de-0000-7000-8000-000000000000".to_owned(), "x".repeat(128)] {
        let arguments = ["token", "--account", &id, "--project", &id];
        let token = service
            .operator()
            .run(&arguments)
            .expect_success()
            .stdout
            .trim()
            .to_owned();
        let created = service
            .post(&token, "/data", &json!({ "name": "Sales" }))
            .await
            .expect_status(201);
        let path = format!("/data/{}", created.id());
        let tables = json!({ "tables": [{ "name": "t", "columns": [{ "name": "n", "type": "INTEGER" }] }] });
        service
            .post(&token, &format!("{path}/tables"), &tables)
            .await
            .expect_status(201);
        let rows = json!({ "tables": { "t": { "source": "inline", "data": [{ "n": 1 }, { "n": 2 }] } } });
        service
            .post(&token, &format!("{path}/import"), &rows)
            .await
            .expect_status(200);
        let query = json!({ "sql": "SELECT sum(n) FROM t" });
        let answer = service
            .post(&token, &format!("{path}/query"), &query)
            .await
            .expect_status(200);
        assert_eq!(answer.body["rows"], json!([[3]]));
    }
}

#[tokio::test]
async fn a_schema_that_asks_for_endless_work_is_refused() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    let mut definitions = Map::new();
    for level in 0..45 {
        let next = json!({ "$ref": format!("#/$defs/a{}", level + 1) });
        definitions.insert(format!("a{level}"), json!({ "allOf": [next, next] }));
    }
    definitions.insert("a45".to_owned(), json!({ "type": "object" }));
    let mut body = prompt("Greeting");
    body["inputSchema"] = json!({ "$ref": "#/$defs/a0", "$defs": definitions });
    body["test_data"] = json!({});
    let answer = service
        .post(&token, "/prompts", &body)
        .await
        .expect_error(400, "invalid_request");
    assert!(
        answer.message().contains("200 ms of processor time"),
        "{}",
        answer.message()
    );

    let mut data = json!({});
    for _ in 0..60 {
        data = json!({ "a": data });
    }
    body["inputSchema"] = json!({ "properties": { "a": { "allOf": [{ "$ref": "#" }, { "$ref": "#" }] } } });
    body["test_data"] = data;
    service
        .post(&token, "/prompts", &body)
        .await
        .expect_error(400, "invalid_request");
}

#[tokio::test]
async fn a_key_that_names_nothing_is_a_401() {
    let service = Service::start().await;
    for key in ["sk-YWNtZS9kZW1vLw.x", "sk-", "sk-....", "sk-YWNtZS9kZW1vL2E.x"] {
        service
            .request(Method::GET, "/data")
            .header("x-api-key", key)
            .await
            .expect_error(401, "unauthenticated");
    }
}

#[tokio::test]
async fn requests_are_bounded() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    let facets: Vec<Value> = (0..21)
        .map(|n| json!({ "name": format!("f{n}"), "field": "name" }))
        .collect();
    service
        .post(&token, "/prompts/facets", &json!({ "facets": facets }))
        .await
        .expect_error(400, "invalid_request");

    let long = json!({ "name": "Long", "description": "x".repeat(500_000) });
    service
        .post(&token, "/data", &long)
        .await
        .expect_error(400, "invalid_request");
    let created = service
        .post(&token, "/data", &json!({ "name": "Sales" }))
        .await
        .expect_status(201);
    let tables = format!("/data/{}/tables", created.id());
    let column = json!([{ "name": "n", "type": "INTEGER" }]);
    let many: Vec<Value> = (0..20_000)
        .map(|n| json!({ "name": format!("t{n}"), "columns": column }))
        .collect();
    service
        .post(&token, &tables, &json!({ "tables": many }))
        .await
        .expect_error(400, "invalid_request");
    let wide: Vec<Value> = (0..1_900)
        .map(|n| json!({ "name": format!("c{n}"), "type": "DATE" }))
        .collect();
    let wide: Vec<Value> = (0..11)
        .map(|n| json!({ "name": format!("t{n}"), "columns": wide }))
        .collect();
    service
        .post(&token, &tables, &json!({ "tables": wide }))
        .await
        .expect_error(400, "invalid_request");
    let one = json!({ "tables": [{ "name": "t", "columns": column }], "message": "x".repeat(500_000) });
    service
        .post(&token, &tables, &one)
        .await
        .expect_error(400, "invalid_request");
}

#[tokio::test]
async fn a_key_that_occurs_twice_is_told() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    let created = service
        .post(&token, "/data", &json!({ "name": "Sales" }))
        .await
        .expect_status(201);
    let path = format!("/data/{}", created.id());
    let tables = json!({ "tables": [{ "name": "t", "columns": [{ "name": "a", "type": "INTEGER" }] }] });
    service
        .post(&token, &format!("{path}/tables"), &tables)
        .await
        .expect_status(201);
    for (part, body, status) in [
        ("query", r#"{"sql":"SELECT {{a}}","params":{"a":1,"a":2}}"#, 400),
        (
            "import",
            r#"{"tables":{"t":{"source":"inline","data":[{"a":1,"a":2}]}}}"#,
            422,
        ),
    ] {
        let request = service
            .request(Method::POST, &format!("{path}/{part}"))
            .token(&token);
        request
            .header("content-type", "application/json")
            .body(body)
            .await
            .expect_status(status);
    }
}

#[tokio::test]
async fn a_fork_with_the_longest_name_can_be_updated() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    let created = service
        .post(&token, "/prompts", &prompt(&"n".repeat(200)))
        .await
        .expect_status(201);
    let fork = service
        .post(&token, &format!("/prompts/{}/fork", created.id()), &json!({}))
        .await
        .expect_status(201);
    let update = json!({ "content": "other" });
    service
        .put(&token, &format!("/prompts/{}", fork.id()), &update)
        .await
        .expect_status(200);
}
