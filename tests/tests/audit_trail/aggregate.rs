//! Tests aggregation over events: which events count, in which group, and which callers see them.

use serde_json::{Value, json};
use tests::aggregates::{Aggregates, rows};
use tests::{Persona, Service};

const COUNT: &str = "n";

fn count() -> Value {
    json!([{ "id": COUNT, "operation": "count" }])
}

/// Returns a request that counts the events of 2026, with these fields added.
fn counting(fields: Value) -> Value {
    let mut body = json!({ "from": "2026-01-01", "to": "2026-12-31T23:59:59.999Z", "metrics": count() });
    let Value::Object(fields) = fields else {
        panic!("{fields} is no object")
    };
    body.as_object_mut().unwrap().extend(fields);
    body
}

fn sum(category: &str, kind: &str) -> Value {
    json!({ "id": "sum", "operation": "sum_meter", "meterCategory": category, "meterType": kind })
}

fn average(category: &str, kind: &str) -> Value {
    json!({ "id": "average", "operation": "average_meter", "meterCategory": category, "meterType": kind })
}

fn meter(category: &str, kind: &str, quantity: f64) -> Value {
    json!({ "category": category, "type": kind, "quantity": quantity })
}

#[tokio::test]
async fn aggregation_of_no_events_has_one_row_of_zeros() {
    let world = Aggregates::start().await;
    let body = counting(json!({
        "metrics": [{ "id": COUNT, "operation": "count" }, sum("processing", "pages"), average("own", "unit"),
            { "id": "distinct", "operation": "count_distinct", "field": "resource_id" }],
    }));
    let answer = world.answer(&body).await;
    let metrics = json!({ "n": 0, "sum": 0, "average": null, "distinct": 0 });
    let expected = json!({
        "rows": [{ "dimensions": {}, "metrics": metrics }],
        "from": "2026-01-01T00:00:00.000Z", "to": "2026-12-31T23:59:59.999Z", "truncated": false,
    });
    assert_eq!(answer, expected);
    let by_action = counting(json!({ "groupBy": [{ "dimension": "action" }] }));
    assert_eq!(world.rows(&by_action).await, [json!(null); 0]);
}

#[tokio::test]
async fn an_event_counts_as_soon_as_it_is_accepted_and_a_repeated_one_once() {
    let world = Aggregates::start().await;
    let body = json!({ "metrics": count() });
    for expected in 1..=3 {
        world.ingest(&[json!({ "n": expected })]).await;
        assert_eq!(world.rows(&body).await, [json!([expected])]);
    }
    for _ in 0..3 {
        world.ingest(&[json!({ "idempotency_key": "order-1" })]).await;
        assert_eq!(world.rows(&body).await, [json!([4])]);
    }
}

#[tokio::test]
async fn numbers_of_details_are_grouped_and_found_by_the_digits_that_were_sent() {
    let world = Aggregates::start().await;
    let numbers = [
        "12345678901234567.88",
        "12345678901234567.89",
        "18446744073709551617",
        "1.10",
        "1e2",
    ];
    for number in numbers {
        let body = format!(r#"{{"details": {{"v": {number}, "list": [ {number} ]}}}}"#);
        let events = &world.events;
        let answer = events.ingest(&world.channel, &json!({})).body(body).await;
        answer.expect_status(202);
    }
    let by = |field: &str| counting(json!({ "groupBy": [{ "dimension": format!("details.{field}") }] }));
    let mut groups = numbers.map(|number| json!([number, 1]));
    groups.sort_by_key(|group| group[0].to_string());
    assert_eq!(world.rows(&by("v")).await, groups);
    let lists = world.rows(&by("list")).await;
    assert!(lists.contains(&json!(["[12345678901234567.89]", 1])), "{lists:?}");
    for number in numbers {
        let filter = json!({ "details": [{ "field": "v", "values": [number] }] });
        let rows = world.rows(&counting(json!({ "filter": filter }))).await;
        assert_eq!(rows, [json!([1])], "{number}");
    }
}

#[tokio::test]
async fn aggregation_groups_filters_and_counts_distinct_values() {
    let world = Aggregates::start().await;
    let event = |action: &str, kind: &str, id: &str, details: Value| {
        let timestamp = "2026-05-06T07:08:09Z";
        json!({ "action": action, "resource_type": kind, "resource_id": id, "details": details, "timestamp": timestamp })
    };
    world
        .ingest(&[
            event(
                "paid",
                "order",
                "1",
                json!({ "shop": { "city": "Bern" }, "n": 7, "ok": true }),
            ),
            event(
                "paid",
                "order",
                "2",
                json!({ "shop": { "city": "Bern" }, "n": "7", "ok": false }),
            ),
            event(
                "paid",
                "order",
                "2",
                json!({ "shop": { "city": "Genf" }, "n": 7.5, "tags": ["a", { "b": "c" }] }),
            ),
            event(
                "sent",
                "order",
                "2",
                json!({ "shop": { "city": null }, "n": null }),
            ),
            event(
                "sent",
                "parcel",
                "9",
                json!({ "it's \"quoted\"": { "a/b~c": "yes" }, "0": "zero" }),
            ),
        ])
        .await;
    let by = |dimensions: &[&str]| -> Value {
        let dimensions: Vec<_> = dimensions
            .iter()
            .map(|name| json!({ "dimension": name }))
            .collect();
        counting(json!({ "groupBy": dimensions }))
    };
    let source = "external:tests";
    for (dimensions, expected) in [
        (&["action"][..], json!([["paid", 3], ["sent", 2]])),
        (&["resource_type"], json!([["order", 4], ["parcel", 1]])),
        (&["resource_id"], json!([["1", 1], ["2", 3], ["9", 1]])),
        (&["source"], json!([[source, 5]])),
        (&["event_category"], json!([["external", 5]])),
        (&["project_id"], json!([[world.events.scope.project, 5]])),
        (
            &["resource_type", "action"],
            json!([["order", "paid", 3], ["order", "sent", 1], ["parcel", "sent", 1]]),
        ),
        (
            &["action", "time", "resource_type"],
            json!([
                ["paid", "2026-05-06T00:00:00.000Z", "order", 3],
                ["sent", "2026-05-06T00:00:00.000Z", "order", 1],
                ["sent", "2026-05-06T00:00:00.000Z", "parcel", 1]
            ]),
        ),
        // A string and a number with the same digits are one group; missing and null values form the last
        // group.
        (&["details.n"], json!([["7", 2], ["7.5", 1], [null, 2]])),
        (&["details.ok"], json!([["false", 1], ["true", 1], [null, 3]])),
        (
            &["details.shop.city"],
            json!([["Bern", 2], ["Genf", 1], [null, 2]]),
        ),
        (
            &["details.shop"],
            json!([
                [r#"{"city":"Bern"}"#, 2],
                [r#"{"city":"Genf"}"#, 1],
                [r#"{"city":null}"#, 1],
                [null, 1]
            ]),
        ),
        (&["details.tags.1.b"], json!([["c", 1], [null, 4]])),
        (&["details.it's \"quoted\".a/b~c"], json!([["yes", 1], [null, 4]])),
        (&["details.0"], json!([["zero", 1], [null, 4]])),
        (&["details.nothing.at.all"], json!([[null, 5]])),
    ] {
        assert_eq!(
            Value::from(world.rows(&by(dimensions)).await),
            expected,
            "{dimensions:?}"
        );
    }

    let details = |field: &str, values: &[&str]| json!({ "details": [{ "field": field, "values": values }] });
    for (filter, expected) in [
        (json!({}), 5),
        (json!({ "actions": [] }), 5),
        (json!({ "actions": ["paid"] }), 3),
        (json!({ "actions": ["paid", "sent", "paid"] }), 5),
        (json!({ "actions": ["Paid"] }), 0),
        (json!({ "actions": ["sent"], "resourceTypes": ["order"] }), 1),
        (json!({ "resourceIds": ["2", "9"] }), 4),
        (json!({ "sources": [source] }), 5),
        (json!({ "sources": ["tests"] }), 0),
        (json!({ "eventCategories": ["external", "content"] }), 5),
        (json!({ "eventCategories": ["content"] }), 0),
        (details("shop.city", &["Bern"]), 2),
        (details("shop.city", &["Bern", "Genf"]), 3),
        (details("shop.city", &["null"]), 0),
        (details("n", &["7"]), 2),
        (details("ok", &["true"]), 1),
        (details("it's \"quoted\".a/b~c", &["yes"]), 1),
        (details("it's \"quoted\".a/b~c", &["yes' OR '1'='1"]), 0),
        (details("details.n", &["7"]), 0),
        (
            json!({ "details": [{ "field": "n", "values": ["7"] }, { "field": "ok", "values": ["false"] }] }),
            1,
        ),
    ] {
        let body = counting(json!({ "filter": filter }));
        assert_eq!(world.rows(&body).await, [json!([expected])], "{body}");
    }

    for (field, expected) in [
        ("action", 2),
        ("resource_id", 3),
        ("event_id", 5),
        ("tenant_id", 0),
        ("details.n", 2),
        ("details.shop.city", 2),
        ("details.nothing", 0),
    ] {
        let distinct = json!([{ "id": "d", "operation": "count_distinct", "field": field }]);
        let body = counting(json!({ "metrics": distinct }));
        assert_eq!(world.rows(&body).await, [json!([expected])], "{field}");
    }
}

#[tokio::test]
async fn meters_are_summed_and_averaged() {
    let world = Aggregates::start().await;
    let meters = [
        json!([
            meter("processing", "pages", 3.0),
            meter("processing", "pages", 4.0),
            meter("own", "unit", 0.5)
        ]),
        json!([
            meter("processing", "pages", 2.0),
            meter("own", "unit", 1.0),
            meter("own", "other", 9.0)
        ]),
        json!([meter("processing", "ocr_pages", 1.0)]),
        json!([]),
    ];
    for (index, meters) in meters.iter().enumerate() {
        let action = if index < 2 { "first" } else { "second" };
        world.publish(
            &format!("event-{index}"),
            &json!({ "action": action, "meters": meters }),
        );
    }
    // An event with an existing id is the same event, and counts once.
    world.publish("event-0", &json!({ "action": "first", "meters": meters[0] }));
    world.wait_for_events(4).await;

    for (category, kind, total, mean) in [
        ("processing", "pages", json!(9), json!(4.5)),
        ("processing", "ocr_pages", json!(1), json!(1)),
        ("own", "unit", json!(1.5), json!(0.75)),
        ("own", "other", json!(9), json!(9)),
        ("own", "nothing", json!(0), json!(null)),
        ("Processing", "pages", json!(0), json!(null)),
        (
            "x' OR '1'='1",
            "y\"; DROP TABLE events; --",
            json!(0),
            json!(null),
        ),
    ] {
        let metrics =
            json!([{ "id": COUNT, "operation": "count" }, sum(category, kind), average(category, kind)]);
        let body = counting(json!({ "metrics": metrics }));
        assert_eq!(
            world.rows(&body).await,
            [json!([4, total, mean])],
            "{category} {kind}"
        );
    }
    let metrics = json!([sum("processing", "pages"), average("own", "unit")]);
    let body = counting(json!({ "groupBy": [{ "dimension": "action" }], "metrics": metrics }));
    let expected = [json!(["first", 9, 0.75]), json!(["second", 0, null])];
    assert_eq!(world.rows(&body).await, expected);
}

#[tokio::test]
async fn periods_are_in_utc_and_empty_ones_have_rows() {
    let world = Aggregates::start().await;
    let times = [
        "2026-01-31T23:59:59.999Z",
        "2026-02-01T00:00:00Z",
        // The same second by its offset, but on the previous day.
        "2026-02-02T00:30:00+01:00",
        // A leap second is the last second of its minute.
        "2026-02-04T23:59:60Z",
        "2026-03-01T23:59:59.999Z",
        "2026-03-02T00:00:00.000Z",
    ];
    let events: Vec<_> = times.iter().map(|time| json!({ "timestamp": time })).collect();
    world.ingest(&events).await;
    let by = |resolution: Value, from: &str, to: &str| {
        let group = json!([{ "dimension": "time", "resolution": resolution }]);
        counting(json!({ "groupBy": group, "from": from, "to": to, "limit": 1000 }))
    };
    let (from, to) = ("2026-01-31T12:00:00Z", "2026-03-02T12:00:00Z");

    let days = world.rows(&by(json!(null), from, to)).await;
    assert_eq!(days.len(), 31);
    let with_events: Vec<_> = days.iter().filter(|day| day[1] != 0).cloned().collect();
    let expected = json!([
        ["2026-01-31T00:00:00.000Z", 1],
        ["2026-02-01T00:00:00.000Z", 2],
        ["2026-02-04T00:00:00.000Z", 1],
        ["2026-03-01T00:00:00.000Z", 1],
        ["2026-03-02T00:00:00.000Z", 1],
    ]);
    assert_eq!(Value::from(with_events), expected);

    for (resolution, expected) in [
        (
            "week",
            json!([
                ["2026-01-26T00:00:00.000Z", 3],
                ["2026-02-02T00:00:00.000Z", 1],
                ["2026-02-09T00:00:00.000Z", 0],
                ["2026-02-16T00:00:00.000Z", 0],
                ["2026-02-23T00:00:00.000Z", 1],
                ["2026-03-02T00:00:00.000Z", 1]
            ]),
        ),
        (
            "month",
            json!([
                ["2026-01-01T00:00:00.000Z", 1],
                ["2026-02-01T00:00:00.000Z", 3],
                ["2026-03-01T00:00:00.000Z", 2]
            ]),
        ),
    ] {
        assert_eq!(
            Value::from(world.rows(&by(json!(resolution), from, to)).await),
            expected
        );
    }
    let hours = world
        .rows(&by(json!("hour"), "2026-02-01T22:59:00Z", "2026-02-02T01:00:00Z"))
        .await;
    let expected = [
        json!(["2026-02-01T22:00:00.000Z", 0]),
        json!(["2026-02-01T23:00:00.000Z", 1]),
        json!(["2026-02-02T00:00:00.000Z", 0]),
        json!(["2026-02-02T01:00:00.000Z", 0]),
    ];
    assert_eq!(hours, expected);

    // Both ends are inclusive.
    for (from, to, expected) in [
        (times[0], times[0], 1),
        (times[0], times[1], 2),
        ("2026-02-01T00:00:00.001Z", "2026-02-01T23:29:59.999Z", 0),
        ("2026-02-01T00:00:00.001Z", "2026-02-01T23:30:00Z", 1),
        ("2026-02-01T01:00:00+01:00", "2026-02-01T01:00:00+01:00", 1),
        ("2026-02-04T23:59:59.000Z", "2026-02-04T23:59:60Z", 1),
        ("2026-02-05", "2026-02-28", 0),
    ] {
        let body = counting(json!({ "from": from, "to": to }));
        assert_eq!(world.rows(&body).await, [json!([expected])], "{from} {to}");
    }
    // An empty period has every metric.
    let metrics = json!([{ "id": COUNT, "operation": "count" }, sum("processing", "pages"), average("processing", "pages"),
        { "id": "distinct", "operation": "count_distinct", "field": "resource_id" }]);
    let group = json!([{ "dimension": "time" }]);
    let body =
        counting(json!({ "groupBy": group, "metrics": metrics, "from": "2026-02-10", "to": "2026-02-10" }));
    assert_eq!(
        world.rows(&body).await,
        [json!(["2026-02-10T00:00:00.000Z", 0, 0, null, 0])]
    );
}

#[tokio::test]
async fn late_and_early_events_count_at_their_own_time() {
    let world = Aggregates::start().await;
    for time in [
        "2019-06-01T00:00:00Z",
        "1969-12-31T23:59:59Z",
        "2031-01-01T00:00:00Z",
    ] {
        world.ingest(&[json!({ "timestamp": time })]).await;
    }
    for (from, to, resolution, expected) in [
        (
            "2019-06-01",
            "2019-06-01",
            "day",
            json!(["2019-06-01T00:00:00.000Z", 1]),
        ),
        (
            "1969-12-30",
            "1969-12-31T23:59:59Z",
            "week",
            json!(["1969-12-29T00:00:00.000Z", 1]),
        ),
        (
            "1969-12-31",
            "1969-12-31T23:59:59Z",
            "day",
            json!(["1969-12-31T00:00:00.000Z", 1]),
        ),
        (
            "1969-12-31",
            "1969-12-31T23:59:59Z",
            "month",
            json!(["1969-12-01T00:00:00.000Z", 1]),
        ),
        (
            "2031-01-01",
            "2031-01-01",
            "hour",
            json!(["2031-01-01T00:00:00.000Z", 1]),
        ),
    ] {
        let group = json!([{ "dimension": "time", "resolution": resolution }]);
        let body = counting(json!({ "groupBy": group, "from": from, "to": to }));
        assert_eq!(world.rows(&body).await, [expected], "{body}");
    }
    // The default period contains neither the old events nor the future one.
    assert_eq!(world.rows(&json!({ "metrics": count() })).await, [json!([0])]);
}

#[tokio::test]
async fn the_limit_leaves_out_rows_and_says_so() {
    let world = Aggregates::start().await;
    for (id, times) in [("a", 1), ("b", 3), ("c", 2), ("d", 2)] {
        let event = json!({ "resource_id": id, "timestamp": "2026-04-05T06:07:08Z" });
        world.ingest(&vec![event; times]).await;
    }
    let group = json!([{ "dimension": "resource_id" }]);
    for (fields, expected, truncated) in [
        (json!({}), json!([["a", 1], ["b", 3], ["c", 2], ["d", 2]]), false),
        (
            json!({ "limit": 4 }),
            json!([["a", 1], ["b", 3], ["c", 2], ["d", 2]]),
            false,
        ),
        (json!({ "limit": 2 }), json!([["a", 1], ["b", 3]]), true),
        (
            json!({ "limit": 3, "order": { "metric": COUNT } }),
            json!([["b", 3], ["c", 2], ["d", 2]]),
            true,
        ),
        (
            json!({ "limit": 1, "order": { "metric": COUNT, "direction": "asc" } }),
            json!([["a", 1]]),
            true,
        ),
        (
            json!({ "order": { "metric": COUNT, "direction": "asc" } }),
            json!([["a", 1], ["c", 2], ["d", 2], ["b", 3]]),
            false,
        ),
    ] {
        let mut body = counting(json!({ "groupBy": group }));
        body.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        let answer = world.answer(&body).await;
        assert_eq!(Value::from(rows(&body, &answer)), expected, "{body}");
        assert_eq!(answer["truncated"], truncated, "{body}");
    }
    // Empty periods also fill the answer, and are ordered like the others.
    let time = json!([{ "dimension": "time" }]);
    let body = counting(json!({ "groupBy": time }));
    let answer = world.answer(&body).await;
    let answer_rows = rows(&body, &answer);
    assert_eq!((answer_rows.len(), &answer["truncated"]), (50, &json!(true)));
    assert_eq!(answer_rows[49], json!(["2026-02-19T00:00:00.000Z", 0]));
    let body = counting(json!({ "groupBy": time, "order": { "metric": COUNT }, "limit": 2 }));
    let expected = [
        json!(["2026-04-05T00:00:00.000Z", 8]),
        json!(["2026-01-01T00:00:00.000Z", 0]),
    ];
    assert_eq!(world.rows(&body).await, expected);
    let body = counting(json!({ "groupBy": [{ "dimension": "time", "resolution": "hour" }], "limit": 1000 }));
    let answer = world.answer(&body).await;
    assert_eq!(
        (rows(&body, &answer).len(), &answer["truncated"]),
        (1000, &json!(true))
    );
}

#[tokio::test]
async fn texts_of_the_caller_are_data_wherever_they_stand() {
    let world = Aggregates::start().await;
    world
        .ingest(&[json!({ "timestamp": "2026-04-05T06:07:08Z" })])
        .await;
    for text in [
        "'; DROP TABLE events; --",
        "\" OR 1=1 --",
        "read_parquet('/etc/passwd')",
        "$1 ? ?1 :name {x}",
        "a\u{0}b",
        "𝄞\u{202e}\\",
    ] {
        let field = format!("details.{text}");
        let id: String = text.chars().take(100).collect();
        let body = counting(json!({
            "projectId": text,
            "filter": {
                "actions": [text], "resourceTypes": [text], "resourceIds": [text], "sources": [text],
                "details": [{ "field": text, "values": [text] }],
            },
            "groupBy": [{ "dimension": field }],
            "metrics": [
                { "id": id, "operation": "sum_meter", "meterCategory": text, "meterType": text },
                { "id": "b", "operation": "count_distinct", "field": field },
            ],
            "order": { "metric": id },
        }));
        let answer = world.answer(&body).await;
        assert_eq!(rows(&body, &answer), [json!(null); 0], "{text}");
        let body = counting(json!({ "groupBy": [{ "dimension": field }] }));
        assert_eq!(world.rows(&body).await, [json!([null, 1])], "{text}");
    }
    for (fields, part) in [
        (
            json!({ "groupBy": [{ "dimension": "action; DROP TABLE events" }] }),
            "$.groupBy[0].dimension",
        ),
        (
            json!({ "metrics": [{ "id": "a", "operation": "count(*) FROM x --" }] }),
            "$.metrics[0].operation",
        ),
        (
            json!({ "filter": { "eventCategories": ["' OR '1'='1"] } }),
            "$.filter.eventCategories[0]",
        ),
        (json!({ "from": "2026-01-01'; DROP TABLE events" }), "$.from"),
    ] {
        world.expect_refusal(&counting(fields), part).await;
    }
}

#[tokio::test]
async fn bad_requests_are_refused_by_the_place_of_the_fault() {
    let world = Aggregates::start().await;
    let metric = |metric: Value| json!({ "metrics": [metric] });
    for (fields, place) in [
        (json!({ "metrics": [] }), "$.metrics"),
        (json!({ "metrics": null }), "$.metrics"),
        (
            metric(json!({ "id": "a", "operation": "median" })),
            "$.metrics[0].operation",
        ),
        (
            metric(json!({ "id": "a", "operation": "sum_meter", "meterType": "pages" })),
            "$.metrics[0].meterCategory",
        ),
        (
            metric(json!({ "id": "a", "operation": "sum_meter", "meterCategory": "x" })),
            "$.metrics[0].meterType",
        ),
        (
            metric(json!({ "id": "a", "operation": "count_distinct" })),
            "$.metrics[0].field",
        ),
        (
            metric(json!({ "id": "a", "operation": "count", "filed": "x" })),
            "$.metrics[0].filed",
        ),
        (
            metric(json!({ "id": "", "operation": "count" })),
            "$.metrics[0].id",
        ),
        (
            json!({ "metrics": [{ "id": "a", "operation": "count" }, { "id": "a", "operation": "count" }] }),
            "$.metrics[1].id",
        ),
        (
            json!({ "groupBy": [{ "dimension": "tenant" }] }),
            "$.groupBy[0].dimension",
        ),
        (
            json!({ "groupBy": [{ "dimension": "time", "resolution": "minute" }] }),
            "$.groupBy[0].resolution",
        ),
        (
            json!({ "groupBy": [{ "dimension": "action" }, { "dimension": "action" }] }),
            "$.groupBy[1].dimension",
        ),
        (json!({ "from": "2026-12-31", "to": "2026-01-01" }), "$.from"),
        (
            json!({ "from": "2025-01-01", "to": "2026-02-05" }),
            "400 days: $.from",
        ),
        (json!({ "from": "2026-13-01" }), "$.from"),
        (json!({ "limit": 1001 }), "$.limit"),
        (json!({ "limit": 0 }), "$.limit"),
        (json!({ "filter": { "action": ["x"] } }), "$.filter.action"),
        (json!({ "order": { "metric": "x" } }), "$.order.metric"),
    ] {
        let place = place.trim_start_matches("400 days: ");
        world.expect_refusal(&counting(fields), place).await;
    }
    // Unknown fields of the request itself are ignored, as in every request.
    let body = counting(json!({ "from": "2025-12-30T23:59:59.999Z", "limit": 1000, "unknown": { "x": 1 } }));
    world.answer(&body).await;
}

#[tokio::test]
async fn aggregation_counts_only_events_that_the_caller_may_see() {
    let world = Aggregates::start().await;
    let scope = &world.events.scope;
    let at = json!("2026-04-05T06:07:08Z");
    world
        .ingest(&[json!({ "timestamp": at }), json!({ "timestamp": at })])
        .await;
    let (neighbour, stranger) = (
        scope.token(Persona::OtherProject),
        scope.token(Persona::OtherAccount),
    );
    let (ours, theirs) = (scope.project.clone(), scope.other_project());
    world.publish("theirs", &json!({ "project_id": theirs, "timestamp": at }));
    let body = |project: Option<&str>| {
        counting(json!({ "groupBy": [{ "dimension": "project_id" }], "projectId": project }))
    };
    let whole = scope.token(Persona::WholeAccount);
    let rows_for = async |token: &str, project: Option<&str>| {
        let body = body(project);
        let answer = world.ask_as(token, &body).await.expect_status(200);
        Value::from(rows(&body, &answer.body))
    };
    let all = json!([[ours, 2], [theirs, 1]]);
    let deadline = std::time::Instant::now() + tests::runs::WITHIN;
    while rows_for(&whole, None).await.as_array().map(Vec::len) != Some(2) {
        assert!(
            std::time::Instant::now() < deadline,
            "the published event does not come"
        );
        tokio::time::sleep(tests::runs::PAUSE).await;
    }
    // A project token sees its project, whatever it requests.
    for project in [
        None,
        Some(theirs.as_str()),
        Some(ours.as_str()),
        Some("#"),
        Some("nowhere"),
    ] {
        assert_eq!(
            rows_for(&world.events.token, project).await,
            json!([[ours, 2]]),
            "{project:?}"
        );
        assert_eq!(
            rows_for(&neighbour, project).await,
            json!([[theirs, 1]]),
            "{project:?}"
        );
        assert_eq!(rows_for(&stranger, project).await, json!([]), "{project:?}");
    }
    // An account admin sees the account, or the project that it names.
    let reader = scope.token_with(&["--roles", "reader", "--permissions", "audit:read"]);
    for admin in [scope.token(Persona::AccountAdmin), whole] {
        for (project, expected) in [
            (None, all.clone()),
            (Some(theirs.as_str()), json!([[theirs, 1]])),
            (Some(ours.as_str()), json!([[ours, 2]])),
            (Some("nowhere"), json!([])),
        ] {
            assert_eq!(rows_for(&admin, project).await, expected, "{project:?}");
        }
        let refused = world
            .ask_as(&admin, &body(Some("#")))
            .await
            .expect_error(400, "invalid_request");
        assert!(refused.message().contains("project id"), "{}", refused.message());
    }
    assert_eq!(rows_for(&reader, None).await, json!([[ours, 2]]));
    // A token without a project works on the account. `project:admin` needs a project, and the token names
    // none.
    let without_project =
        |permission: &str| scope.token_with(&["--whole-account", "--roles", "", "--permissions", permission]);
    let auditor = without_project("audit:read");
    assert_eq!(rows_for(&auditor, None).await, all);
    assert_eq!(rows_for(&auditor, Some(&theirs)).await, json!([[theirs, 1]]));
    for project in [None, Some(theirs.as_str())] {
        let lost = world.ask_as(&without_project("project:admin"), &body(project));
        lost.await.expect_error(403, "forbidden");
    }
    for nosy in [Persona::Reader, Persona::Nobody] {
        let refused = world.ask_as(&scope.token(nosy), &body(None)).await;
        let refused = refused.expect_error(403, "forbidden");
        let permissions = "project:admin or account:admin or audit:read";
        assert!(refused.message().contains(permissions), "{}", refused.message());
    }
}

#[tokio::test]
async fn an_aggregation_leaves_no_audit_record() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    let id = tests::unique("aggregation");
    let request = service
        .post(&token, "/audit-trail/aggregate", &json!({ "metrics": count() }))
        .header("x-request-id", &id);
    request.await.expect_status(200);
    let trail = service
        .get(&token, "/audit-trail?limit=200")
        .await
        .expect_status(200);
    assert!(!trail.text().contains(&id));
}
