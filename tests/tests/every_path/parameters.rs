//! Tests what holds for the parameters of every operation: an empty one counts as left out, an integer is
//! taken in each notation of JSON, and a time in each form of ISO 8601.

use serde_json::{Value, json};
use tests::dashboards::dashboard;
use tests::samples::prompt;
use tests::{Answer, Method, Persona, Store, unique};

/// Times of ISO 8601 at the ends of a day.
const TIMES: [&str; 3] = [
    "9999-12-31T23:59:59Z",
    "2026-01-31T24:00:00Z",
    "9999-12-31T24:00:00%2B01:00",
];

struct World {
    store: Store,
    /// For the audit trail.
    admin: String,
    ids: Vec<(&'static str, String)>,
}

impl World {
    async fn start() -> Self {
        let store = Store::start().await;
        store.table("t", &["id BIGINT"]).await;
        store
            .append("t", &json!([{ "id": 1 }, { "id": 2 }]))
            .await
            .expect_status(200);
        let answer = store.post("/dashboards", &dashboard_over_t()).await;
        let template = store
            .service
            .post(&store.token, "/prompts", &prompt("Greeting"))
            .await;
        let ids = vec![
            ("store_id", store.id.clone()),
            ("table_name", "t".to_owned()),
            ("dashboard_id", answer.expect_status(201).id()),
            ("pt_id", template.expect_status(201).id()),
        ];
        let admin = store.scope.token(Persona::AccountAdmin);
        Self { store, admin, ids }
    }

    /// Returns the path with ids in place of its parameters; None where one has no id.
    fn path(&self, template: &str) -> Option<String> {
        let mut path = template.strip_prefix("/api/v1")?.to_owned();
        for (name, id) in &self.ids {
            path = path.replace(&format!("{{{name}}}"), id);
        }
        (!path.contains('{')).then_some(path)
    }

    async fn get(&self, path: &str) -> Answer {
        let is_trail = path.starts_with("/audit-trail");
        let token = if is_trail { &self.admin } else { &self.store.token };
        self.store.service.get(token, path).await
    }

    /// Sends a body as it is written.
    async fn send(&self, method: Method, path: &str, body: &str) -> Answer {
        let request = self.store.service.request(method, path).token(&self.store.token);
        request
            .header("content-type", "application/json")
            .body(body)
            .await
    }
}

fn dashboard_over_t() -> Value {
    let mut body = dashboard(&unique("dashboard"));
    body["query"] = "SELECT id FROM t".into();
    body["spec"] = json!({ "mark": "bar", "encoding": { "x": { "field": "id", "type": "quantitative" } } });
    body
}

/// Returns what an answer says besides its links.
fn content(answer: &Answer) -> Value {
    let mut body = answer.body.clone();
    if let Some(body) = body.as_object_mut() {
        body.remove("url");
    }
    body
}

/// Paths with the query parameters of their GET, and the type or format of each.
fn parameters(document: &Value) -> Vec<(String, String, String)> {
    let mut triples = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        let parameters = operations["get"]["parameters"].as_array();
        for parameter in parameters
            .into_iter()
            .flatten()
            .filter(|parameter| parameter["in"] == "query")
        {
            let schema = parameter["schema"].to_string();
            let kind = match () {
                () if schema.contains("date-time") => "time",
                () if schema.contains("\"integer\"") => "integer",
                () => "other",
            };
            let name = parameter["name"].as_str().unwrap();
            triples.push((path.clone(), name.to_owned(), kind.to_owned()));
        }
    }
    triples
}

#[tokio::test]
async fn query_parameter_that_is_empty_counts_as_left_out() {
    let world = World::start().await;
    let document = world.store.service.openapi().await;
    let mut count = 0;
    for (path, name, _) in parameters(&document) {
        let Some(path) = world.path(&path) else { continue };
        let plain = world.get(&path).await.expect_status(200);
        for query in [format!("{name}="), name.clone(), format!("&{name}=&")] {
            let answer = world.get(&format!("{path}?{query}")).await;
            assert_eq!(answer.status, 200, "{path}?{query}: {}", answer.text());
            assert_eq!(content(&answer), content(&plain), "{path}?{query}");
        }
        count += 1;
    }
    assert!(count > 30, "{count}");
}

#[tokio::test]
async fn query_parameter_that_is_whole_is_an_integer() {
    let world = World::start().await;
    let document = world.store.service.openapi().await;
    let mut count = 0;
    for (path, name, kind) in parameters(&document) {
        let (Some(path), "integer") = (world.path(&path), kind.as_str()) else {
            continue;
        };
        let plain = world.get(&format!("{path}?{name}=1")).await.expect_status(200);
        for number in ["1.0", "1e0", "0.1e1"] {
            let answer = world.get(&format!("{path}?{name}={number}")).await;
            assert_eq!(answer.status, 200, "{path}?{name}={number}: {}", answer.text());
            assert_eq!(content(&answer), content(&plain), "{path}?{name}={number}");
        }
        for number in ["1.5", "1.", ".5", "x", "0x1", "inf", "1e400"] {
            let refused = world.get(&format!("{path}?{name}={number}")).await;
            let refused = refused.expect_error(400, "invalid_request");
            assert!(refused.message().contains(&name), "{}", refused.message());
        }
        count += 1;
    }
    assert!(count > 10, "{count}");
}

#[tokio::test]
async fn number_of_a_body_that_is_whole_is_an_integer() {
    let world = World::start().await;
    let data = format!("/data/{}", world.store.id);
    let hook = r#"{"name":"hook","run_as_role":"reader","filter":{"event_category":["*"]},"target":{"type":"webhook","url":"https://example.com/hook","timeout_ms":5000.0}}"#;
    for (path, body, status) in [
        (
            format!("{data}/query"),
            r#"{"sql":"SELECT id FROM t","limit":1.0}"#,
            200,
        ),
        (
            format!("{data}/query"),
            r#"{"sql":"SELECT id FROM t","limit":1e0}"#,
            200,
        ),
        (
            format!("{data}/query/batch"),
            r#"{"queries":[{"sql":"SELECT id FROM t","limit":1.0}]}"#,
            200,
        ),
        ("/workflows/runs".to_owned(), r#"{"page_size":10.0}"#, 200),
        ("/events/deliveries/search".to_owned(), r#"{"limit":10.0}"#, 200),
        ("/events/subscriptions".to_owned(), hook, 201),
        (
            format!("{data}/query"),
            r#"{"sql":"SELECT id FROM t","limit":1.5}"#,
            400,
        ),
        (
            format!("{data}/query"),
            r#"{"sql":"SELECT id FROM t","limit":"1"}"#,
            400,
        ),
        ("/workflows/runs".to_owned(), r#"{"page_size":10.5}"#, 400),
    ] {
        let answer = world.send(Method::POST, &path, body).await;
        assert_eq!(answer.status, status, "{path} {body}: {}", answer.text());
        if path.ends_with("/query") && status == 200 {
            assert_eq!(answer.body["rows"], json!([[1]]), "{body}");
        }
        if status == 201 {
            assert_eq!(answer.body["target"]["timeout_ms"], json!(5_000));
        }
    }
    // Free JSON keeps the number as it is.
    let body = r#"{"test_data":{"a":10.0}}"#;
    let path = world.path("/api/v1/prompts/{pt_id}").unwrap();
    let answer = world.send(Method::PUT, &path, body).await.expect_status(200);
    assert_eq!(answer.body["test_data"].to_string(), r#"{"a":10.0}"#);
}

/// A body for each operation that takes free JSON, with `@` for a number in it, and the place of the number.
fn bodies_of_free_json() -> [(Method, &'static str, &'static str, &'static str); 16] {
    let query = r#"{"sql":"SELECT 1","params":{"p":[@]}}"#;
    let process = r#"{"name":"p","run_as_role":"reader","filter":{"event_category":["*"]},"target":{"type":"process","definition":{"document":{"dsl":"1.0.0","namespace":"x","name":"n","version":"1.0.0"},"do":[{"s":{"set":{"n":@}}}]}}}"#;
    let workflow = r#"{"name":"w","run_as_role":"reader","filter":{"event_category":["*"]},"target":{"type":"workflow","workflow_type":"noop","vars":{"a.b":{"n":@}}}}"#;
    let rule = r#"{"name":"r","run_as_role":"reader","filter":{"event_category":["*"],"condition":{"<":[{"var":"details.n"},@]}},"target":{"type":"webhook","url":"https://example.com/hook"}}"#;
    let dashboard = r#"{"name":"d","query":"SELECT 1 AS a","spec":{"mark":"bar","usermeta":{"n":@}},"queryParameters":{"p":1}}"#;
    let set = "$.target.definition.do[0].s.set.n";
    let subscriptions = "/events/subscriptions";
    [
        (Method::POST, "/data/{store_id}/query", query, "$.params.p[0]"),
        (
            Method::POST,
            "/data/{store_id}/query/batch",
            r#"{"queries":[{"sql":"SELECT 1","params":{"p":@}}]}"#,
            "$.queries[0].params.p",
        ),
        (
            Method::POST,
            "/data/{store_id}/versions/any/query",
            query,
            "$.params.p[0]",
        ),
        (
            Method::POST,
            "/data/{store_id}/dashboards",
            dashboard,
            "$.spec.usermeta.n",
        ),
        (
            Method::PUT,
            "/data/{store_id}/dashboards/{dashboard_id}",
            r#"{"queryParameters":{"p":@}}"#,
            "$.queryParameters.p",
        ),
        (Method::POST, subscriptions, process, set),
        (Method::POST, subscriptions, workflow, "$.target.vars.a.b.n"),
        (Method::POST, subscriptions, rule, "$.filter.condition.<[1]"),
        (
            Method::POST,
            "/events/subscriptions/test",
            r#"{"filter":{"event_category":["*"]},"event":{"details":{"n":@}}}"#,
            "$.event.details.n",
        ),
        (
            Method::POST,
            "/events/channels",
            r#"{"name":"c","source":"s","transform":{"static_details":{"n":@}}}"#,
            "$.transform.static_details.n",
        ),
        (
            Method::POST,
            "/prompts",
            r#"{"name":"p","role":"user","content_type":"jst","content":"","test_data":{"n":@}}"#,
            "$.test_data.n",
        ),
        (
            Method::POST,
            "/prompts",
            r#"{"name":"p","role":"user","content_type":"jst","content":"","inputSchema":{"maximum":@}}"#,
            "$.inputSchema.maximum",
        ),
        (
            Method::PUT,
            "/prompts/{pt_id}",
            r#"{"test_data":{"n":@}}"#,
            "$.test_data.n",
        ),
        (
            Method::POST,
            "/prompts/render",
            r#"{"content_type":"jst","content":"${n}","data":{"n":@}}"#,
            "$.data.n",
        ),
        (
            Method::POST,
            "/workflows/runs/any/any/signal/any",
            r#"{"message":"m","n":@}"#,
            "$.n",
        ),
        // No integer, although its double is whole.
        (
            Method::POST,
            "/workflows/runs",
            r#"{"page_size":1@}"#,
            "$.page_size",
        ),
    ]
}

#[tokio::test]
async fn number_that_would_be_rounded_is_refused_where_it_stands() {
    let world = World::start().await;
    for (method, path, body, place) in bodies_of_free_json() {
        let path = world.path(&format!("/api/v1{path}")).unwrap();
        for number in [
            "12345678901234567.89",
            "18446744073709551616",
            "0.1234567890123456789",
            "9007199254740993.0",
        ] {
            let answer = world
                .send(method.clone(), &path, &body.replace('@', number))
                .await;
            assert_eq!(answer.status, 400, "{path} {number}: {}", answer.text());
            let refused = answer.expect_error(400, "invalid_request");
            let message = refused.message();
            assert!(
                message.contains(place) && message.contains("send it as a string"),
                "{path}: {message}"
            );
        }
    }
}

#[tokio::test]
async fn time_at_the_end_of_a_day_or_of_all_times_is_taken() {
    let world = World::start().await;
    let document = world.store.service.openapi().await;
    let mut count = 0;
    for (path, name, kind) in parameters(&document) {
        let (Some(path), "time") = (world.path(&path), kind.as_str()) else {
            continue;
        };
        for time in TIMES {
            let answer = world.get(&format!("{path}?{name}={time}")).await;
            assert_eq!(answer.status, 200, "{path}?{name}={time}: {}", answer.text());
        }
        for time in [
            "9999-12-31T24:00:00Z",
            "2026-01-31T24:00:01Z",
            "2026-01-31T25:00:00Z",
        ] {
            let refused = world.get(&format!("{path}?{name}={time}")).await;
            let refused = refused.expect_error(400, "invalid_request");
            assert!(refused.message().contains(&name), "{}", refused.message());
        }
        count += 1;
    }
    assert!(count >= 2, "{count}");
    let aggregate = json!({
        "from": "9999-01-31T24:00:00Z", "to": "9999-12-31T23:59:59Z",
        "groupBy": [{ "dimension": "time", "resolution": "month" }], "metrics": [{ "id": "n", "operation": "count" }],
    });
    for (path, body) in [
        (
            "/workflows/runs",
            json!({ "start": "2026-01-31T24:00:00Z", "end": "9999-12-31T23:59:59Z" }),
        ),
        (
            "/events/deliveries/search",
            json!({ "from": "2026-01-31T24:00:00Z", "to": "9999-12-31T23:59:59Z" }),
        ),
        ("/audit-trail/aggregate", aggregate),
    ] {
        let answer = world.send(Method::POST, path, &body.to_string()).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        if path.starts_with("/audit-trail") {
            // What is answered is what was said.
            assert_eq!(
                answer.body["from"],
                "9999-02-01T00:00:00.000Z",
                "{}",
                answer.text()
            );
            assert_eq!(answer.body["to"], "9999-12-31T23:59:59.000Z");
        }
    }
}

#[tokio::test]
async fn update_of_unknown_fields_alone_makes_no_version() {
    let world = World::start().await;
    for path in [
        "/api/v1/prompts/{pt_id}",
        "/api/v1/data/{store_id}/dashboards/{dashboard_id}",
    ] {
        let path = world.path(path).unwrap();
        let before = world.get(&path).await.expect_status(200).body;
        for body in [
            r#"{"Name":"x","colour":"red"}"#,
            r#"{"status":"published","version":7}"#,
        ] {
            let refused = world.send(Method::PUT, &path, body).await;
            let refused = refused.expect_error(400, "invalid_request");
            for (field, _) in serde_json::from_str::<Value>(body).unwrap().as_object().unwrap() {
                assert!(
                    refused.message().contains(&format!("'{field}'")),
                    "{}",
                    refused.message()
                );
            }
        }
        assert_eq!(world.get(&path).await.body, before);
        // An update makes a version where one field is known, and where the body is empty.
        for (body, version) in [(r#"{"name":"Renamed","colour":"red"}"#, 2), ("{}", 3)] {
            let updated = world.send(Method::PUT, &path, body).await.expect_status(200);
            assert_eq!(updated.body["version"], version, "{path} {body}");
        }
    }
    // These make a version only where something changes.
    let versions = world.store.get("/versions").await.expect_status(200).body;
    for path in [
        "/api/v1/data/{store_id}/schema",
        "/api/v1/data/{store_id}/tables/{table_name}",
    ] {
        let path = world.path(path).unwrap();
        let refused = world.send(Method::PUT, &path, r#"{"columns":[]}"#).await;
        refused.expect_error(400, "invalid_request");
    }
    let after = world.store.get("/versions").await.expect_status(200).body;
    assert_eq!(after, versions);
}
