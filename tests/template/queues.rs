//! Tests that no message is lost silently: every queue has a dead-letter queue, and every dead-letter queue
//! an alarm.

use crate::translated::{resources, template};

#[test]
fn every_queue_has_a_dead_letter_queue_and_every_dead_letter_queue_an_alarm() {
    let queues = resources("AWS::SQS::Queue");
    assert!(!queues.is_empty());
    let alarms: Vec<String> = resources("AWS::CloudWatch::Alarm")
        .iter()
        .map(|(_, alarm)| alarm["Dimensions"].to_string())
        .collect();
    for (name, queue) in queues {
        if name.ends_with("DeadLetterQueue") {
            let reads = format!("[\"{name}\",\"QueueName\"]");
            assert!(
                alarms.iter().any(|dimensions| dimensions.contains(&reads)),
                "no alarm reads {name}"
            );
        } else {
            assert!(
                queue["RedrivePolicy"].is_object(),
                "{name} has no dead-letter queue"
            );
        }
    }
}

/// Lambda drops a message of a function that its own messages called 16 times before, unless its property
/// `RecursiveLoop` allows it.
#[test]
fn function_that_causes_its_own_messages_may_do_so_without_end() {
    let mappings = resources("AWS::Lambda::EventSourceMapping");
    let mut checked = Vec::new();
    for (name, function) in resources("AWS::Lambda::Function") {
        let own: Vec<String> = mappings
            .iter()
            .filter(|(_, mapping)| mapping["FunctionName"]["Ref"] == name)
            .map(|(_, mapping)| mapping["EventSourceArn"].to_string())
            .collect();
        let role = function["Role"]["Fn::GetAtt"][0].as_str().unwrap();
        let policies = template()["Resources"][role]["Properties"]["Policies"].as_array();
        let statements = policies.into_iter().flatten().flat_map(|policy| {
            policy["PolicyDocument"]["Statement"]
                .as_array()
                .into_iter()
                .flatten()
        });
        // Events on the bus come back to the matcher, and start runs, whose hints go to the worker.
        let mut sends = statements.map(|statement| {
            let (actions, resources) = (statement["Action"].to_string(), statement["Resource"].to_string());
            let to_own = own.iter().any(|queue| resources.contains(queue.as_str()));
            actions.contains("events:PutEvents") || (actions.contains("sqs:SendMessage") && to_own)
        });
        if !own.is_empty() && sends.any(|sends| sends) {
            assert_eq!(function["RecursiveLoop"], "Allow", "{name}");
            checked.push(name);
        }
    }
    assert_eq!(
        checked,
        [
            "ArchiverFunction",
            "ImporterFunction",
            "MatcherFunction",
            "WorkerFunction"
        ]
    );
}
