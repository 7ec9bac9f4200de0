//! Tests data stores: create, list, detail, archive, names.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tests::{Method, Persona, Service, Store, redacted, unique};

async fn started() -> (Service, String) {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    (service, token)
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test]
async fn create_answers_with_the_whole_store() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    let body = json!({
        "name": "Sales", "description": "What was sold.", "tags": ["finance", "eu"],
        "id": "mine", "status": "ARCHIVED", "total_rows": 7, "colour": "red"
    });
    let created = service.post(&token, "/data", &body).await.expect_status(201);
    insta::assert_json_snapshot!(redacted(&created.body), @r#"
    {
      "created": "<time>",
      "created_by": "user:developer",
      "description": "What was sold.",
      "id": "<id>",
      "name": "Sales",
      "schema": {
        "name": "Sales",
        "relationships": [],
        "schema_format": "full",
        "tables": [],
        "updated_at": "<time>",
        "version": 1
      },
      "schema_version": 1,
      "status": "ACTIVE",
      "storage_bytes": 0,
      "table_count": 0,
      "tags": [
        "finance",
        "eu"
      ],
      "total_rows": 0,
      "updated": "<time>",
      "updated_by": "user:developer",
      "version_count": 1,
      "version_id": "<id>"
    }
    "#);
    let location = created.header("location");
    assert!(
        location.ends_with(&format!("/api/v1/data/{}", created.id())),
        "{location}"
    );
    let url = service.located(location);
    let answer = service.get(&token, &url).await.expect_status(200);
    assert_eq!(answer.body, created.body);
}

#[tokio::test]
async fn a_list_has_the_fields_of_the_contract_and_no_more() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    let empty = service.get(&token, "/data").await.expect_status(200);
    assert_eq!(empty.body, json!([]));
    let mut details = Vec::new();
    for name in ["first", "second", "third"] {
        let body = json!({ "name": name, "description": "d", "tags": ["t"] });
        details.push(service.post(&token, "/data", &body).await.expect_status(201).body);
    }
    let list = service.get(&token, "/data").await.expect_status(200);
    let items = list.body.as_array().unwrap();
    assert_eq!(items.len(), 3);
    for item in items {
        let detail = details.iter().find(|detail| detail["id"] == item["id"]).unwrap();
        let expected = BTreeSet::from([
            "id",
            "name",
            "description",
            "status",
            "schema_version",
            "table_count",
            "total_rows",
            "storage_bytes",
            "created",
            "updated",
        ]);
        assert_eq!(keys(item), expected);
        for key in expected {
            assert_eq!(item[key], detail[key], "{key}");
        }
    }
    let slash = service.get(&token, "/data/").await.expect_status(200);
    assert_eq!(slash.body, list.body);
}

#[tokio::test]
async fn the_detail_and_the_list_follow_every_change() {
    let store = Store::start().await;
    store
        .table("orders", &["id BIGINT primary_key", "note STRING"])
        .await;
    let rows = json!([{ "id": 1, "note": "a" }, { "id": 2 }]);
    store.append("orders", &rows).await.expect_status(200);
    let detail = store.detail().await;
    for (field, expected) in [
        ("table_count", 1),
        ("total_rows", 2),
        ("schema_version", 2),
        ("version_count", 3),
    ] {
        assert_eq!(detail[field], expected, "{field}: {detail}");
    }
    assert!(detail["storage_bytes"].as_u64() > Some(0), "{detail}");
    assert_eq!(detail["last_import_at"], detail["updated"]);
    insta::assert_json_snapshot!(redacted(&detail["schema"]["tables"]), @r#"
    [
      {
        "columns": [
          {
            "name": "id",
            "nullable": false,
            "primary_key": true,
            "type": "BIGINT"
          },
          {
            "name": "note",
            "nullable": true,
            "type": "STRING"
          }
        ],
        "name": "orders",
        "row_count": 2
      }
    ]
    "#);
    assert_eq!(detail["schema"]["version"], detail["schema_version"]);
    let list = store.service.get(&store.token, "/data").await.expect_status(200);
    let items = list.body.as_array().unwrap();
    let item = items.iter().find(|item| item["id"] == detail["id"]).unwrap();
    assert_eq!(item["total_rows"], 2);
    assert_eq!(item["storage_bytes"], detail["storage_bytes"]);
}

#[tokio::test]
async fn an_archived_store_is_gone_and_its_name_is_free() {
    let (service, token) = started().await;
    let body = json!({ "name": unique("Sales") });
    let created = service.post(&token, "/data", &body).await.expect_status(201);
    let path = format!("/data/{}", created.id());
    let table = json!({ "tables": [{ "name": "t", "columns": [{ "name": "a", "type": "STRING" }] }] });
    let tables = format!("{path}/tables");
    service.post(&token, &tables, &table).await.expect_status(201);
    let rows = json!({ "tables": { "t": { "source": "inline", "data": [] } } });
    let import = service.post(&token, &format!("{path}/import"), &rows).await;
    let import = format!("{path}/import/{}", import.expect_status(200).id());

    let archived = service.delete(&token, &path).await.expect_status(200);
    assert_eq!(archived.body, json!({ "id": created.id(), "status": "archived" }));
    for answer in [
        service.get(&token, &path).await,
        service.get(&token, &tables).await,
        service.post(&token, &tables, &table).await,
        service.get(&token, &format!("{tables}/t")).await,
        service.get(&token, &format!("{tables}/t?sample=true")).await,
        service.post(&token, &format!("{path}/import"), &rows).await,
        service.get(&token, &import).await,
        service
            .post(&token, &format!("{path}/query"), &json!({ "sql": "SELECT 1" }))
            .await,
        service.delete(&token, &path).await,
    ] {
        answer.expect_error(404, "not_found");
    }
    let ids = service.get(&token, "/data").await.each("id");
    assert!(!ids.contains(&created.body["id"]));

    let again = service.post(&token, "/data", &body).await.expect_status(201);
    assert_ne!(again.id(), created.id());
    assert_eq!(again.body["table_count"], 0);
}

#[tokio::test]
async fn a_name_is_one_stores_without_regard_to_case() {
    let (service, token) = started().await;
    let name = unique("Été");
    service
        .post(&token, "/data", &json!({ "name": name }))
        .await
        .expect_status(201);
    for again in [name.clone(), name.to_uppercase(), name.to_lowercase()] {
        let refused = service.post(&token, "/data", &json!({ "name": again })).await;
        let refused = refused.expect_error(409, "conflict");
        assert!(refused.message().contains(&again) || refused.message().contains(&name));
    }
}

#[tokio::test]
async fn of_many_who_take_a_name_one_gets_it() {
    let (service, token) = started().await;
    let body = json!({ "name": unique("wanted") });
    let all = (0..12).map(|_| async { service.post(&token, "/data", &body).await });
    let statuses: Vec<_> = futures::future::join_all(all)
        .await
        .iter()
        .map(|answer| answer.status)
        .collect();
    let count = statuses.iter().filter(|status| **status == 201).count();
    assert_eq!(count, 1, "{statuses:?}");
    assert!(
        statuses.iter().all(|status| [201, 409].contains(status)),
        "{statuses:?}"
    );
}

#[tokio::test]
async fn names_are_kept_to_the_byte() {
    let (service, token) = started().await;
    let random = unique("");
    for name in [
        format!("été 日本 \u{1F600}{random}"),
        format!("'; DROP TABLE stores; --{random}"),
        format!("a/b\\c?d#e%2F..{random}"),
        format!("\"{random}\""),
        format!("{}{random}", "x".repeat(200 - random.len())),
        format!("{}{random}", "é".repeat(200 - random.len())),
    ] {
        let created = service.post(&token, "/data", &json!({ "name": name })).await;
        let created = created.expect_status(201);
        assert_eq!(created.body["name"], name.as_str());
        let answer = service.get(&token, &format!("/data/{}", created.id())).await;
        assert_eq!(answer.body["name"], name.as_str());
        assert_eq!(answer.body["schema"]["name"], name.as_str());
    }
}

#[tokio::test]
async fn a_body_that_is_wrong_is_refused_with_the_fields_name() {
    let (service, token) = started().await;
    let tags: Vec<_> = (0..51).map(|tag| tag.to_string()).collect();
    for (body, part) in [
        (json!({}), "name"),
        (json!({ "name": "" }), "name"),
        (json!({ "name": " \t" }), "name"),
        (json!({ "name": null }), "name"),
        (json!({ "name": 7 }), "name"),
        (json!({ "name": "x".repeat(201) }), "name"),
        (json!({ "name": "a\u{0}b" }), "name"),
        (json!({ "name": "a\nb" }), "name"),
        (json!({ "name": "a", "description": 7 }), "description"),
        (json!({ "name": "a", "tags": "finance" }), "tags"),
        (json!({ "name": "a", "tags": [7] }), "tags"),
        (json!({ "name": "a", "tags": [""] }), "tags"),
        (json!({ "name": "a", "tags": tags }), "tags"),
    ] {
        let refused = service.post(&token, "/data", &body).await;
        let refused = refused.expect_error(400, "invalid_request");
        assert!(refused.message().contains(part), "{body}: {}", refused.message());
    }
    let empty = service.request(Method::POST, "/data").token(&token).await;
    empty.check_error();
    let put = service.put(&token, "/data", &json!({ "name": "a" })).await;
    let put = put.expect_error(405, "invalid_request");
    assert!(
        put.header("allow").contains("GET") && put.header("allow").contains("POST"),
        "{:?}",
        put.headers
    );
}
