//! Tests that data outlives the stack, and that a failed first deployment leaves nothing behind.

use serde_json::Value;

use crate::translated::template;

#[test]
fn data_is_retained_except_where_a_first_deployment_fails() {
    let kinds = [
        "AWS::DynamoDB::Table",
        "AWS::KMS::Key",
        "AWS::S3::Bucket",
        "AWS::ApiGateway::Account",
    ];
    let resources = template()["Resources"].as_object().unwrap();
    let mut count = 0;
    for (name, resource) in resources {
        let deletion = &resource["DeletionPolicy"];
        // The key of service tokens protects no stored data, and its tokens last at most five minutes, so it
        // need not be kept.
        let is_kept = kinds.iter().any(|kind| resource["Type"] == *kind) && name != "ServiceKey";
        if is_kept {
            count += 1;
            assert_eq!(deletion, "RetainExceptOnCreate", "{name}");
            assert_eq!(resource["UpdateReplacePolicy"], "Retain", "{name}");
        } else {
            // A resource that a failed deployment leaves behind blocks its name for the next one.
            assert_ne!(deletion, &Value::from("Retain"), "{name}");
        }
    }
    assert_eq!(count, 8);
}
