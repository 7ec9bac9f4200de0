//! Tests that alarms notify, and that a quiet day raises none.

use serde_json::Value;

use crate::translated::resources;

#[test]
fn alarm_says_what_it_tells_of_and_notifies_the_topic_of_its_start_and_end() {
    for (name, alarm) in resources("AWS::CloudWatch::Alarm") {
        assert!(alarm["AlarmDescription"].is_string(), "{name}");
        for actions in ["AlarmActions", "OKActions"] {
            assert_eq!(alarm[actions]["Fn::If"][0], "HasAlarmTopic", "{name}");
            assert_eq!(alarm[actions]["Fn::If"][1][0]["Ref"], "AlarmTopicArn", "{name}");
        }
    }
}

/// A queue that is not asked, a function that is not called and an event that does not happen leave no value.
#[test]
fn missing_data_is_a_quiet_day_but_for_the_sweeper_and_dead_letters() {
    for (name, alarm) in resources("AWS::CloudWatch::Alarm") {
        let expected = match name {
            "SweeperAlarm" => "breaching",
            name if name.ends_with("DeadLetterAlarm") => "ignore",
            _ => "notBreaching",
        };
        assert_eq!(alarm["TreatMissingData"], expected, "{name}");
    }
}

/// One failed request of three is a third, and the slowest of three is their 95th percentile.
#[test]
fn share_or_percentile_counts_from_a_number_of_requests_on() {
    let mut checked = Vec::new();
    for (name, alarm) in resources("AWS::CloudWatch::Alarm") {
        let is_percentile = alarm["ExtendedStatistic"].is_string();
        let is_share = alarm["MetricName"] == "5XXError" && alarm["Statistic"] == "Average";
        assert!(
            !is_percentile && !is_share,
            "{name} has no least number of requests"
        );
        let parts = alarm["Metrics"].as_array().into_iter().flatten();
        for expression in parts.filter_map(|part| part["Expression"].as_str()) {
            assert!(expression.starts_with("IF(requests >= "), "{name}: {expression}");
            checked.push(name);
        }
    }
    assert_eq!(checked, ["ApiErrorAlarm", "ApiLatencyAlarm"]);
}

/// An open stream lasts for minutes.
#[test]
fn latency_of_the_api_leaves_streams_out() {
    let filters = resources("AWS::Logs::MetricFilter");
    let (_, filter) = filters.iter().find(|(name, _)| *name == "ApiLatency").unwrap();
    let pattern = filter["FilterPattern"].as_str().unwrap_or_default();
    assert!(pattern.contains("$.route != \"*/stream\""), "{pattern}");
    let transformation: &Value = &filter["MetricTransformations"][0];
    assert_eq!(transformation["MetricValue"], "$.duration_ms");
}
