//! Routers, OpenAPI file and SAM template say the same: none of them has a route that another one lacks.
//!
//! These tests read the checkout, and the document that a running service serves.

#![cfg(test)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use saphyr::{LoadableYamlNode as _, Yaml};
use serde_json::Value;
use tests::{Method, Service};

/// A file of the checkout, above the folder of this crate that tests run in.
fn read(file: &str) -> String {
    let path = Path::new("..").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn operations_of_openapi(document: &Value) -> BTreeSet<String> {
    let paths = document["paths"].as_object().unwrap().iter();
    let operations = paths.flat_map(|(path, item)| {
        let methods = item
            .as_object()
            .unwrap()
            .keys()
            .filter(|key| ["get", "post", "put", "delete"].contains(&key.as_str()));
        methods.map(move |method| format!("{method} {path}"))
    });
    operations.collect()
}

fn resources(template: &Yaml<'_>) -> Vec<(String, Yaml<'static>)> {
    let resources = template
        .as_mapping_get("Resources")
        .unwrap()
        .as_mapping()
        .unwrap();
    resources
        .iter()
        .map(|(name, body)| (name.as_str().unwrap().to_owned(), owned(body)))
        .collect()
}

fn owned(node: &Yaml<'_>) -> Yaml<'static> {
    let mut text = String::new();
    saphyr::YamlEmitter::new(&mut text).dump(node).unwrap();
    Yaml::load_from_str(Box::leak(text.into_boxed_str()))
        .unwrap()
        .remove(0)
}

fn template() -> Yaml<'static> {
    Yaml::load_from_str(Box::leak(read("template.yaml").into_boxed_str()))
        .unwrap()
        .remove(0)
}

fn text<'a>(node: &'a Yaml<'_>, path: &[&str]) -> Option<&'a str> {
    path.iter()
        .try_fold(node, |node, key| node.as_mapping_get(key))?
        .as_str()
}

/// The methods and paths of the functions' API events. Preflights have no operation: they belong to the edge.
fn operations_of_template(template: &Yaml<'_>) -> BTreeSet<String> {
    let mut operations = BTreeSet::new();
    for (_, resource) in resources(template) {
        let events = resource
            .as_mapping_get("Properties")
            .and_then(|properties| properties.as_mapping_get("Events"));
        for (_, event) in events.and_then(Yaml::as_mapping).into_iter().flatten() {
            if text(event, &["Type"]) != Some("Api") {
                continue;
            }
            let (method, path) = (
                text(event, &["Properties", "Method"]),
                text(event, &["Properties", "Path"]),
            );
            operations.insert(format!("{} {}", method.unwrap().to_lowercase(), path.unwrap()));
        }
    }
    operations.retain(|operation| !operation.starts_with("options "));
    operations
}

/// A path without the names of its parameters: API Gateway takes only one name for what stands at a place, and the function does
/// not see it.
fn nameless(operation: &str) -> String {
    let part = |part: &str| if part.starts_with('{') { "{}" } else { part }.to_owned();
    operation.split('/').map(part).collect::<Vec<_>>().join("/")
}

#[test]
fn at_each_place_of_a_path_there_is_one_parameter() {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for operation in operations_of_template(&template()) {
        let (_, path) = operation.split_once(' ').unwrap();
        for (place, _) in path.match_indices('{') {
            let before = nameless(&path[..place]);
            let name = path[place..].split('/').next().unwrap().to_owned();
            let known = names.entry(before).or_insert_with(|| name.clone());
            assert_eq!(*known, name, "in {path}");
        }
    }
}

#[test]
fn the_stream_is_streamed() {
    let template = read("template.yaml");
    let (_, after) = template
        .split_once("Path: '/api/v1/workflows/runs/{workflow_id}/{run_id}/stream'\n            Method: get\n")
        .unwrap();
    let next: Vec<_> = after.lines().take(2).map(str::trim).collect();
    assert_eq!(
        next,
        ["ResponseTransferMode: RESPONSE_STREAM", "TimeoutInMillis: 900000"]
    );
}

#[test]
fn the_template_names_every_operation_of_the_openapi_file_and_no_other() {
    let document: Value = serde_json::from_str(&read("infra/openapi.json")).unwrap();
    let (of_openapi, of_template) = (
        operations_of_openapi(&document),
        operations_of_template(&template()),
    );
    assert!(of_openapi.len() >= 21, "{of_openapi:#?}");
    let without_names = |operations: BTreeSet<String>| -> BTreeSet<String> {
        operations.iter().map(|operation| nameless(operation)).collect()
    };
    assert_eq!(without_names(of_openapi), without_names(of_template));
}

#[tokio::test]
async fn the_openapi_file_is_what_the_routers_say() {
    let service = Service::start().await;
    let served = service
        .request(Method::GET, &format!("{}/openapi.json", service.origin()))
        .await
        .body;
    let kept: Value = serde_json::from_str(&read("infra/openapi.json")).unwrap();
    assert!(
        served == kept,
        "infra/openapi.json is not what the code says; run `make openapi` and commit it"
    );
}

#[test]
fn every_function_of_the_checkout_is_deployed() {
    let folder = Path::new("../functions");
    let functions: BTreeSet<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let deployed: BTreeSet<_> = resources(&template())
        .iter()
        .filter(|(_, resource)| text(resource, &["Type"]) == Some("AWS::Serverless::Function"))
        .filter_map(|(_, resource)| {
            text(resource, &["Properties", "CodeUri"])?
                .rsplit('/')
                .next()
                .map(str::to_owned)
        })
        .collect();
    assert_eq!(functions, deployed);
}

#[test]
fn every_queue_has_a_dead_letter_queue_and_every_dead_letter_queue_an_alarm() {
    let template = template();
    let resources = resources(&template);
    let of_type = |wanted: &str| -> Vec<_> {
        resources
            .iter()
            .filter(|(_, resource)| text(resource, &["Type"]) == Some(wanted))
            .collect()
    };
    let alarms = read("template.yaml");
    let queues = of_type("AWS::SQS::Queue");
    assert!(!queues.is_empty());
    for (name, queue) in queues {
        if name.ends_with("DeadLetterQueue") {
            assert!(
                alarms.contains(&format!("{name}.QueueName")),
                "no alarm reads {name}"
            );
        } else {
            let redrive = queue
                .as_mapping_get("Properties")
                .and_then(|properties| properties.as_mapping_get("RedrivePolicy"));
            assert!(redrive.is_some(), "{name} has no dead-letter queue");
        }
    }
}

/// What a local runner does not notice: it has no roles.
#[test]
fn a_role_may_do_what_the_function_does() {
    let template = read("template.yaml");
    for (resource, next, what, actions) in [
        // Starts a run on the condition that its subscription is unchanged.
        (
            "  MatcherRole:",
            "  # ---------- ",
            "!GetAtt Records.Arn",
            &["dynamodb:ConditionCheckItem"][..],
        ),
        // Removes the details of an event that was sent before.
        (
            "  IngestFunction:",
            "  # ---------- ",
            "payloads/*",
            &["s3:DeleteObject", "s3:PutObject"],
        ),
    ] {
        let (_, from) = template.split_once(resource).unwrap();
        let (body, _) = from.split_once(next).unwrap();
        let granted: String = body.lines().filter(|line| line.contains(what)).collect();
        for action in actions {
            assert!(granted.contains(action), "{resource} may not {action} on {what}");
        }
    }
}
