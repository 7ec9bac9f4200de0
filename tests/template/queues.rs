//! Tests that no message is lost silently: every queue has a dead-letter queue, and every dead-letter queue
//! an alarm.

use crate::translated::resources;

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
