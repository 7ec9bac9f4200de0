//! Tests that everything that holds data of callers takes the key of the operator.

use serde_json::{Value, json};

use crate::translated::resources;

/// Where the types name their key.
const KEYS: [(&str, &str); 4] = [
    ("AWS::Logs::LogGroup", "/KmsKeyId"),
    ("AWS::DynamoDB::Table", "/SSESpecification/KMSMasterKeyId"),
    ("AWS::SQS::Queue", "/KmsMasterKeyId"),
    ("AWS::SecretsManager::Secret", "/KmsKeyId"),
];

fn key() -> Value {
    json!({"Fn::If": ["HasDataKey", {"Ref": "DataKeyArn"}, {"Ref": "AWS::NoValue"}]})
}

#[test]
fn tables_queues_logs_and_secrets_take_the_data_key() {
    for (of_type, place) in KEYS {
        let all = resources(of_type);
        assert!(!all.is_empty(), "{of_type}");
        for (name, properties) in all {
            assert_eq!(properties.pointer(place), Some(&key()), "{name}");
        }
    }
    for (name, bucket) in resources("AWS::S3::Bucket") {
        let rule = &bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"][0]["Fn::If"];
        assert_eq!(rule[0], "HasDataKey", "{name}");
        let by_default = &rule[1]["ServerSideEncryptionByDefault"];
        assert_eq!(by_default["KMSMasterKeyID"]["Ref"], "DataKeyArn", "{name}");
    }
}

/// SQS refuses two kinds of encryption at a time.
#[test]
fn queue_has_one_kind_of_encryption() {
    for (name, queue) in resources("AWS::SQS::Queue") {
        let expected = json!({"Fn::If": ["HasDataKey", false, true]});
        assert_eq!(queue["SqsManagedSseEnabled"], expected, "{name}");
    }
}

#[test]
fn every_function_may_use_the_data_key() {
    let policy = json!({"Fn::If": ["HasDataKey", {"Ref": "DataKeyPolicy"}, {"Ref": "AWS::NoValue"}]});
    let roles = resources("AWS::IAM::Role");
    for (name, function) in resources("AWS::Lambda::Function") {
        let role = function["Role"]["Fn::GetAtt"][0].as_str().unwrap();
        let (_, properties) = roles.iter().find(|(other, _)| *other == role).unwrap();
        let policies = properties["ManagedPolicyArns"].as_array().unwrap();
        assert!(policies.contains(&policy), "{name}");
    }
}
