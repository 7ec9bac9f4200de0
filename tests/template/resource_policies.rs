//! Tests that the resource policy of a function stays well below Lambda's limit.
//!
//! SAM makes a permission for each event, and Lambda keeps all permissions of a function in one policy of at
//! most 20,480 bytes. A deployment fails at the first permission above that limit.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::translated::resources;

const MAX_BYTES: usize = 15_000;

/// Returns the statement that Lambda adds for a permission, with the longest possible names.
fn statement(permission: &Value) -> Value {
    let region = "ap-southeast-2";
    let arn = |resource: &str| format!("arn:aws:lambda:{region}:123456789012:function:{resource}");
    let source = match &permission["SourceArn"] {
        Value::Null => Value::Null,
        Value::Object(get) if get.contains_key("Fn::GetAtt") => {
            json!(format!(
                "arn:aws:events:{region}:123456789012:rule/{}",
                "r".repeat(64)
            ))
        }
        sub => {
            let pattern = sub["Fn::Sub"][0].as_str().unwrap();
            json!(
                pattern
                    .replace("${AWS::Region}", region)
                    .replace("${AWS::AccountId}", "123456789012")
                    .replace("${__ApiId__}", "abcdefghij")
                    .replace("${__Stage__}", "*")
            )
        }
    };
    json!({
        // CloudFormation makes it from stack name, resource name and 12 characters.
        "Sid": "s".repeat(100),
        "Effect": "Allow",
        "Principal": { "Service": permission["Principal"] },
        "Action": permission["Action"],
        "Resource": arn(&"f".repeat(64)),
        "Condition": { "ArnLike": { "AWS:SourceArn": source } },
    })
}

#[test]
fn no_resource_policy_nears_the_limit() {
    let mut policies: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for (name, permission) in resources("AWS::Lambda::Permission") {
        let function = permission["FunctionName"]["Ref"].as_str();
        let function = function.unwrap_or_else(|| panic!("{name} names no function of the template"));
        policies.entry(function).or_default().push(statement(permission));
    }
    assert!(policies.len() >= 7, "{:?}", policies.keys());
    for (function, statements) in policies {
        let policy = json!({ "Version": "2012-10-17", "Id": "default", "Statement": statements });
        let bytes = policy.to_string().len();
        assert!(bytes < MAX_BYTES, "{function}: {bytes} bytes of resource policy");
    }
}
