//! Tests access to data stores: projects, roles, API keys.

use serde_json::json;
use tests::{Answer, Method, Persona, Store, unique};

#[tokio::test]
async fn another_projects_store_is_as_one_that_never_was() {
    let store = Store::start().await;
    store.table("t", &["a STRING"]).await;
    for persona in [Persona::OtherProject, Persona::OtherAccount] {
        let token = store.scope.token(persona);
        let get = |path: String| {
            let (service, token) = (&store.service, &token);
            async move { service.get(token, &path).await }
        };
        let query = json!({ "sql": "SELECT * FROM t" });
        for answer in [
            get(store.path("")).await,
            get(store.path("/tables")).await,
            get(store.path("/tables/t")).await,
            store.service.post(&token, &store.path("/query"), &query).await,
            store
                .service
                .post(
                    &token,
                    &store.path("/import"),
                    &tests::stores::inline("t", &json!([])),
                )
                .await,
            store.service.delete(&token, &store.path("")).await,
        ] {
            answer.expect_error(404, "not_found");
        }
        let ids = store
            .service
            .get(&token, "/data")
            .await
            .expect_status(200)
            .each("id");
        assert!(!ids.contains(&store.id.as_str().into()));
    }
    store.get("").await.expect_status(200);
}

#[tokio::test]
async fn roles_say_who_may_do_what() {
    let store = Store::start().await;
    let create = json!({ "name": unique("theirs") });
    let table = json!({ "tables": [{ "name": "t", "columns": [{ "name": "a", "type": "STRING" }] }] });
    let rows = tests::stores::inline("t", &json!([{ "a": "1" }]));
    store.post("/tables", &table).await.expect_status(201);
    let service = &store.service;

    let reader = store.scope.token(Persona::Reader);
    service.get(&reader, "/data").await.expect_status(200);
    service.get(&reader, &store.path("")).await.expect_status(200);
    let query = json!({ "sql": "SELECT count(*) FROM t" });
    let queried = service.post(&reader, &store.path("/query"), &query).await;
    queried.expect_status(200);
    let forbidden = |answer: Answer, permission: &str| {
        let answer = answer.expect_error(403, "forbidden");
        assert!(answer.message().contains(permission), "{}", answer.message());
    };
    forbidden(service.post(&reader, "/data", &create).await, "content:write");
    let tables = store.path("/tables");
    forbidden(service.post(&reader, &tables, &table).await, "content:write");
    let import = store.path("/import");
    forbidden(service.post(&reader, &import, &rows).await, "content:write");
    forbidden(service.delete(&reader, &store.path("")).await, "content:delete");

    let nobody = store.scope.token(Persona::Nobody);
    forbidden(service.get(&nobody, "/data").await, "content:read");
    forbidden(
        service.post(&nobody, &store.path("/query"), &query).await,
        "content:read",
    );

    let whole = store.scope.token(Persona::WholeAccount);
    service.get(&whole, "/data").await.expect_error(403, "forbidden");
    let created = service.post(&whole, "/data", &create).await;
    created.expect_error(403, "forbidden");
    let none = service.request(Method::GET, "/data").await;
    none.expect_error(401, "unauthenticated");
}

#[tokio::test]
async fn an_api_key_works_in_both_headers_until_it_is_revoked() {
    let store = Store::start().await;
    let (service, scope) = (&store.service, &store.scope);
    let operator = service.operator();
    let key = |project: &str, roles: &str| {
        let tenant = ["--account", &scope.account, "--project", project];
        operator.json(&[&["key", "create", "ci", "--roles", roles], &tenant[..]].concat())
    };
    let automation = key(&scope.project, "automation");
    let secret = automation["key"].as_str().unwrap();
    let by_header = || {
        let request = service.request(Method::POST, "/data");
        request.header("x-api-key", secret)
    };
    let created = by_header().json(&json!({ "name": "by header" })).await;
    let created = created.expect_status(201);
    let author = format!("apikey:{}", automation["id"].as_str().unwrap());
    assert_eq!(created.body["created_by"], author.as_str());
    let path = format!("/data/{}", created.id());
    let detail = service.get(secret, &path).await.expect_status(200);
    assert_eq!(detail.body, created.body);

    let reader = key(&scope.project, "reader");
    let reader = reader["key"].as_str().unwrap();
    service.get(reader, &path).await.expect_status(200);
    let refused = service.post(reader, "/data", &json!({ "name": "no" })).await;
    let refused = refused.expect_error(403, "forbidden");
    assert!(
        refused.message().contains("content:write"),
        "{}",
        refused.message()
    );

    let other = key(&scope.other_project(), "automation");
    let other = other["key"].as_str().unwrap();
    service.get(other, &path).await.expect_error(404, "not_found");

    for wrong in [
        "sk-",
        "sk-0000",
        &secret[..secret.len() - 1],
        &secret.to_uppercase(),
    ] {
        let refused = service.get(wrong, &path).await;
        refused.expect_error(401, "unauthenticated");
    }

    let id = automation["id"].as_str().unwrap();
    scope.ops(&["key", "revoke", id]).expect_success();
    let refused = service.get(secret, &path).await;
    refused.expect_error(401, "unauthenticated");
    let refused = by_header().json(&json!({ "name": "late" })).await;
    refused.expect_error(401, "unauthenticated");
    service.get(&store.token, &path).await.expect_status(200);
}
