//! Tests that API Gateway sends every operation of the OpenAPI file to the function that serves it.
//!
//! A function gets all paths below its first segment, with any method. A path or method that does not exist
//! is answered by the function's own router, as in the local runner.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::translated::{crate_of, read, resources};

/// Returns the template's routes by path: the function, and how its answer is transferred.
fn routes() -> BTreeMap<String, (String, &'static str)> {
    let (_, api) = resources("AWS::ApiGateway::RestApi").remove(0);
    let paths = api["Body"]["paths"].as_object().unwrap();
    paths
        .iter()
        .map(|(path, methods)| {
            let methods = methods.as_object().unwrap();
            assert!(
                methods.keys().eq(["x-amazon-apigateway-any-method"]),
                "{path} names methods: {:?}",
                methods.keys()
            );
            let integration = &methods["x-amazon-apigateway-any-method"]["x-amazon-apigateway-integration"];
            let uri = integration["uri"]["Fn::Sub"].as_str().unwrap();
            let (_, after) = uri.split_once("functions/${").unwrap();
            let (function, _) = after.split_once(".Arn").unwrap();
            let transfer = match integration["responseTransferMode"].as_str() {
                Some("STREAM") => "streamed",
                None => "buffered",
                other => panic!("{path} is sent as {other:?}"),
            };
            (path.clone(), (crate_of(function), transfer))
        })
        .collect()
}

/// Returns the route that API Gateway selects: at each segment it prefers a name to a parameter, and both to
/// `{proxy+}`. It never goes back to an earlier segment.
fn route<'a>(
    routes: &'a BTreeMap<String, (String, &'static str)>,
    path: &str,
) -> Option<&'a (String, &'static str)> {
    let mut prefix = String::new();
    let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    for (place, segment) in segments.iter().enumerate() {
        let below: BTreeSet<&str> = routes
            .keys()
            .filter_map(|route| route.strip_prefix(&prefix)?.strip_prefix('/')?.split('/').next())
            .collect();
        let parameter = below
            .iter()
            .find(|name| name.starts_with('{') && !name.ends_with("+}"));
        let next = if below.contains(segment) {
            segment
        } else if let Some(parameter) = parameter {
            parameter
        } else {
            return routes.get(&format!("{prefix}/{{proxy+}}"));
        };
        prefix = format!("{prefix}/{next}");
        if place + 1 == segments.len() {
            return routes.get(&prefix);
        }
    }
    None
}

/// Returns the function whose router has the path.
fn function_of(path: &str) -> &'static str {
    let below = path.strip_prefix("/api/v1/").unwrap();
    match below.split('/').next().unwrap() {
        "audit-trail" => "audit",
        "data" => "datastores",
        // It reads the log.
        "events" if below == "events/search" => "audit",
        "events" => "subscriptions",
        "keys" | "me" | "members" => "access",
        "prompts" => "prompts",
        "workflows" if below.ends_with("/stream") => "stream",
        "workflows" => "workflows",
        other => panic!("no function is known for {other}: add it here and to template.yaml"),
    }
}

#[test]
fn every_operation_of_the_openapi_file_reaches_its_function() {
    let document: Value = serde_json::from_str(&read("infra/openapi.json")).unwrap();
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.len() >= 40, "{}", paths.len());
    let routes = routes();
    // A path with its own servers is the ingest endpoint, which a function URL serves.
    for (path, _) in paths.iter().filter(|(_, item)| item["servers"].is_null()) {
        let (function, transfer) =
            route(&routes, path).unwrap_or_else(|| panic!("template.yaml has no route for {path}"));
        assert_eq!(function, function_of(path), "{path}");
        let expected = if function == "stream" {
            "streamed"
        } else {
            "buffered"
        };
        assert_eq!(*transfer, expected, "{path}");
    }
}

#[test]
fn a_path_that_does_not_exist_is_answered_by_a_router() {
    let routes = routes();
    for (path, function) in [
        ("/api/v1/prompts/a/b/c", "prompts"),
        ("/api/v1/data/ds_1/query/more", "datastores"),
        ("/api/v1/data/ds_1/versions//query", "datastores"),
        ("/api/v1/workflows/runs/w/r/query/", "workflows"),
        ("/api/v1/workflows/runs/w/r/stream", "stream"),
        ("/api/v1/workflows/runs/w/updates", "workflows"),
        ("/api/v1/workflows/unknown", "workflows"),
        ("/api/v1/events/unknown", "subscriptions"),
        ("/api/v1/audit-trail/unknown", "audit"),
    ] {
        let (reached, _) = route(&routes, path).unwrap_or_else(|| panic!("no route for {path}"));
        assert_eq!(reached, function, "{path}");
    }
}

/// API Gateway refuses a second parameter name at the same place.
#[test]
fn at_each_place_of_a_path_there_is_one_parameter() {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for path in routes().keys() {
        for (place, _) in path.match_indices('{') {
            let name = path[place..].split('/').next().unwrap().to_owned();
            if name.ends_with("+}") {
                continue;
            }
            let parameter = names
                .entry(path[..place].to_owned())
                .or_insert_with(|| name.clone());
            assert_eq!(*parameter, name, "in {path}");
        }
    }
}
