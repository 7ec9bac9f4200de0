//! A role may do what its function does.
//!
//! What a function does was recorded while the black-box suite ran against the Lambda functions: `make
//! test-lambda CALLS=tests/data/aws-calls.txt`. The local runner has no roles, and the emulator asks none.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::translated::{read, resources, template};

type Grant = (String, String, String);

/// A resource of a policy by its name in the template. None for one that only some stacks have.
fn name(resource: &Value) -> Option<String> {
    let text = match resource {
        Value::String(text) => text.clone(),
        _ if resource["Ref"].is_string() => resource["Ref"].as_str()?.to_owned(),
        _ if resource["Fn::GetAtt"].is_array() => resource["Fn::GetAtt"][0].as_str()?.to_owned(),
        _ => resource["Fn::Sub"]
            .as_str()?
            .replace("${", "")
            .replace(".Arn}", ""),
    };
    Some(text)
}

fn each(value: &Value) -> Vec<&Value> {
    value
        .as_array()
        .map_or_else(|| vec![value], |all| all.iter().collect())
}

fn granted() -> BTreeSet<Grant> {
    let mut grants = BTreeSet::new();
    for (function, properties) in resources("AWS::Lambda::Function") {
        let role = properties["Role"]["Fn::GetAtt"][0].as_str().unwrap();
        let policies = &template()["Resources"][role]["Properties"]["Policies"];
        for statement in each(policies)
            .into_iter()
            .flat_map(|policy| each(&policy["PolicyDocument"]["Statement"]))
        {
            // A grant for a parameter that may be empty.
            if statement.get("Fn::If").is_some() {
                continue;
            }
            for action in each(&statement["Action"]) {
                for resource in each(&statement["Resource"]) {
                    let resource = name(resource).unwrap_or_else(|| panic!("{function}: {resource}"));
                    let action = action.as_str().unwrap().to_owned();
                    grants.insert((function.to_owned(), action, resource));
                }
            }
        }
    }
    grants
}

fn made() -> BTreeSet<Grant> {
    read("tests/data/aws-calls.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let parts: Vec<&str> = line.split(' ').collect();
            let [function, action, resource] = parts.as_slice() else {
                panic!("not a call: {line}");
            };
            (
                (*function).to_owned(),
                (*action).to_owned(),
                (*resource).to_owned(),
            )
        })
        .collect()
}

/// `Runs/index/*` stands for each index.
fn covers(grant: &Grant, call: &Grant) -> bool {
    let resource = match grant.2.strip_suffix('*') {
        Some(beginning) => call.2.starts_with(beginning),
        None => call.2 == grant.2,
    };
    grant.0 == call.0 && grant.1 == call.1 && resource
}

#[test]
fn a_role_may_do_what_its_function_does() {
    let (granted, made) = (granted(), made());
    assert!(made.len() > 50, "{} calls", made.len());
    let missing: Vec<_> = made
        .iter()
        .filter(|call| !granted.iter().any(|grant| covers(grant, call)))
        .collect();
    assert!(missing.is_empty(), "not granted: {missing:#?}");
}
