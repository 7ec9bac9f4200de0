//! Tests the refusals of invalid requests, and the SQL of valid ones.

use platform::UtcTime;
use platform::auth::Viewer;
use platform::http::parse;
use serde_json::{Value, json};

use super::{AggregateEvents, AggregatePlan};

fn now() -> UtcTime {
    "2026-11-24T12:00:00Z".parse().unwrap()
}

fn plan(body: &Value) -> platform::Result<AggregatePlan> {
    parse::<AggregateEvents>(body.to_string().as_bytes())?.plan(now())
}

/// A request with a count and these additional fields.
fn with(fields: Value) -> Value {
    let mut body = json!({ "metrics": [{ "id": "n", "operation": "count" }] });
    let Value::Object(fields) = fields else {
        panic!("{fields} is no object")
    };
    body.as_object_mut().unwrap().extend(fields);
    body
}

fn metric(metric: Value) -> Value {
    json!({ "metrics": [{ "id": "n", "operation": "count" }, metric] })
}

#[test]
fn refusals_name_the_path() {
    let many = |count: usize| vec!["x"; count];
    let counts = |ids: &[&str]| {
        let metric = |id| json!({ "id": id, "operation": "count" });
        json!({ "metrics": ids.iter().map(metric).collect::<Vec<_>>() })
    };
    let ids: Vec<_> = (0..21).map(|id| id.to_string()).collect();
    for (body, path) in [
        (json!({}), "missing field `metrics`"),
        (json!({ "metrics": [] }), "$.metrics:"),
        (json!({ "metrics": null }), "$.metrics:"),
        (json!({ "metrics": [[]] }), "$.metrics[0]:"),
        (
            counts(&ids.iter().map(String::as_str).collect::<Vec<_>>()),
            "$.metrics:",
        ),
        (counts(&["a", "b", "a"]), "$.metrics[2].id:"),
        (counts(&[""]), "$.metrics[0].id:"),
        (counts(&[&"x".repeat(101)]), "$.metrics[0].id:"),
        (
            metric(json!({ "id": "a", "operation": "sum" })),
            "$.metrics[1].operation:",
        ),
        (
            metric(json!({ "id": "a", "operation": 7 })),
            "$.metrics[1].operation:",
        ),
        (
            metric(json!({ "id": "a", "operation": "count'; DROP TABLE events" })),
            "$.metrics[1].operation:",
        ),
        (
            metric(json!({ "operation": "count" })),
            "$.metrics[1]: missing field `id`",
        ),
        (
            metric(json!({ "id": "a" })),
            "$.metrics[1]: missing field `operation`",
        ),
        (
            metric(json!({ "id": "a", "operation": "sum_meter" })),
            "$.metrics[1].meterCategory:",
        ),
        (
            metric(json!({ "id": "a", "operation": "sum_meter", "meterType": "pages" })),
            "$.metrics[1].meterCategory:",
        ),
        (
            metric(json!({ "id": "a", "operation": "average_meter", "meterCategory": "x" })),
            "$.metrics[1].meterType:",
        ),
        (
            metric(json!({ "id": "a", "operation": "sum_meter", "meterCategory": "", "meterType": "pages" })),
            "$.metrics[1].meterCategory:",
        ),
        (
            metric(json!({ "id": "a", "operation": "count", "meterType": "pages" })),
            "$.metrics[1].meterType:",
        ),
        (
            metric(json!({ "id": "a", "operation": "count", "field": "action" })),
            "$.metrics[1].field:",
        ),
        (
            metric(json!({ "id": "a", "operation": "count", "metertype": "x" })),
            "$.metrics[1].metertype: unknown field",
        ),
        (
            metric(json!({ "id": "a", "operation": "count_distinct" })),
            "$.metrics[1].field:",
        ),
        (
            metric(json!({ "id": "a", "operation": "count_distinct", "field": "time" })),
            "$.metrics[1].field:",
        ),
        (
            metric(json!({ "id": "a", "operation": "count_distinct", "field": "details." })),
            "$.metrics[1].field:",
        ),
        (
            with(json!({ "groupBy": [{ "dimension": "tenant" }] })),
            "$.groupBy[0].dimension: unknown dimension",
        ),
        (
            with(json!({ "groupBy": [{ "dimension": "event_id" }] })),
            "$.groupBy[0].dimension:",
        ),
        (
            with(json!({ "groupBy": [{ "dimension": "details.a..b" }] })),
            "$.groupBy[0].dimension:",
        ),
        (
            with(json!({ "groupBy": [{}] })),
            "$.groupBy[0]: missing field `dimension`",
        ),
        (with(json!({ "groupBy": ["time"] })), "$.groupBy[0]:"),
        (
            with(json!({ "groupBy": [{ "dimension": "time", "resolution": "year" }] })),
            "$.groupBy[0].resolution:",
        ),
        (
            with(json!({ "groupBy": [{ "dimension": "action", "resolution": "day" }] })),
            "$.groupBy[0].resolution:",
        ),
        (
            with(json!({ "groupBy": [{ "dimension": "time", "by": "day" }] })),
            "$.groupBy[0].by: unknown field",
        ),
        (
            with(
                json!({ "groupBy": [{ "dimension": "time" }, { "dimension": "time", "resolution": "hour" }] }),
            ),
            "$.groupBy[1].dimension:",
        ),
        (
            with(
                json!({ "groupBy": (0..6).map(|n| json!({ "dimension": format!("details.{n}") })).collect::<Vec<_>>() }),
            ),
            "$.groupBy:",
        ),
        (with(json!({ "filter": [] })), "$.filter:"),
        (
            with(json!({ "filter": { "action": ["x"] } })),
            "$.filter.action: unknown field",
        ),
        (with(json!({ "filter": { "actions": "x" } })), "$.filter.actions:"),
        (
            with(json!({ "filter": { "actions": [1] } })),
            "$.filter.actions[0]:",
        ),
        (
            with(json!({ "filter": { "actions": many(101) } })),
            "$.filter.actions:",
        ),
        (
            with(json!({ "filter": { "sources": ["", "x".repeat(1001)] } })),
            "$.filter.sources[1]:",
        ),
        (
            with(json!({ "filter": { "eventCategories": ["content", "x"] } })),
            "$.filter.eventCategories[1]:",
        ),
        (
            with(json!({ "filter": { "details": [{ "field": "", "values": ["x"] }] } })),
            "$.filter.details[0].field:",
        ),
        (
            with(json!({ "filter": { "details": [{ "field": "a", "values": [] }] } })),
            "$.filter.details[0].values:",
        ),
        (
            with(json!({ "filter": { "details": [{ "field": "a" }] } })),
            "$.filter.details[0]: missing field `values`",
        ),
        (
            with(json!({ "filter": { "details": [{ "field": "a", "values": ["x"], "op": 1 }] } })),
            "$.filter.details[0].op: unknown field",
        ),
        (
            with(json!({ "filter": { "details": vec![json!({ "field": "a", "values": ["x"] }); 21] } })),
            "$.filter.details:",
        ),
        (with(json!({ "limit": 0 })), "$.limit:"),
        (with(json!({ "limit": 1001 })), "$.limit:"),
        (with(json!({ "limit": -1 })), "$.limit:"),
        (with(json!({ "limit": 1.5 })), "$.limit:"),
        (with(json!({ "limit": "5" })), "$.limit:"),
        (with(json!({ "order": "n" })), "$.order:"),
        (with(json!({ "order": { "metric": "m" } })), "$.order.metric:"),
        (
            with(json!({ "order": { "metric": "n", "direction": "up" } })),
            "$.order.direction:",
        ),
        (with(json!({ "from": "yesterday" })), "$.from:"),
        (with(json!({ "to": 1_700_000_000 })), "$.to:"),
        (with(json!({ "from": "2026-11-24T12:00:00.001Z" })), "$.from:"),
        (
            with(json!({ "from": "2026-11-02", "to": "2026-11-01" })),
            "$.from:",
        ),
        (
            with(json!({ "from": "2025-10-20", "to": "2026-11-24" })),
            "$.from:",
        ),
        (with(json!({ "from": "2025-11-23T11:59:59.999Z" })), "$.from:"),
        (with(json!({ "from": "2026-11-01T00:00:00; DROP" })), "$.from:"),
        (
            with(json!({ "from": "0000-01-01", "to": "0000-12-31" })),
            "$.from:",
        ),
        (with(json!({ "projectId": 7 })), "$.projectId:"),
    ] {
        let refusal = plan(&body).expect_err(&body.to_string());
        assert_eq!(refusal.kind().status(), 400, "{body}");
        let message = refusal.message();
        assert!(message.contains(path), "{body}: {message}");
    }
}

#[test]
fn the_range_is_the_last_30_days_unless_it_is_given() {
    for (fields, from, to) in [
        (json!({}), "2026-10-25T12:00:00.000Z", "2026-11-24T12:00:00.000Z"),
        (
            json!({ "from": null, "to": null }),
            "2026-10-25T12:00:00.000Z",
            "2026-11-24T12:00:00.000Z",
        ),
        (
            json!({ "to": "2026-03-31" }),
            "2026-03-01T00:00:00.000Z",
            "2026-03-31T00:00:00.000Z",
        ),
        (
            json!({ "from": "2025-11-23T12:00:00Z" }),
            "2025-11-23T12:00:00.000Z",
            "2026-11-24T12:00:00.000Z",
        ),
        (
            json!({ "from": "2026-01-01T00:30:00+02:00", "to": "2026-12-31T23:59:60Z" }),
            "2025-12-31T22:30:00.000Z",
            "2026-12-31T23:59:59.000Z",
        ),
    ] {
        let plan = plan(&with(fields)).unwrap();
        assert_eq!(
            (plan.from.to_string(), plan.to.to_string()),
            (from.to_owned(), to.to_owned())
        );
    }
}

#[test]
fn texts_of_the_caller_are_parameters() {
    let text = "x'; DROP TABLE \"events\"; --";
    let body = json!({
        "projectId": text,
        "filter": {
            "actions": [text], "resourceTypes": [text], "resourceIds": [text], "sources": [text],
            "details": [{ "field": text, "values": [text] }],
        },
        "groupBy": [{ "dimension": format!("details.{text}") }],
        "metrics": [
            { "id": text, "operation": "sum_meter", "meterCategory": text, "meterType": text },
            { "id": "b", "operation": "count_distinct", "field": format!("details.{text}") },
        ],
        "order": { "metric": text },
    });
    let statement = plan(&body).unwrap().statement("log", &Viewer::operator());
    assert!(!statement.sql.contains("DROP"), "{}", statement.sql);
    assert_eq!(statement.sql.matches('?').count(), statement.params.len());
}

#[test]
fn a_request_is_one_statement() {
    let body = json!({
        "from": "2026-11-01", "to": "2026-11-30T23:59:59.999Z",
        "filter": { "actions": ["document_processed"], "details": [{ "field": "verdict", "values": ["ok", "no"] }] },
        "groupBy": [{ "dimension": "action" }, { "dimension": "time", "resolution": "week" }],
        "metrics": [
            { "id": "events", "operation": "count" },
            { "id": "pages", "operation": "sum_meter", "meterCategory": "processing", "meterType": "pages" },
        ],
        "limit": 10, "order": { "metric": "pages" },
    });
    let statement = plan(&body).unwrap().statement("log", &Viewer::operator());
    insta::assert_snapshot!(statement.sql, @"WITH found AS (SELECT action AS d0, epoch_ms(timestamp) - ((epoch_ms(timestamp) - 345600000) % 604800000 + 604800000) % 604800000 AS d1, count(*) AS m0, coalesce(sum(processing_pages), 0) AS m1 FROM log AS events WHERE timestamp >= CAST(? AS TIMESTAMPTZ) AND timestamp <= CAST(? AS TIMESTAMPTZ) AND action IN (?) AND json_text(details, ?) IN (?, ?) GROUP BY 1, 2) SELECT * FROM found ORDER BY m1 DESC NULLS LAST, d1 ASC NULLS LAST, d0 ASC NULLS LAST LIMIT 11");
    assert_eq!(
        Value::from(statement.params),
        json!([
            "2026-11-01T00:00:00.000Z",
            "2026-11-30T23:59:59.999Z",
            "document_processed",
            "/verdict",
            "ok",
            "no"
        ])
    );
}

#[test]
fn empty_periods_have_rows_where_time_is_the_only_dimension() {
    let body = json!({
        "from": "2026-11-01", "to": "2026-11-30",
        "groupBy": [{ "dimension": "time" }],
        "metrics": [
            { "id": "events", "operation": "count" },
            { "id": "mean", "operation": "average_meter", "meterCategory": "a", "meterType": "b" },
        ],
    });
    let statement = plan(&body).unwrap().statement("log", &Viewer::operator());
    insta::assert_snapshot!(statement.sql, @"WITH found AS (SELECT epoch_ms(timestamp) - ((epoch_ms(timestamp) - 0) % 86400000 + 86400000) % 86400000 AS d0, count(*) AS m0, avg(list_sum(list_transform(list_filter(meters, lambda meter: meter.category = ? AND meter.type = ?), lambda meter: meter.quantity))) AS m1 FROM log AS events WHERE timestamp >= CAST(? AS TIMESTAMPTZ) AND timestamp <= CAST(? AS TIMESTAMPTZ) GROUP BY 1) SELECT periods.d0, coalesce(m0, 0) AS m0, m1 FROM (SELECT unnest(generate_series(CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT))) AS d0) AS periods LEFT JOIN found USING (d0) ORDER BY d0 ASC NULLS LAST LIMIT 51");
    let parameters = json!([
        "a",
        "b",
        "2026-11-01T00:00:00.000Z",
        "2026-11-30T00:00:00.000Z",
        1_793_491_200_000_i64,
        1_795_996_800_000_i64,
        86_400_000
    ]);
    assert_eq!(Value::from(statement.params), parameters);
}

#[test]
fn events_of_private_runs_are_for_their_owner() {
    let viewer = Viewer {
        reference: "user:o'ada".to_owned(),
        sees_all: false,
    };
    let body = json!({ "metrics": [{ "id": "n", "operation": "count" }] });
    let statement = plan(&body).unwrap().statement("log", &viewer);
    let condition = "AND (private_to IS NULL OR private_to = ?)";
    assert!(statement.sql.contains(condition), "{}", statement.sql);
    assert_eq!(statement.params.last(), Some(&json!("user:o'ada")));
}
