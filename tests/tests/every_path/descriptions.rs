//! Tests that a description of any resource has at most 10,000 characters.

use serde_json::{Value, json};
use tests::dashboards::dashboard;
use tests::samples::prompt;
use tests::{Method, Store, unique};

const MOST: usize = 10_000;

/// One to four bytes per character.
const LETTERS: [&str; 4] = ["x", "é", "語", "𝄞"];

fn with(mut body: Value, path: &str, description: &str) -> Value {
    *body.pointer_mut(path).unwrap_or_else(|| panic!("{path}")) = description.into();
    body
}

/// Sends a body with descriptions at the limit, which must be accepted, and over it, which must be refused.
async fn check(store: &Store, method: Method, path: &str, field: &str, body: impl Fn() -> Value) {
    let send = |description: String| {
        let body = with(body(), field, &description);
        store
            .service
            .request(method.clone(), path)
            .token(&store.token)
            .json(&body)
    };
    for letter in LETTERS {
        let answer = send(letter.repeat(MOST)).await;
        assert!(
            (200..300).contains(&answer.status),
            "{path}{field}: {}",
            answer.text()
        );
        let refused = send(letter.repeat(MOST + 1))
            .await
            .expect_error(400, "invalid_request");
        for part in ["description", "10001", "10000"] {
            assert!(refused.message().contains(part), "{field}: {}", refused.message());
        }
    }
}

fn subscription() -> Value {
    json!({
        "name": "Orders", "description": "", "run_as_role": "reader", "filter": { "event_category": ["*"] },
        "target": { "type": "workflow", "endpoint": "Steps" },
    })
}

#[tokio::test]
async fn description_of_a_prompt_or_subscription_is_kept_up_to_its_limit() {
    let store = Store::start().await;
    let described = || {
        let mut body = prompt("Long");
        body["description"] = "".into();
        body
    };
    check(&store, Method::POST, "/prompts", "/description", described).await;
    let answer = store.service.post(&store.token, "/prompts", &described()).await;
    let path = format!("/prompts/{}", answer.expect_status(201).id());
    check(
        &store,
        Method::PUT,
        &path,
        "/description",
        || json!({ "description": "" }),
    )
    .await;
    let answer = store.service.get(&store.token, &path).await.expect_status(200);
    assert_eq!(answer.body["description"], "𝄞".repeat(MOST));

    let subscriptions = "/events/subscriptions";
    check(&store, Method::POST, subscriptions, "/description", subscription).await;
    let answer = store
        .service
        .post(&store.token, subscriptions, &subscription())
        .await;
    let path = format!("{subscriptions}/{}", answer.expect_status(201).id());
    check(
        &store,
        Method::PUT,
        &path,
        "/description",
        || json!({ "description": "" }),
    )
    .await;
}

#[tokio::test]
async fn description_of_a_store_or_dashboard_is_kept_up_to_its_limit() {
    let store = Store::start().await;
    let described = || json!({ "name": unique("store"), "description": "" });
    check(&store, Method::POST, "/data", "/description", described).await;
    let described = || {
        let mut body = dashboard(&unique("dashboard"));
        body["description"] = "".into();
        body
    };
    let path = store.path("/dashboards");
    check(&store, Method::POST, &path, "/description", described).await;
    let answer = store.post("/dashboards", &described()).await.expect_status(201);
    let path = format!("{path}/{}", answer.id());
    check(
        &store,
        Method::PUT,
        &path,
        "/description",
        || json!({ "description": "" }),
    )
    .await;
}

#[tokio::test]
async fn description_of_a_schema_table_or_column_is_kept_up_to_its_limit() {
    let store = Store::start().await;
    store.table("kept", &["id BIGINT", "name STRING"]).await;
    let tables = || {
        let column = json!({ "name": "id", "type": "BIGINT", "description": "" });
        json!({ "tables": [{ "name": unique("t").replace('-', "_"), "description": "", "columns": [column] }] })
    };
    let path = store.path("/tables");
    check(&store, Method::POST, &path, "/tables/0/description", tables).await;
    check(
        &store,
        Method::POST,
        &path,
        "/tables/0/columns/0/description",
        tables,
    )
    .await;

    let path = store.path("/tables/kept");
    check(
        &store,
        Method::PUT,
        &path,
        "/description",
        || json!({ "description": "" }),
    )
    .await;
    let changed = || json!({ "modify_columns": [{ "name": "name", "description": "" }] });
    check(
        &store,
        Method::PUT,
        &path,
        "/modify_columns/0/description",
        changed,
    )
    .await;
    let name = || unique("c").replace('-', "_");
    let added = || json!({ "add_columns": [{ "name": name(), "type": "STRING", "description": "" }] });
    check(&store, Method::PUT, &path, "/add_columns/0/description", added).await;

    let path = store.path("/schema");
    check(
        &store,
        Method::PUT,
        &path,
        "/description",
        || json!({ "description": "" }),
    )
    .await;
    let table = || json!({ "tables": [{ "name": "kept", "description": "" }] });
    check(&store, Method::PUT, &path, "/tables/0/description", table).await;
    let column =
        || json!({ "tables": [{ "name": "kept", "columns": [{ "name": "id", "description": "" }] }] });
    check(
        &store,
        Method::PUT,
        &path,
        "/tables/0/columns/0/description",
        column,
    )
    .await;
    let new = || {
        let column = json!({ "name": "id", "type": "BIGINT", "description": "" });
        json!({ "tables": [{ "name": name(), "columns": [column] }] })
    };
    check(&store, Method::PUT, &path, "/tables/0/columns/0/description", new).await;
}
