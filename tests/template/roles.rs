//! Tests that a role may make the calls that its function makes.
//!
//! The calls were recorded while the black-box suite ran against the Lambda functions: `make test-lambda
//! CALLS=tests/data/aws-calls.txt`. `tests/data/rare-calls.txt` has the others, with reasons. The local
//! runner has no roles, and the emulator checks none.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::translated::{read, resources, template};

type Grant = (String, String, String);

/// Returns the template's name of a policy's resource. None for one that only some stacks have.
fn name(resource: &Value) -> Option<String> {
    // A parameter that may be empty, and what counts then.
    let resource = match resource["Fn::If"].as_array() {
        Some(choice) => &choice[2],
        None => resource,
    };
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
        // A function that uses nothing of AWS has no policy of its own.
        for statement in policies
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|policy| each(&policy["PolicyDocument"]["Statement"]))
        {
            // The grant belongs to a parameter that may be empty, or it is none.
            if statement.get("Fn::If").is_some() || statement["Effect"] == "Deny" {
                continue;
            }
            for action in each(&statement["Action"]) {
                let exists = |resource: &&Value| resource["Fn::If"][2]["Ref"] != "AWS::NoValue";
                for resource in each(&statement["Resource"]).into_iter().filter(exists) {
                    let resource = name(resource).unwrap_or_else(|| panic!("{function}: {resource}"));
                    let action = action.as_str().unwrap().to_owned();
                    grants.insert((function.to_owned(), action, resource));
                }
            }
        }
    }
    grants
}

/// Parses a file of calls: each line has function, action and resource, and perhaps a comment.
fn calls(path: &str) -> BTreeSet<Grant> {
    let text = read(path);
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let call = line.split(" # ").next().unwrap_or_default();
            let parts: Vec<_> = call.split(' ').map(str::to_owned).collect();
            let [function, action, resource] = <[String; 3]>::try_from(parts).expect(line);
            (function, action, resource)
        })
        .collect()
}

fn recorded_calls() -> BTreeSet<Grant> {
    calls("tests/data/aws-calls.txt")
}

/// Compares a grant with a call; `Runs/index/*` covers each index.
fn covers(grant: &Grant, call: &Grant) -> bool {
    let resource = match grant.2.strip_suffix('*') {
        Some(beginning) => call.2.starts_with(beginning),
        None => call.2 == grant.2,
    };
    grant.0 == call.0 && grant.1 == call.1 && resource
}

#[test]
fn a_role_may_do_what_its_function_does() {
    let (granted, calls) = (granted(), recorded_calls());
    assert!(calls.len() > 50, "{} calls", calls.len());
    let missing: Vec<_> = calls
        .iter()
        .filter(|call| !granted.iter().any(|grant| covers(grant, call)))
        .collect();
    assert!(missing.is_empty(), "not granted: {missing:#?}");
}

/// Returns Lambda's own calls with a function's role: receiving the messages of its queues, and the back-off
/// of failed ones.
fn reads_queues() -> BTreeSet<Grant> {
    let mut grants = BTreeSet::new();
    for (_, mapping) in resources("AWS::Lambda::EventSourceMapping") {
        let (Some(function), Some(queue)) = (
            mapping["FunctionName"]["Ref"].as_str(),
            mapping["EventSourceArn"]["Fn::GetAtt"][0].as_str(),
        ) else {
            panic!("{mapping}");
        };
        for action in [
            "ChangeMessageVisibility",
            "DeleteMessage",
            "GetQueueAttributes",
            "ReceiveMessage",
        ] {
            grants.insert((function.to_owned(), format!("sqs:{action}"), queue.to_owned()));
        }
    }
    grants
}

#[test]
fn a_role_may_do_nothing_else() {
    let (seen_calls, reads_queues) = (recorded_calls(), reads_queues());
    let rare = calls("tests/data/rare-calls.txt");
    let unseen: Vec<_> = granted()
        .into_iter()
        .filter(|grant| !seen_calls.iter().any(|call| covers(grant, call)) && !reads_queues.contains(grant))
        .collect();
    let is_rare = |grant: &&Grant| {
        let of_all = ("*".to_owned(), grant.1.clone(), grant.2.clone());
        rare.contains(*grant) || rare.contains(&of_all)
    };
    let unused: Vec<_> = unseen.iter().filter(|grant| !is_rare(grant)).collect();
    assert!(unused.is_empty(), "granted, and never called: {unused:#?}");
    let unknown: Vec<_> = rare
        .iter()
        .filter(|call| {
            !unseen.iter().any(|grant| {
                (call.0 == "*" || call.0 == grant.0) && (&call.1, &call.2) == (&grant.1, &grant.2)
            })
        })
        .collect();
    assert!(
        unknown.is_empty(),
        "called after all, or not granted: {unknown:#?}"
    );
}

#[test]
fn every_role_takes_the_permissions_boundary() {
    for (name, role) in resources("AWS::IAM::Role") {
        assert_eq!(
            role["PermissionsBoundary"]["Fn::If"][0], "HasPermissionsBoundary",
            "{name}"
        );
    }
}

/// Records of keys and members are permissions. A function that callers send code to must not write one.
#[test]
fn only_access_writes_keys_and_members() {
    let writes = ["dynamodb:PutItem", "dynamodb:DeleteItem", "dynamodb:UpdateItem"];
    let mut writers: BTreeSet<String> = granted()
        .into_iter()
        .filter(|(_, action, resource)| resource == "Records" && writes.contains(&action.as_str()))
        .map(|(function, ..)| function)
        .collect();
    assert!(writers.remove("AccessFunction"));
    for function in writers {
        let (_, properties) = *resources("AWS::Lambda::Function")
            .iter()
            .find(|(name, _)| *name == function)
            .unwrap();
        let role = properties["Role"]["Fn::GetAtt"][0].as_str().unwrap();
        let role = &template()["Resources"][role]["Properties"]["Policies"];
        let statements = role[0]["PolicyDocument"]["Statement"].as_array().unwrap();
        // A function that only notes the use of a key may write nothing else there.
        let keeps = |statement: &&Value| statement["Effect"] == "Deny";
        let mut general = statements.iter().filter(|statement| {
            statement["Effect"] == "Allow"
                && statement["Condition"].is_null()
                && statement.to_string().contains("Records")
        });
        let writes_any = general.any(|statement| {
            writes
                .iter()
                .any(|action| statement["Action"].to_string().contains(action))
        });
        if writes_any {
            let denied: Vec<_> = statements.iter().filter(keeps).collect();
            assert_eq!(denied.len(), 2, "{function}");
            for pattern in ["*#members", "${*}#${*}#memberships#*"] {
                assert!(
                    denied
                        .iter()
                        .all(|statement| statement["Condition"].to_string().contains(pattern)),
                    "{function}"
                );
            }
        }
    }
}
