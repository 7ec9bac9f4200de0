//! Tests that AWS WAF keeps nothing of a request that can hold a token or data of a caller.

use serde_json::{Value, json};

use crate::translated::resources;

/// Headers that hold credentials, in the form of a redacted field.
const SECRET_HEADERS: [&str; 3] = ["authorization", "cookie", "x-api-key"];

/// Returns the values of `name` at any depth.
fn values<'a>(of: &'a Value, name: &str) -> Vec<&'a Value> {
    let mut matches = Vec::new();
    match of {
        Value::Object(fields) => {
            matches.extend(fields.get(name));
            matches.extend(fields.values().flat_map(|field| values(field, name)));
        }
        Value::Array(items) => matches.extend(items.iter().flat_map(|item| values(item, name))),
        _ => {}
    }
    matches
}

/// A sample shows the URI with its query string, and all headers, to everyone who may read metrics of WAF.
#[test]
fn no_rule_samples_requests() {
    let mut visibility = Vec::new();
    for kind in ["AWS::WAFv2::WebACL", "AWS::WAFv2::RuleGroup"] {
        for (name, properties) in resources(kind) {
            visibility.extend(
                values(properties, "VisibilityConfig")
                    .into_iter()
                    .map(|config| (name, config)),
            );
        }
    }
    // Of the web ACL and of its rule.
    assert!(visibility.len() >= 2, "{visibility:?}");
    for (name, config) in visibility {
        assert_eq!(config["SampledRequestsEnabled"], json!(false), "{name}: {config}");
    }
}

/// There is no log of WAF today; one that is added leaves out what access logs leave out.
#[test]
fn a_log_of_requests_has_no_query_strings_and_no_credentials() {
    for (name, properties) in resources("AWS::WAFv2::LoggingConfiguration") {
        let redacted = properties["RedactedFields"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        assert!(
            redacted.contains(&json!({"QueryString": {}})),
            "{name} logs query strings"
        );
        for header in SECRET_HEADERS {
            let field = json!({"SingleHeader": {"Name": header}});
            assert!(redacted.contains(&field), "{name} logs the header {header}");
        }
    }
}
