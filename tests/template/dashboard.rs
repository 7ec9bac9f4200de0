//! Tests that the dashboard is valid JSON, shows the metrics of every alarm, and uses only metrics that
//! exist.

use serde_json::{Map, Value};

use crate::translated::resources;

/// Returns the dashboard's body, with names for the values that CloudFormation fills in.
fn dashboard() -> Value {
    let (_, properties) = resources("AWS::CloudWatch::Dashboard").remove(0);
    let sub = &properties["DashboardBody"]["Fn::Sub"];
    let body = sub[0].as_str().unwrap();
    let mut filled = String::new();
    for part in body.split("${") {
        match part.split_once('}') {
            Some((name, rest)) if !filled.is_empty() => filled = format!("{filled}<{name}>{rest}"),
            _ => filled.push_str(part),
        }
    }
    serde_json::from_str(&filled).unwrap_or_else(|error| panic!("{error}: {filled}"))
}

#[test]
fn the_dashboard_is_json_that_cloudwatch_reads() {
    let dashboard = dashboard();
    let widgets = dashboard["widgets"].as_array().unwrap();
    assert!(widgets.len() >= 15);
    for widget in widgets {
        assert_eq!(widget["type"], "metric");
        let properties = &widget["properties"];
        assert_eq!(properties["region"], "<AWS::Region>");
        assert!(properties["title"].is_string());
        for metric in properties["metrics"].as_array().unwrap() {
            let parts = metric.as_array().unwrap();
            let options = parts.last().and_then(Value::as_object);
            let is_expression = options.is_some_and(|options| options.contains_key("expression"));
            let names = parts.len() - usize::from(options.is_some());
            // Namespace, name, and pairs of dimension and value.
            let is_metric = names >= 2 && names % 2 == 0 && parts.iter().take(names).all(Value::is_string);
            assert!(is_metric || (is_expression && names == 0), "{metric}");
            let has_statistic = properties["stat"].is_string()
                || is_expression
                || options.is_some_and(|options: &Map<_, _>| options.contains_key("stat"));
            assert!(has_statistic, "{metric} of {}", properties["title"]);
        }
    }
}

/// Returns the names of the metrics that an alarm reads: one, those of an expression, or that of a query.
fn metrics(alarm: &Value) -> Vec<&str> {
    if let Some(name) = alarm["MetricName"].as_str() {
        return vec![name];
    }
    let parts = alarm["Metrics"].as_array().unwrap();
    parts
        .iter()
        .filter_map(|part| {
            let is_query = part["Expression"]["Fn::Sub"].is_string();
            let name = part["MetricStat"]["Metric"]["MetricName"].as_str();
            name.or_else(|| is_query.then_some("ThrottledRequests"))
        })
        .collect()
}

#[test]
fn the_dashboard_shows_what_each_alarm_watches() {
    let text = dashboard().to_string();
    for (name, alarm) in resources("AWS::CloudWatch::Alarm") {
        let metrics = metrics(alarm);
        assert!(!metrics.is_empty(), "{name}");
        for metric in metrics {
            assert!(
                text.contains(&format!("\"{metric}\"")) || text.contains(&format!("SUM({metric})")),
                "{name} watches {metric}"
            );
        }
    }
}
