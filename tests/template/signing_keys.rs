//! Tests that the key of service tokens and the key of digests can be replaced: which keys the functions
//! take, what their roles may do with them, and in which order a deployment tells them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::translated::{resources, template};

fn service_key() -> Value {
    json!({"Fn::If": ["HasServiceKey", {"Ref": "ServiceKeyArn"}, {"Fn::GetAtt": ["ServiceKey", "Arn"]}]})
}

fn digest_key() -> Value {
    json!({"Fn::If": ["HasDigestKey", {"Ref": "DigestKeyArn"}, {"Fn::GetAtt": ["DigestKey", "Arn"]}]})
}

/// Returns the statements of a function's role that allow an action.
fn statements<'a>(function: &Value, action: &'a str) -> impl Iterator<Item = &'static Value> + use<'a> {
    let role = function["Role"]["Fn::GetAtt"][0].as_str().unwrap();
    let policies = &template()["Resources"][role]["Properties"]["Policies"];
    let statements = policies.as_array().into_iter().flatten();
    let statements = statements.flat_map(|policy| policy["PolicyDocument"]["Statement"].as_array().unwrap());
    statements.filter(move |statement| {
        let actions = &statement["Action"];
        let is_named =
            actions == action || actions.as_array().is_some_and(|all| all.contains(&json!(action)));
        is_named && statement["Effect"] == "Allow"
    })
}

/// Returns the functions that may take an action with KMS, with its resource.
fn allowed(action: &str) -> Vec<(&'static str, &'static Value)> {
    let mut allowed = Vec::new();
    for (name, function) in resources("AWS::Lambda::Function") {
        allowed.extend(statements(function, action).map(|statement| (name, &statement["Resource"])));
    }
    allowed
}

/// Service keys during a rotation: a worker from before it signs with the key of then, until it ends.
fn both_service_keys() -> Value {
    json!([
        service_key(),
        {"Fn::If": ["HasPreviousServiceKey", {"Ref": "PreviousServiceKeyArn"}, {"Ref": "AWS::NoValue"}]}
    ])
}

#[test]
fn no_function_signs_with_a_key_whose_rotation_has_ended() {
    let (service, digest) = (both_service_keys(), digest_key());
    assert_eq!(
        allowed("kms:Sign"),
        [("ArchiverFunction", &digest), ("WorkerFunction", &service)]
    );
    assert!(allowed("kms:*").is_empty());
}

#[test]
fn verifiers_read_the_service_key_and_the_one_before() {
    let both = both_service_keys();
    let verifiers: BTreeSet<_> = allowed("kms:GetPublicKey")
        .into_iter()
        .filter(|(_, resource)| **resource == both)
        .map(|(name, _)| name)
        .collect();
    let mut expected = authenticating();
    expected.insert("WorkerFunction");
    assert_eq!(verifiers, expected);
    let ids = json!({"Fn::If": [
        "HasPreviousServiceKey",
        {"Fn::Join": [",", [service_key(), {"Ref": "PreviousServiceKeyArn"}]]},
        service_key()
    ]});
    for (name, function) in resources("AWS::Lambda::Function") {
        assert_eq!(
            function["Environment"]["Variables"]["MILLRACE_SERVICE_KEY"], ids,
            "{name}"
        );
    }
}

fn authenticating() -> BTreeSet<&'static str> {
    let functions = resources("AWS::Lambda::Function").into_iter();
    let has_providers = |function: &Value| function["Environment"]["Variables"]["MILLRACE_JWKS"].is_object();
    functions
        .filter(|(_, function)| has_providers(function))
        .map(|(name, _)| name)
        .collect()
}

/// CloudFormation changes a resource after those that it refers to. So no worker signs with a new key before
/// every function behind the API takes its tokens.
#[test]
fn worker_gets_a_new_key_after_the_verifiers() {
    let worker = &template()["Resources"]["WorkerFunction"]["Properties"];
    let api = worker["Environment"]["Variables"]["MILLRACE_API_URL"].to_string();
    assert!(api.contains("${Api}"), "{api}");
    let paths = template()["Resources"]["Api"]["Properties"]["Body"]["paths"].to_string();
    for name in authenticating() {
        assert!(
            paths.contains(&format!("${{{name}.Arn}}")),
            "the API does not refer to {name}"
        );
    }
}

#[test]
fn digests_are_signed_with_the_key_that_the_archiver_may_use() {
    let archiver = &template()["Resources"]["ArchiverFunction"]["Properties"];
    assert_eq!(
        archiver["Environment"]["Variables"]["MILLRACE_DIGEST_KEY"],
        digest_key()
    );
    let read: Vec<_> = statements(archiver, "kms:GetPublicKey")
        .map(|statement| &statement["Resource"])
        .collect();
    assert_eq!(read, [&digest_key()]);
    let all = &template()["Outputs"]["DigestKeyArns"]["Value"];
    let expected = json!({"Fn::If": [
        "HasEarlierDigestKeys",
        {"Fn::Join": [",", [digest_key(), {"Ref": "EarlierDigestKeyArns"}]]},
        digest_key()
    ]});
    assert_eq!(all, &expected);
}
