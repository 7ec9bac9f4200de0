//! Tests which targets the environment of a function allows.
#![cfg(test)]

use super::*;
use crate::config::variables;

#[test]
fn a_function_asks_this_machine_in_an_emulator_of_this_machine_alone() {
    let variables = [(variables::LOCAL_TARGETS.name.into(), "true".into())];
    let environment = Environment::from_variables(variables).unwrap();
    let policy = |endpoint: Option<&str>| {
        let machine = AwsEnvironment {
            function_name: Some("importer".to_owned()),
            endpoint_url: endpoint.map(str::to_owned),
            ..AwsEnvironment::default()
        };
        let outbound = Outbound::from_environment(&environment, &machine);
        outbound.map(|outbound| (outbound.rules.policy, outbound.reuse))
    };
    let emulated = policy(Some("http://127.0.0.1:4566")).unwrap();
    assert_eq!(emulated, (Policy::Local, Reuse::Never));
    for endpoint in [
        None,
        Some("https://sqs.eu-central-1.amazonaws.com"),
        Some("http://127.0.0.1.example.com"),
        Some("http://127.0.0.1@evil.example"),
    ] {
        let refusal = policy(endpoint).unwrap_err().to_string();
        assert!(refusal.ends_with("remove MILLRACE_LOCAL_TARGETS."), "{refusal}");
    }
}
