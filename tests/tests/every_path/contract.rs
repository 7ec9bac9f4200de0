//! Tests every operation of the OpenAPI document, future ones included: it refuses missing credentials and
//! missing permissions, hides other projects, and every refusal has the documented body.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tests::samples::prompt;
use tests::{Answer, Method, Persona, Request, Scope, Service, unique};

/// Operations of the contract; the document must have all of them.
const PROMISED: &[(&str, &str)] = &[
    ("GET", "/audit-trail"),
    ("POST", "/audit-trail/aggregate"),
    ("GET", "/events/channels"),
    ("POST", "/events/channels"),
    ("GET", "/events/channels/{channel_id}"),
    ("PUT", "/events/channels/{channel_id}"),
    ("DELETE", "/events/channels/{channel_id}"),
    ("POST", "/events/deliveries/search"),
    ("GET", "/events/subscriptions"),
    ("POST", "/events/subscriptions"),
    ("POST", "/events/subscriptions/test"),
    ("GET", "/events/subscriptions/{subscription_id}"),
    ("PUT", "/events/subscriptions/{subscription_id}"),
    ("DELETE", "/events/subscriptions/{subscription_id}"),
    ("GET", "/prompts"),
    ("POST", "/prompts"),
    ("POST", "/prompts/facets"),
    ("POST", "/prompts/render"),
    ("GET", "/prompts/{pt_id}"),
    ("PUT", "/prompts/{pt_id}"),
    ("DELETE", "/prompts/{pt_id}"),
    ("POST", "/prompts/{pt_id}/fork"),
    ("GET", "/prompts/{pt_id}/forks"),
    ("GET", "/prompts/{pt_id}/interactions"),
    ("POST", "/prompts/{pt_id}/publish"),
    ("GET", "/prompts/{pt_id}/versions"),
    ("GET", "/prompts/{pt_id}/versions/{version}"),
    ("POST", "/workflows/conversations"),
    ("POST", "/workflows/runs"),
    ("GET", "/workflows/runs/{workflow_id}/{run_id}"),
    ("POST", "/workflows/runs/{workflow_id}/{run_id}/actions/{action}"),
    ("GET", "/workflows/runs/{workflow_id}/{run_id}/query/{query_name}"),
    (
        "POST",
        "/workflows/runs/{workflow_id}/{run_id}/signal/{signal_name}",
    ),
    ("GET", "/workflows/runs/{workflow_id}/{run_id}/stream"),
    ("GET", "/workflows/runs/{workflow_id}/{run_id}/updates"),
    ("POST", "/workflows/runs/{run_id}/updates"),
    ("GET", "/workflows/types"),
];

/// Ends of paths whose `POST` only searches or queries, and so leaves no audit record.
const SEARCHES: &[&str] = &[
    "/audit-trail/aggregate",
    "/events/deliveries/search",
    "/events/search",
    "/events/subscriptions/test",
    "/facets",
    "/prompts/render",
    "/query",
    "/query/batch",
    "/query/validate",
    "/uploads",
    "/workflows/conversations",
    "/workflows/runs",
];

#[derive(Debug)]
struct Operation {
    method: Method,
    /// Path below the API root, with its parameters in braces.
    template: String,
    document: Value,
}

impl Operation {
    /// False for what every caller may call.
    fn needs_permission(&self) -> bool {
        let permissions = self.document["x-required-permissions"].as_array();
        permissions.is_some_and(|permissions| !permissions.is_empty())
    }

    fn has_parameters(&self) -> bool {
        self.template.contains('{')
    }

    fn is_mutation(&self) -> bool {
        self.method != Method::GET && !SEARCHES.iter().any(|end| self.template.ends_with(end))
    }
}

/// Service with one resource of each kind whose id a path may name.
struct World {
    service: Service,
    scope: Scope,
    developer: String,
    prompt: String,
    /// Part of the name of every resource in the world, and of no other.
    mark: String,
}

impl World {
    async fn start() -> Self {
        let service = Service::start().await;
        let scope = service.scope();
        let developer = scope.token(Persona::Developer);
        let mark = unique("mark");
        let prompt = service.post(&developer, "/prompts", &prompt(&mark)).await.id();
        Self {
            service,
            scope,
            developer,
            prompt,
            mark,
        }
    }

    /// Returns the operations below the API root that can be called.
    async fn operations(&self) -> Vec<Operation> {
        let mut operations = self.documented().await;
        operations.retain(|operation| self.service.has(&operation.template));
        operations
    }

    /// Returns the operations below the API root.
    async fn documented(&self) -> Vec<Operation> {
        let document = self.service.openapi().await;
        let mut operations = Vec::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            let Some(template) = path.strip_prefix("/api/v1") else {
                continue;
            };
            for (method, document) in item.as_object().unwrap() {
                let method = method.to_uppercase();
                if ["GET", "POST", "PUT", "PATCH", "DELETE"].contains(&method.as_str()) {
                    operations.push(Operation {
                        method: method.parse().unwrap(),
                        template: template.to_owned(),
                        document: document.clone(),
                    });
                }
            }
        }
        assert!(operations.len() >= PROMISED.len(), "{operations:?}");
        operations
    }

    /// Returns the operation's path: with the ids of the world's resources, and random ids for other kinds.
    fn path(&self, operation: &Operation) -> String {
        let fill = |part: &str| match part {
            "{pt_id}" => self.prompt.clone(),
            "{version}" => "1".to_owned(),
            _ if part.starts_with('{') => unique("nothing"),
            _ => part.to_owned(),
        };
        operation
            .template
            .split('/')
            .map(fill)
            .collect::<Vec<_>>()
            .join("/")
    }

    /// Returns the operation as a request, with the smallest accepted body where that is known.
    fn request(&self, operation: &Operation) -> Request {
        let request = self
            .service
            .request(operation.method.clone(), &self.path(operation));
        match (&operation.method, operation.template.as_str()) {
            (&Method::GET | &Method::DELETE, _) => request,
            (_, "/prompts") => request.json(&prompt("Another")),
            (_, "/prompts/facets") => request.json(&json!({ "facets": [] })),
            _ => request.json(&json!({})),
        }
    }

    #[track_caller]
    fn check_hidden(&self, answer: &Answer) {
        let text = answer.text();
        assert!(
            !text.contains(&self.mark),
            "{} shows another project: {text}",
            answer.request
        );
    }
}

#[tokio::test]
async fn the_document_has_what_the_contract_promises() {
    let world = World::start().await;
    let operations = world.documented().await;
    let described: BTreeSet<_> = operations
        .iter()
        .map(|operation| (operation.method.as_str(), operation.template.as_str()))
        .collect();
    for promised in PROMISED {
        assert!(
            described.contains(promised),
            "{promised:?} is missing from {described:?}"
        );
    }
    let mut ids = BTreeSet::new();
    for operation in &operations {
        let id = operation.document["operationId"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert!(
            !id.is_empty(),
            "{} {} has no operationId",
            operation.method,
            operation.template
        );
        assert!(ids.insert(id.clone()), "two operations are named {id}");
        let answers = operation.document["responses"].as_object().unwrap();
        assert!(
            answers.keys().any(|status| status.starts_with('2')),
            "{id} shows no success"
        );
        let count = operation.template.matches('{').count();
        let parameters = operation.document["parameters"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let described = parameters
            .iter()
            .filter(|parameter| parameter["in"] == "path")
            .count();
        assert_eq!(described, count, "{id} does not describe its path");
    }
}

#[tokio::test]
async fn without_credentials_every_operation_is_401() {
    let world = World::start().await;
    for operation in world.operations().await {
        world
            .request(&operation)
            .await
            .expect_error(401, "unauthenticated");
        let nonsense = world.request(&operation).token("nonsense").await;
        nonsense.expect_error(401, "unauthenticated");
        // Credentials are checked before the body.
        let bodiless = world
            .service
            .request(operation.method.clone(), &world.path(&operation))
            .body("{");
        bodiless.await.expect_error(401, "unauthenticated");
    }
}

#[tokio::test]
async fn without_permission_every_operation_is_403() {
    let world = World::start().await;
    let nobody = world.scope.token(Persona::Nobody);
    for operation in world.operations().await {
        if !operation.needs_permission() {
            continue;
        }
        let refused = world
            .request(&operation)
            .token(&nobody)
            .await
            .expect_error(403, "forbidden");
        let names_permission = refused.message().split([' ', '.']).any(|word| word.contains(':'));
        assert!(
            names_permission,
            "{} names no permission: {}",
            refused.request,
            refused.message()
        );
        // The permission is checked before the body.
        let bodiless = world
            .service
            .request(operation.method.clone(), &world.path(&operation))
            .token(&nobody);
        bodiless.body("{").await.expect_error(403, "forbidden");
    }
}

#[tokio::test]
async fn another_project_sees_nothing_and_changes_nothing() {
    let world = World::start().await;
    let path = format!("/prompts/{}", world.prompt);
    let before = world
        .service
        .get(&world.developer, &path)
        .await
        .expect_status(200);
    for persona in [Persona::OtherProject, Persona::OtherAccount] {
        let stranger = world.scope.token(persona);
        for operation in world.operations().await {
            let answer = world.request(&operation).token(&stranger).await;
            world.check_hidden(&answer);
            if operation.has_parameters() {
                // An invalid body may be refused first, which reveals nothing either.
                let bodiless = matches!(operation.method, Method::GET | Method::DELETE);
                let about_prompts = operation.template.starts_with("/prompts");
                if bodiless || about_prompts || answer.status != 400 {
                    answer.expect_error(404, "not_found");
                }
            } else if answer.status >= 400 {
                assert!(answer.status < 500, "{}: {}", answer.request, answer.text());
                answer.check_error();
            } else {
                assert!(!answer.text().contains(&world.prompt), "{}", answer.text());
            }
        }
    }
    let after = world
        .service
        .get(&world.developer, &path)
        .await
        .expect_status(200);
    assert_eq!(after.body, before.body);
    let versions = world
        .service
        .get(&world.developer, &format!("{path}/versions"))
        .await;
    assert_eq!(versions.each("version"), [1]);
}

#[tokio::test]
async fn no_body_makes_any_operation_fail_with_5xx() {
    let world = World::start().await;
    let bodies: [&[u8]; 9] = [
        b"",
        b"{",
        b"{}",
        b"[]",
        b"null",
        b"\"text\"",
        b"\xff\xfe",
        b"{\"name\":null,\"tags\":7,\"query\":\"\",\"sql\":{},\"tables\":7,\"facets\":{}}",
        b"{\"name\":\"\",\"sql\":\"\",\"tables\":[],\"facets\":[{}]}",
    ];
    for operation in world.operations().await {
        for body in bodies {
            for content_type in ["application/json", "text/plain"] {
                let request = world
                    .service
                    .request(operation.method.clone(), &world.path(&operation));
                let request = request
                    .token(&world.developer)
                    .header("content-type", content_type);
                let answer = request.body(body).await;
                assert!(
                    answer.status < 500,
                    "{} with {body:?}: {}",
                    answer.request,
                    answer.text()
                );
                if answer.status >= 400 {
                    answer.check_error();
                }
            }
        }
    }
}

#[tokio::test]
async fn every_refused_mutation_is_recorded_and_no_search_is() {
    let world = World::start().await;
    let nobody = world.scope.token(Persona::Nobody);
    let mut refused = Vec::new();
    let operations = world.operations().await.into_iter();
    for operation in operations.filter(Operation::needs_permission) {
        let id = unique("refused");
        let request = world
            .request(&operation)
            .token(&nobody)
            .header("x-request-id", &id);
        request.await.expect_error(403, "forbidden");
        refused.push((operation, id));
    }
    let trail = world
        .service
        .get(&world.developer, "/audit-trail?limit=200&principalUserId=nobody")
        .await;
    let events = trail.expect_status(200).body["events"]
        .as_array()
        .unwrap()
        .clone();
    for (operation, id) in refused {
        let records: Vec<_> = events
            .iter()
            .filter(|event| event["request_id"] == id.as_str())
            .collect();
        let name = format!("{} {}", operation.method, operation.template);
        if operation.is_mutation() {
            assert_eq!(records.len(), 1, "{name}: {records:?}");
            assert_eq!(records[0]["status"], 403, "{name}: {}", records[0]);
            assert_eq!(records[0]["success"], false, "{name}: {}", records[0]);
        } else {
            assert!(records.is_empty(), "{name} changes nothing: {records:?}");
        }
    }
}
