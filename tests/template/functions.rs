//! Tests that every function of the checkout is deployed, from the folder of its name.

use std::collections::BTreeSet;

use serde_json::json;

use crate::translated::{functions, read, resources, template};

#[test]
fn every_function_of_the_checkout_is_deployed() {
    let folders: BTreeSet<_> = std::fs::read_dir("../functions")
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let deployed: BTreeSet<_> = functions().into_iter().map(|(_, folder)| folder).collect();
    assert_eq!(folders, deployed);
    let template = read("template.yaml");
    for folder in folders {
        let code = format!("CodeUri: target/functions/{folder}\n");
        assert!(template.contains(&code), "no function has {code}");
    }
}

/// An account with a quota of 10 has no concurrency to reserve.
#[test]
fn every_reservation_can_be_none() {
    let mut reserved = 0;
    for (name, function) in resources("AWS::Lambda::Function") {
        let reservation = &function["ReservedConcurrentExecutions"];
        if reservation.is_null() {
            continue;
        }
        reserved += 1;
        let parameter = reservation["Fn::If"][1]["Ref"].as_str().unwrap();
        assert_eq!(reservation["Fn::If"][2]["Ref"], "AWS::NoValue", "{name}");
        let parameter = &template()["Parameters"][parameter];
        let values = parameter["AllowedValues"].as_array();
        let may_be_none =
            parameter["MinValue"] == 0 || values.is_some_and(|values| values.contains(&json!(0)));
        assert!(may_be_none, "{name}");
    }
    assert_eq!(reserved, 3);
}

#[test]
fn every_function_can_run_in_a_vpc() {
    for (name, function) in resources("AWS::Lambda::Function") {
        assert_eq!(function["VpcConfig"]["Fn::If"][0], "InVpc", "{name}");
        let role = function["Role"]["Fn::GetAtt"][0].as_str().unwrap();
        let policies = template()["Resources"][role]["Properties"]["ManagedPolicyArns"]
            .as_array()
            .unwrap();
        let makes_interfaces = policies.iter().any(|policy| {
            policy["Fn::If"][0] == "InVpc" && policy.to_string().contains("AWSLambdaVPCAccessExecutionRole")
        });
        assert!(makes_interfaces, "{role}");
    }
}
