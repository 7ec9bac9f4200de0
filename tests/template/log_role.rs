//! Tests that API Gateway has its role for logs before the stage that writes them, which is refused
//! otherwise.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::translated::{resources, template};

/// Adds the names that a part of the template refers to, and so waits for.
fn references(part: &Value, names: &mut BTreeSet<String>) {
    match part {
        Value::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("Ref" | "DependsOn", Value::String(name)) => {
                        names.insert(name.clone());
                    }
                    ("DependsOn", Value::Array(all)) => {
                        names.extend(all.iter().filter_map(Value::as_str).map(str::to_owned));
                    }
                    ("Fn::GetAtt", Value::Array(parts)) => {
                        names.extend(parts.first().and_then(Value::as_str).map(str::to_owned));
                    }
                    ("Fn::Sub", Value::String(text)) => {
                        let inside = text.split("${").skip(1);
                        let inside = inside.filter_map(|rest| rest.split(['}', '.']).next());
                        names.extend(inside.map(str::to_owned));
                    }
                    _ => references(value, names),
                }
            }
        }
        Value::Array(all) => {
            for one in all {
                references(one, names);
            }
        }
        _ => {}
    }
}

#[test]
fn stage_waits_for_the_role_of_its_logs() {
    let (stage, _) = resources("AWS::ApiGateway::Stage").remove(0);
    let mut open = BTreeSet::from([stage.to_owned()]);
    let mut earlier = BTreeSet::new();
    while let Some(name) = open.pop_first() {
        let resource = &template()["Resources"][&name];
        if resource.is_object() && earlier.insert(name) {
            references(resource, &mut open);
        }
    }
    for name in ["ApiAccount", "ApiAccountRole", "ApiLogs"] {
        assert!(earlier.contains(name), "{stage} waits for {earlier:?}");
    }
}
