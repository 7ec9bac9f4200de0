//! Generates the OpenAPI document from the routes and their types.

use aide::axum::ApiRouter;
use aide::openapi::{
    ApiKeyLocation, Info, License, OpenApi, Operation, Parameter, PathItem, ReferenceOr, SecurityScheme,
    Server, Tag,
};
use aide::transform::TransformOpenApi;
use platform::auth::permission::Role;
use platform::http::API_ROOT;
use platform::http::call::TOKEN_SCHEME;
use serde_json::{Map, Value, json};

use super::{shared_problems, tidy};

/// Accepted only by the data store API.
const API_KEY: &str = "apiKey";
const INGEST: &str = "ingest";

/// Name and description of each tag, in the order of the README.
const TAGS: [(&str, &str); 10] = [
    (
        "prompts",
        "Versioned templates of prompts. Each update makes a version; a fork starts a template of its own.",
    ),
    (
        "data stores",
        "Tables over which SQL runs. Each change makes a version that can be queried, named and restored.",
    ),
    (
        "imports",
        "Rows into the tables of a data store, all or none, from the request or from a file.",
    ),
    (
        "dashboards",
        "Charts over a query of a data store, with versions of their own.",
    ),
    (
        "subscriptions",
        "Which events are delivered, and where to: a webhook or a workflow. Deliveries show what happened.",
    ),
    (
        "channels",
        "Ingest channels, through which external systems push events. A channel has credentials of its own.",
    ),
    (
        INGEST,
        "The public endpoint of the channels. It has a base URL of its own.",
    ),
    (
        "workflow runs",
        "Executions of workflows: their history, signals, queries and update messages.",
    ),
    (
        "audit trail",
        "A record of every mutation of the API, also of those that were refused.",
    ),
    (
        "access",
        "API keys, the members of a project, and what a caller may do.",
    ),
];

/// Requests that the service sends: their operations by name, and the schemas that these refer to.
#[derive(Debug, Default)]
pub struct Webhooks {
    /// Operations of the method `post`.
    pub operations: Map<String, Value>,
    /// Schemas of the bodies.
    pub schemas: Map<String, Value>,
}

/// Generates the document of the API's routes below the API root, the ingest routes below the ingest base
/// URL, and the requests that the service sends.
pub fn document(routes: ApiRouter, ingest: ApiRouter, webhooks: Webhooks) -> serde_json::Result<Value> {
    aide::generate::infer_responses(false);
    let mut api = OpenApi::default();
    let _ = ApiRouter::new()
        .nest(API_ROOT, routes)
        .merge(ingest)
        .finish_api_with(&mut api, describe);
    for (path, item) in api.paths.iter_mut().flat_map(|paths| &mut paths.paths) {
        if let ReferenceOr::Item(item) = item {
            complete(path, item);
        }
    }
    shared_problems::add_shared(&mut api);
    let mut document = serde_json::to_value(api)?;
    add_webhooks(&mut document, webhooks);
    add_roles(&mut document);
    tidy::tidy(&mut document);
    Ok(document)
}

/// Adds the permissions of each role, for clients that offer a caller only what it may do.
fn add_roles(document: &mut Value) {
    let roles = Role::ALL.map(|role| {
        let permissions = role.permissions().iter().map(|permission| permission.as_str());
        (role.as_str().to_owned(), permissions.collect())
    });
    document["x-roles"] = Value::Object(roles.into_iter().collect());
}

fn add_webhooks(document: &mut Value, webhooks: Webhooks) {
    let schemas = document.pointer_mut("/components/schemas");
    if let Some(schemas) = schemas.and_then(Value::as_object_mut) {
        schemas.extend(webhooks.schemas);
    }
    let items = webhooks.operations.into_iter();
    let items: Map<_, _> = items
        .map(|(name, operation)| (name, json!({ "post": operation })))
        .collect();
    if let Some(document) = document.as_object_mut() {
        document.insert("webhooks".to_owned(), Value::Object(items));
    }
}

fn describe(api: TransformOpenApi) -> TransformOpenApi {
    let info = Info {
        title: "Millrace".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        description: Some(include_str!("introduction.md").to_owned()),
        license: Some(License {
            name: "MIT OR Apache-2.0".to_owned(),
            identifier: Some("MIT OR Apache-2.0".to_owned()),
            ..License::default()
        }),
        ..Info::default()
    };
    let api = api.info(info).server(server(
        "/",
        "The origin of the service, in front of the API root `/api/v1`.",
    ));
    let api = TAGS.iter().fold(api, |api, (name, description)| {
        api.tag(Tag {
            name: (*name).to_owned(),
            description: Some((*description).to_owned()),
            ..Tag::default()
        })
    });
    api.security_scheme(
        TOKEN_SCHEME,
        SecurityScheme::Http {
            scheme: "bearer".to_owned(),
            bearer_format: Some("JWT".to_owned()),
            description: Some(
                "An access token. `millrace ops token` prints one for the local service.".to_owned(),
            ),
            extensions: Default::default(),
        },
    )
    .security_scheme(
        API_KEY,
        SecurityScheme::ApiKey {
            location: ApiKeyLocation::Header,
            name: "x-api-key".to_owned(),
            description: Some("An API key, also as `Authorization: Bearer`.".to_owned()),
            extensions: Default::default(),
        },
    )
    .security_scheme(
        "ingestToken",
        SecurityScheme::Http {
            scheme: "bearer".to_owned(),
            bearer_format: None,
            description: Some("The token of an ingest channel, shown once when it is created.".to_owned()),
            extensions: Default::default(),
        },
    )
    .security_scheme(
        "ingestTokenHeader",
        ingest_token(ApiKeyLocation::Header, "x-service-ingest-token"),
    )
    .security_scheme("ingestTokenQuery", ingest_token(ApiKeyLocation::Query, "token"))
}

/// Completes the operations of a path with what the path and the permission imply.
fn complete(path: &str, item: &mut PathItem) {
    let is_public = !path.starts_with(API_ROOT);
    if is_public {
        item.servers = vec![server(
            "/ingest",
            "The ingest base URL. Deployed, it is the stack's output `IngestUrl`.",
        )];
    }
    for operation in methods(item) {
        if !is_public {
            let key = [(API_KEY.to_owned(), Vec::new())].into_iter().collect();
            operation.security.push(key);
        }
        operation
            .parameters
            .sort_by_key(|parameter| place(path, parameter));
        name_permission(operation);
        shared_problems::complete(operation, is_public);
    }
}

fn methods(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.post, &mut item.put, &mut item.delete]
        .into_iter()
        .flatten()
}

/// Orders path parameters first, in the order of the path.
fn place(path: &str, parameter: &ReferenceOr<Parameter>) -> usize {
    match parameter.as_item() {
        Some(Parameter::Path { parameter_data, .. }) => {
            path.find(&format!("{{{}}}", parameter_data.name)).unwrap_or(0)
        }
        _ => path.len(),
    }
}

fn name_permission(operation: &mut Operation) {
    let permissions = operation.extensions.get("x-required-permissions");
    let permissions: Vec<_> = permissions
        .and_then(|permissions| permissions.as_array())
        .into_iter()
        .flatten()
        .filter_map(|permission| permission.as_str())
        .map(|permission| format!("`{permission}`"))
        .collect();
    if let (false, Some(description)) = (permissions.is_empty(), &mut operation.description) {
        description.push_str(&format!("\n\nPermission: {}.", permissions.join(" or ")));
    }
}

fn ingest_token(location: ApiKeyLocation, name: &str) -> SecurityScheme {
    SecurityScheme::ApiKey {
        location,
        name: name.to_owned(),
        description: Some("The token of an ingest channel, for senders that set no bearer token.".to_owned()),
        extensions: Default::default(),
    }
}

fn server(url: &str, description: &str) -> Server {
    Server {
        url: url.to_owned(),
        description: Some(description.to_owned()),
        ..Server::default()
    }
}
