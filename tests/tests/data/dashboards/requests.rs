//! Tests dashboards: create, list, read, update, archive, names, and access.

use futures::future::join_all;
use serde_json::json;
use tests::dashboards::{dashboard, dashboard_with};
use tests::{Persona, Request, Store, redacted};

use super::calls::{create, put, read, with_sales};

/// Creates a store with an empty table of sales.
async fn started() -> Store {
    with_sales(Store::start().await).await
}

async fn started_local() -> Store {
    with_sales(Store::start().await).await
}

fn delete(store: &Store, id: &str) -> Request {
    let path = store.path(&format!("/dashboards/{id}"));
    store.service.delete(&store.token, &path)
}

#[tokio::test]
async fn a_dashboard_comes_back_as_it_was_sent() {
    let store = started_local().await;
    let body = json!({
        "name": "Sales by day", "description": "What was sold.", "tags": ["finance"],
        "query": "SELECT day, sum(amount) AS total FROM sales WHERE region IN ({{regions}}) AND amount > {{least}} GROUP BY day",
        "queryLimit": 500,
        "queryParameters": { "regions": ["north", "south"], "least": 1.5, "unused": null },
        "spec": {
            "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
            "title": { "text": "Sales", "subtitle": ["a", 1e3, null, true] },
            "mark": { "type": "line", "point": true },
            "encoding": {
                "x": { "field": "day", "type": "temporal", "axis": null },
                "y": { "field": "total", "type": "quantitative", "scale": { "zero": false } },
                "tooltip": [{ "field": "day", "type": "temporal" }, { "aggregate": "count" }]
            }
        },
        "id": "mine", "status": "archived", "version": 7, "colour": "red"
    });
    let created = create(&store, &body).await.expect_status(201);
    let location = format!("/api/v1/data/{}/dashboards/{}", store.id, created.id());
    assert!(
        created.header("location").ends_with(&location),
        "{}",
        created.header("location")
    );
    let mut rest = redacted(&created.body);
    for key in [
        "query",
        "spec",
        "queryParameters",
        "queryLimit",
        "tags",
        "name",
        "description",
    ] {
        assert_eq!(created.body[key], body[key], "{key}");
        rest.as_object_mut().unwrap().remove(key);
    }
    insta::assert_json_snapshot!(rest, @r#"
    {
      "created_at": "<time>",
      "created_by": "user:developer",
      "id": "<id>",
      "status": "active",
      "store_id": "<id>",
      "updated_at": "<time>",
      "updated_by": "user:developer",
      "version": 1,
      "versioning_enabled": true
    }
    "#);
    let answer = read(&store, &created.id()).await.expect_status(200);
    assert_eq!(answer.body, created.body);
    assert_eq!(answer.header("etag"), created.header("etag"));
    let list = store.get("/dashboards").await.expect_status(200);
    assert_eq!(list.body, json!([created.body]));
}

#[tokio::test]
async fn chart_with_mark_and_encoding_alone_is_accepted() {
    let store = started().await;
    let created = create(&store, &dashboard("Small")).await.expect_status(201);
    let body = &created.body;
    assert_eq!(body["queryParameters"], json!({}));
    assert!(
        body.get("queryLimit").is_none() && body.get("description").is_none(),
        "{body}"
    );
    assert_eq!(
        (&body["status"], &body["version"], &body["tags"]),
        (&json!("active"), &json!(1), &json!([]))
    );
    assert_eq!(body["versioning_enabled"], true);
}

#[tokio::test]
async fn a_list_is_newest_first_and_by_status() {
    let store = started().await;
    let mut ids = Vec::new();
    for name in ["one", "two", "three"] {
        ids.push(create(&store, &dashboard(name)).await.expect_status(201).id());
    }
    delete(&store, &ids[1]).await.expect_status(200);
    let names = |query: &str| {
        let request = store.get(&format!("/dashboards{query}"));
        async { request.await.expect_status(200).each("name") }
    };
    assert_eq!(names("").await, ["three", "one"]);
    assert_eq!(names("?status=active").await, ["three", "one"]);
    assert_eq!(names("?status=archived").await, ["two"]);
    assert_eq!(names("?limit=1").await, ["three"]);
    assert_eq!(names("?offset=1&limit=1").await, ["one"]);
    assert_eq!(names("?offset=2").await, [""; 0]);
    for bad in [
        "?status=ACTIVE",
        "?status=all",
        "?limit=0",
        "?limit=1001",
        "?limit=x",
        "?offset=-1",
    ] {
        let refused = store.get(&format!("/dashboards{bad}")).await;
        let refused = refused.expect_error(400, "invalid_request");
        let name = bad.trim_start_matches('?').split('=').next().unwrap();
        assert!(refused.message().contains(name), "{bad}: {}", refused.message());
    }
}

#[tokio::test]
async fn an_update_changes_what_it_names() {
    let store = started().await;
    let body = dashboard_with(
        &json!({ "description": "d", "queryLimit": 5, "queryParameters": { "a": 1 }, "tags": ["t"] }),
    );
    let created = create(&store, &body).await.expect_status(201);
    let id = created.id();

    let renamed = put(&store, &id, &json!({ "name": "Renamed" }))
        .await
        .expect_status(200);
    let mut expected = created.body.clone();
    expected["name"] = "Renamed".into();
    expected["version"] = 2.into();
    expected["updated_at"] = renamed.body["updated_at"].clone();
    assert_eq!(renamed.body, expected);

    let change = json!({
        "description": null, "queryLimit": null, "queryParameters": null, "tags": [], "name": null, "spec": null,
        "query": "SELECT day, region AS total FROM sales"
    });
    let cleared = put(&store, &id, &change).await.expect_status(200).body;
    assert!(
        cleared.get("description").is_none() && cleared.get("queryLimit").is_none(),
        "{cleared}"
    );
    assert_eq!(
        (&cleared["queryParameters"], &cleared["tags"]),
        (&json!({}), &json!([]))
    );
    assert_eq!(
        (&cleared["name"], &cleared["spec"]),
        (&json!("Renamed"), &created.body["spec"])
    );
    assert_eq!(read(&store, &id).await.body, cleared);
    // An empty update is an update too.
    assert_eq!(
        put(&store, &id, &json!({})).await.expect_status(200).body["version"],
        4
    );
}

#[tokio::test]
async fn an_archived_dashboard_can_be_read_and_not_changed() {
    let store = started().await;
    let created = create(&store, &dashboard("Sales")).await.expect_status(201);
    let id = created.id();
    let archived = delete(&store, &id).await.expect_status(200);
    assert_eq!(archived.body, json!({ "id": id, "status": "archived" }));

    let detail = read(&store, &id).await.expect_status(200).body;
    assert_eq!(
        (&detail["status"], &detail["spec"]),
        (&json!("archived"), &created.body["spec"])
    );
    let versions = store
        .get(&format!("/dashboards/{id}/versions"))
        .await
        .expect_status(200);
    let version = versions.body[0]["id"].as_str().unwrap();
    let below = |rest: &str| format!("/dashboards/{id}{rest}");
    let switch = store.path(&below("/versioning"));
    for refused in [
        delete(&store, &id).await,
        put(&store, &id, &json!({ "name": "x" })).await,
        store.post(&below("/versions"), &json!({ "name": "x" })).await,
        store
            .post(&below(&format!("/versions/{version}/promote")), &json!({}))
            .await,
        store
            .service
            .put(&store.token, &switch, &json!({ "enabled": false }))
            .await,
    ] {
        refused.expect_error(404, "not_found");
    }
    assert_eq!(read(&store, &id).await.body, detail);
    // Its name is free.
    create(&store, &dashboard("SALES")).await.expect_status(201);
}

#[tokio::test]
async fn names_are_unique_in_a_store_without_regard_to_case() {
    let store = started().await;
    let first = create(&store, &dashboard("Sales")).await.expect_status(201).id();
    let second = create(&store, &dashboard("Costs")).await.expect_status(201).id();
    let refusal = create(&store, &dashboard("sALES"))
        .await
        .expect_error(409, "conflict");
    assert!(refusal.message().contains("sALES"), "{}", refusal.message());
    put(&store, &second, &json!({ "name": "SALES" }))
        .await
        .expect_error(409, "conflict");
    assert_eq!(
        read(&store, &second).await.body["version"],
        1,
        "a refused update makes no version"
    );
    // A dashboard may change the case of its own name, and the name that it gives up becomes free.
    put(&store, &first, &json!({ "name": "SALES" }))
        .await
        .expect_status(200);
    put(&store, &first, &json!({ "name": "Revenue" }))
        .await
        .expect_status(200);
    put(&store, &second, &json!({ "name": "Sales" }))
        .await
        .expect_status(200);

    let other = store
        .service
        .post(&store.token, "/data", &json!({ "name": tests::unique("other") }))
        .await;
    let path = format!("/data/{}", other.expect_status(201).id());
    let body = dashboard_with(&json!({ "name": "Sales", "query": "SELECT 1 AS day, 2 AS total" }));
    let there = store
        .service
        .post(&store.token, &format!("{path}/dashboards"), &body);
    there.await.expect_status(201);
}

#[tokio::test]
async fn of_concurrent_dashboards_of_one_name_exactly_one_is_made() {
    let store = started().await;
    let body = dashboard("Contended");
    let creates = (0..8).map(|_| create(&store, &body));
    let mut statuses: Vec<_> = join_all(creates)
        .await
        .iter()
        .map(|answer| answer.status)
        .collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409, 409, 409, 409, 409, 409, 409]);
    assert_eq!(store.get("/dashboards").await.each("name"), ["Contended"]);
}

#[tokio::test]
async fn another_store_or_project_knows_nothing_of_a_dashboard() {
    let store = started().await;
    let id = create(&store, &dashboard("Secret")).await.expect_status(201).id();
    let other = store
        .service
        .post(&store.token, "/data", &json!({ "name": tests::unique("other") }))
        .await;
    let other = other.expect_status(201).id();
    let everything = |token: String, store_id: String| {
        let (service, id) = (&store.service, &id);
        async move {
            let path = format!("/data/{store_id}/dashboards/{id}");
            let versions = format!("{path}/versions");
            let requests = [
                service.get(&token, &path),
                service.put(&token, &path, &json!({ "name": "x" })),
                service.delete(&token, &path),
                service.get(&token, &versions),
                service.post(&token, &versions, &json!({ "name": "x" })),
                service.post(&token, &format!("{versions}/x/promote"), &json!({})),
                service.put(
                    &token,
                    &format!("{path}/versioning"),
                    &json!({ "enabled": false }),
                ),
            ];
            for request in requests {
                request.await.expect_error(404, "not_found");
            }
        }
    };
    everything(store.token.clone(), other).await;
    everything(store.token.clone(), "nothing".to_owned()).await;
    for persona in [Persona::OtherProject, Persona::OtherAccount] {
        let token = store.scope.token(persona);
        everything(token.clone(), store.id.clone()).await;
        let path = store.path("/dashboards");
        store
            .service
            .get(&token, &path)
            .await
            .expect_error(404, "not_found");
        let answer = store.service.post(&token, &path, &dashboard("Theirs")).await;
        answer.expect_error(404, "not_found");
    }
    let reader = store.scope.token(Persona::Reader);
    let path = store.path(&format!("/dashboards/{id}"));
    store.service.get(&reader, &path).await.expect_status(200);
    let refused = store.service.put(&reader, &path, &json!({})).await;
    assert!(
        refused
            .expect_error(403, "forbidden")
            .message()
            .contains("content:write")
    );
    let refused = store.service.delete(&reader, &path).await;
    assert!(
        refused
            .expect_error(403, "forbidden")
            .message()
            .contains("content:delete")
    );
    read(&store, &id).await.expect_status(200);

    store
        .service
        .delete(&store.token, &store.path(""))
        .await
        .expect_status(200);
    everything(store.token.clone(), store.id.clone()).await;
    store.get("/dashboards").await.expect_error(404, "not_found");
}
