//! Tests prompt templates: the list with its filters, and facets.

use serde_json::{Value, json};
use tests::samples::prompt;
use tests::{Persona, Service, redacted, unique};

/// Service, a token, and a name that all templates of [`library`] share.
struct Library {
    service: Service,
    token: String,
    mark: String,
}

/// Creates four templates, one after the other; the third is published.
async fn library() -> Library {
    let service = Service::start().await;
    let scope = service.scope();
    let token = scope.token(Persona::Developer);
    let mark = unique("mark");
    let templates = [
        ("Alpha", "user", "handlebars", json!(["red", "blue"])),
        ("Beta", "system", "text", json!(["blue"])),
        ("alphabet", "user", "jst", json!(["green"])),
        ("ÉTUDE", "user", "text", json!([])),
    ];
    for (name, role, content_type, tags) in templates {
        let mut body = prompt(&format!("{name} {mark}"));
        body["role"] = role.into();
        body["content_type"] = content_type.into();
        body["content"] = "Hello".into();
        body["tags"] = tags;
        let id = service
            .post(&token, "/prompts", &body)
            .await
            .expect_status(201)
            .id();
        if name == "alphabet" {
            scope.ops(&["prompt", "publish", &id]).expect_success();
        }
    }
    Library { service, token, mark }
}

impl Library {
    /// Returns the names that a query finds, without the mark.
    async fn names(&self, query: &str) -> Vec<String> {
        let listed = self
            .service
            .get(&self.token, &format!("/prompts?{query}"))
            .await
            .expect_status(200);
        let name = |name: &Value| name.as_str().unwrap().split(' ').next().unwrap().to_owned();
        listed.each("name").iter().map(name).collect()
    }

    async fn facets(&self, body: Value) -> Value {
        self.service
            .post(&self.token, "/prompts/facets", &body)
            .await
            .expect_status(200)
            .body
    }
}

#[tokio::test]
async fn list_has_only_templates_that_the_filters_select() {
    let library = library().await;
    let all = ["Alpha", "Beta", "alphabet", "ÉTUDE"];
    for (query, expected) in [
        ("", &all[..]),
        ("unknown=1", &all[..]),
        ("name=ALPHA", &["Alpha", "alphabet"]),
        ("name=lph", &["Alpha", "alphabet"]),
        ("name=%C3%A9tude", &["ÉTUDE"]),
        ("name=%25", &[]),
        ("name=.*", &[]),
        ("role=user", &["Alpha", "alphabet", "ÉTUDE"]),
        ("role=use", &[]),
        ("role=User", &[]),
        ("role=system&name=a", &["Beta"]),
        ("tags=blue", &["Alpha", "Beta"]),
        ("tags=red,green", &["Alpha", "alphabet"]),
        ("tags=red&tags=green", &["Alpha", "alphabet"]),
        ("tags=red,green&tags=blue", &["Alpha", "Beta", "alphabet"]),
        ("tags=blu", &[]),
        ("status=draft", &["Alpha", "Beta", "ÉTUDE"]),
        ("status=published", &["alphabet"]),
        ("limit=2", &["Alpha", "Beta"]),
        ("limit=2&offset=1", &["Beta", "alphabet"]),
        ("offset=3", &["ÉTUDE"]),
        ("offset=4", &[]),
        ("limit=100", &all[..]),
        ("tags=blue&limit=1&offset=1", &["Beta"]),
    ] {
        assert_eq!(library.names(query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn bad_filters_are_refused_by_name() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    for (query, part) in [
        ("status=live", "status"),
        ("limit=many", "limit"),
        ("limit=-1", "limit"),
        ("limit=1.5", "limit"),
        ("offset=-1", "offset"),
        ("offset=99999999999999999999", "offset"),
    ] {
        let refused = service.get(&token, &format!("/prompts?{query}")).await;
        let refused = refused.expect_error(400, "invalid_request");
        assert!(refused.message().contains(part), "{query}: {}", refused.message());
    }
}

#[tokio::test]
async fn an_empty_project_lists_nothing() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Reader);
    assert_eq!(
        service.get(&token, "/prompts").await.expect_status(200).body,
        json!([])
    );
    let body = json!({ "facets": [{ "name": "roles", "field": "role" }] });
    let facets = service
        .post(&token, "/prompts/facets", &body)
        .await
        .expect_status(200);
    assert_eq!(facets.body, json!({ "roles": [], "total": 0 }));
}

#[tokio::test]
async fn list_item_has_the_fields_of_the_contract() {
    let library = library().await;
    let query = format!("/prompts?name=beta%20{}", library.mark);
    let listed = library
        .service
        .get(&library.token, &query)
        .await
        .expect_status(200);
    insta::assert_json_snapshot!(redacted(&listed.body), @r#"
    [
      {
        "created_at": "<time>",
        "id": "<id>",
        "interactions": [],
        "name": "Beta mark",
        "role": "system",
        "status": "draft",
        "tags": [
          "blue"
        ],
        "updated_at": "<time>",
        "version": 1
      }
    ]
    "#);
}

#[tokio::test]
async fn facets_count_every_field() {
    let library = library().await;
    let project = library
        .service
        .get(&library.token, "/prompts?limit=1")
        .await
        .expect_status(200);
    let path = format!("/prompts/{}", project.body[0]["id"].as_str().unwrap());
    let project = library.service.get(&library.token, &path).await.body["project"].clone();
    let mark = &library.mark;
    let name = |text: &str| json!({ "_id": format!("{text} {mark}"), "count": 1 });
    for (field, expected) in [
        (
            "role",
            json!([{ "_id": "user", "count": 3 }, { "_id": "system", "count": 1 }]),
        ),
        (
            "status",
            json!([{ "_id": "draft", "count": 3 }, { "_id": "published", "count": 1 }]),
        ),
        (
            "content_type",
            json!([{ "_id": "text", "count": 2 }, { "_id": "handlebars", "count": 1 }, { "_id": "jst", "count": 1 }]),
        ),
        (
            "tags",
            json!([{ "_id": "blue", "count": 2 }, { "_id": "green", "count": 1 }, { "_id": "red", "count": 1 }]),
        ),
        ("created_by", json!([{ "_id": "user:developer", "count": 4 }])),
        ("project", json!([{ "_id": project, "count": 4 }])),
        (
            "name",
            json!([name("Alpha"), name("Beta"), name("alphabet"), name("ÉTUDE")]),
        ),
    ] {
        let facets = library
            .facets(json!({ "facets": [{ "name": "f", "field": field }] }))
            .await;
        assert_eq!(facets, json!({ "f": expected, "total": 4 }), "{field}");
    }
}

#[tokio::test]
async fn facets_count_only_what_the_query_finds() {
    let library = library().await;
    let roles = json!([{ "name": "roles", "field": "role" }, { "name": "by status", "field": "status" }]);
    for (query, total) in [
        (json!({}), 4),
        (json!({ "name": "ALPHA" }), 2),
        (json!({ "role": "user" }), 3),
        (json!({ "tags": ["red", "green"] }), 2),
        (json!({ "status": "published" }), 1),
        (json!({ "role": "nobody" }), 0),
        (json!({ "name": "alpha", "status": "draft", "unknown": 1 }), 1),
    ] {
        let facets = library.facets(json!({ "facets": roles, "query": query })).await;
        assert_eq!(facets["total"], total, "{query}");
        let count = |facet: &str| -> u64 {
            let buckets = facets[facet].as_array().unwrap();
            buckets
                .iter()
                .map(|bucket| bucket["count"].as_u64().unwrap())
                .sum()
        };
        assert_eq!(
            (count("roles"), count("by status")),
            (total, total),
            "{query}: {facets}"
        );
    }
    assert_eq!(
        library.facets(json!({ "facets": [] })).await,
        json!({ "total": 4 })
    );
}

#[tokio::test]
async fn bad_facets_are_refused() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    for (body, part) in [
        (json!({}), "facets"),
        (json!({ "facets": null }), "$.facets"),
        (json!({ "facets": "role" }), "$.facets"),
        (
            json!({ "facets": [{ "name": "total", "field": "role" }] }),
            "total",
        ),
        (
            json!({ "facets": [{ "name": "a", "field": "content" }] }),
            "$.facets[0].field",
        ),
        (
            json!({ "facets": [{ "name": "a", "field": 7 }] }),
            "$.facets[0].field",
        ),
        (json!({ "facets": [["a", "role"]] }), "$.facets[0]"),
        (json!([[{ "name": "a", "field": "role" }]]), "The body"),
        (
            json!({ "facets": [], "query": { "status": 7 } }),
            "$.query.status",
        ),
        (
            json!({ "facets": [{ "name": "a", "field": "" }] }),
            "$.facets[0].field",
        ),
        (
            json!({ "facets": [{ "name": "a", "field": "role" }, { "name": "b" }] }),
            "$.facets[1]",
        ),
        (
            json!({ "facets": [{ "name": 1, "field": "role" }] }),
            "$.facets[0].name",
        ),
        (json!({ "facets": [{ "field": "role" }] }), "name"),
        (
            json!({ "facets": [{ "name": "", "field": "role" }] }),
            "facets[0].name",
        ),
        (
            json!({ "facets": [], "query": { "status": "live" } }),
            "$.query.status",
        ),
        (json!({ "facets": [], "query": { "name": 1 } }), "$.query.name"),
        (json!({ "facets": [], "query": [] }), "$.query"),
        (
            json!({ "facets": [{ "name": "a", "field": "role" }, { "name": "a", "field": "tags" }] }),
            "'a'",
        ),
    ] {
        let refused = service.post(&token, "/prompts/facets", &body).await;
        let refused = refused.expect_error(400, "invalid_request");
        assert!(refused.message().contains(part), "{body}: {}", refused.message());
    }
}
