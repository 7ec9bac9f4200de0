//! Tests charts against the columns of a query.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn columns() -> Vec<ResultColumn> {
    let column = |(name, column_type): (&str, &str)| ResultColumn {
        name: name.to_owned(),
        column_type: column_type.to_owned(),
    };
    let columns = [
        ("day", "DATE"),
        ("Amount", "DECIMAL(12,2)"),
        ("a.b", "BIGINT"),
        ("place", "STRUCT(lat DOUBLE, lon DOUBLE)"),
        ("tags", "STRING[]"),
        ("extra", "JSON"),
        ("id", "BIGINT"),
        ("id", "BIGINT"),
    ];
    columns.into_iter().map(column).collect()
}

/// Returns the error message for a chart; empty if the chart is accepted.
fn refusal(spec: &Value) -> String {
    check(spec, &columns()).map_or_else(|error| error.message().to_owned(), |()| String::new())
}

/// Returns the error message for a definition of the channel `x`.
fn of_x(definition: Value) -> String {
    refusal(&json!({ "mark": "bar", "encoding": { "x": definition } }))
}

#[test]
fn charts_of_many_kinds_are_taken() {
    for spec in [
        json!({ "mark": "bar", "encoding": {
            "x": { "field": "day", "type": "temporal" }, "y": { "field": "Amount", "type": "quantitative" } } }),
        json!({ "mark": { "type": "arc", "innerRadius": 50 }, "title": { "text": "t" }, "config": {}, "width": 7,
            "encoding": { "theta": { "aggregate": "count" }, "color": { "field": "day", "type": "nominal" } } }),
        json!({ "mark": "point", "encoding": {
            "x": { "field": "place.lat", "type": "quantitative" }, "y": { "field": "place['lon']", "type": "quantitative" },
            "size": { "value": 5 }, "color": { "datum": "all" }, "text": { "field": "tags[0]", "type": "nominal" },
            "tooltip": [{ "field": "day" }, { "field": "extra.a.b[0]", "format": "x" }], "detail": { "field": "day" },
            "opacity": { "condition": { "param": "p", "field": "Amount", "type": "quantitative" }, "value": 0.2 },
            "order": [], "shape": { "condition": [{ "test": "true", "value": "cross" }] } } }),
        json!({ "mark": "line", "encoding": {
            "x": { "timeUnit": "month", "field": "day", "sort": { "field": "Amount", "op": "sum" } },
            "y": { "aggregate": { "argmax": "Amount" }, "field": "day" }, "x2": { "field": "day" }, "tooltip": null } }),
        json!({ "mark": "rule", "transform": [{ "calculate": "datum.Amount * 2", "as": "double" },
                { "window": [{ "op": "rank", "as": "rank" }] }, { "fold": ["day"], "as": ["k", "v"] }],
            "encoding": { "x": { "field": "double", "type": "quantitative" }, "y": { "field": "rank", "type": "ordinal" },
                "color": { "field": "v", "type": "nominal" } } }),
        json!({ "mark": "tick", "encoding": { "x": { "field": "a\\.b", "type": "ordinal", "axis": null, "sort": null } } }),
        json!({ "mark": "tick", "encoding": { "x": { "field": "['a.b']", "bin": true } } }),
    ] {
        assert_eq!(refusal(&spec), "", "{spec}");
    }
}

#[test]
fn invalid_charts_are_refused() {
    for (spec, expected) in [
        (json!([]), "The field 'spec' must be an object."),
        (
            json!({}),
            "The field 'spec.mark' is missing; a dashboard is one chart, such as \"mark\": \"bar\".",
        ),
        (
            json!({ "mark": 7 }),
            "The field 'spec.mark' must be the name of a mark, such as \"bar\".",
        ),
        (
            json!({ "mark": {} }),
            "The field 'spec.mark.type' must be the name of a mark, such as \"bar\".",
        ),
        (
            json!({ "mark": "pie" }),
            "The field 'spec.mark' is 'pie', which is not a mark of Vega-Lite; those are: arc, area, bar, boxplot, circle, errorband, errorbar, geoshape, image, line, point, rect, rule, square, text, tick, trail.",
        ),
        (
            json!({ "mark": "bar" }),
            "The field 'spec.encoding' must have a channel, such as \"x\": { \"field\": …, \"type\": … }.",
        ),
        (
            json!({ "mark": "bar", "encoding": [] }),
            "The field 'spec.encoding' must be an object.",
        ),
        (
            json!({ "mark": "bar", "encoding": { "x": null } }),
            "The field 'spec.encoding.x' must be an object.",
        ),
        (
            json!({ "mark": "bar", "encoding": { "x": [] } }),
            "The field 'spec.encoding.x' must be an object.",
        ),
        (
            json!({ "mark": "bar", "encoding": { "tooltip": [{ "value": 1 }, 7] } }),
            "The field 'spec.encoding.tooltip[1]' must be an object.",
        ),
    ] {
        assert_eq!(refusal(&spec), expected, "{spec}");
    }
    let channel = refusal(&json!({ "mark": "bar", "encoding": { "z": {} } }));
    assert!(
        channel.starts_with("The field 'spec.encoding.z' is not a channel of Vega-Lite; those are: angle,"),
        "{channel}"
    );
}

#[test]
fn a_field_must_be_a_column() {
    let listed =
        "which the query does not produce; its columns are: day, Amount, a.b, place, tags, extra, id, id.";
    for (definition, expected) in [
        (
            json!({ "field": "amuont", "type": "quantitative" }),
            format!("The field 'spec.encoding.x.field' is 'amuont', {listed}"),
        ),
        (
            json!({ "field": "amount", "type": "quantitative" }),
            format!("The field 'spec.encoding.x.field' is 'amount', {listed} Case counts: did you mean 'Amount'?"),
        ),
        (
            json!({ "field": "a.b", "type": "quantitative" }),
            format!("The field 'spec.encoding.x.field' is 'a.b', {listed} Dots and brackets of a column's name are written with a backslash before them: 'a\\.b'."),
        ),
        (
            json!({ "field": "Amount[0]", "type": "quantitative" }),
            "The field 'spec.encoding.x.field' is 'Amount[0]', a part of the column 'Amount'; that is a DECIMAL(12,2) and has no parts.".to_owned(),
        ),
        (
            json!({ "field": "id", "type": "nominal" }),
            "The field 'spec.encoding.x.field' is 'id', and the query has more than one column of that name; give each its own with AS.".to_owned(),
        ),
        (
            json!({ "value": 1, "condition": [{ "test": "true", "value": 1 }, { "param": "p", "field": "gone" }] }),
            format!("The field 'spec.encoding.x.condition[1].field' is 'gone', {listed}"),
        ),
        (
            json!({ "field": "day", "type": "ordinal", "sort": { "field": "gone" } }),
            format!("The field 'spec.encoding.x.sort.field' is 'gone', {listed}"),
        ),
        (
            json!({ "field": "day", "aggregate": { "argmin": "gone" } }),
            format!("The field 'spec.encoding.x.aggregate.argmin' is 'gone', {listed}"),
        ),
        (json!({ "aggregate": "count", "field": "gone" }), format!("The field 'spec.encoding.x.field' is 'gone', {listed}")),
    ] {
        assert_eq!(of_x(definition), expected);
    }
    for broken in ["", "[", "a]", "['day'", "['day", "."] {
        let message = of_x(json!({ "field": broken, "type": "nominal" }));
        assert!(
            message.ends_with("brackets and quotes must be closed."),
            "{broken}: {message}"
        );
    }
    for other in [json!(null), json!(7), json!({ "repeat": "row" }), json!(["day"])] {
        let message = of_x(json!({ "field": other, "type": "nominal" }));
        assert_eq!(
            message,
            "The field 'spec.encoding.x.field' must be the name of a column of the query."
        );
    }
}

#[test]
fn a_type_is_named_where_it_matters() {
    let types = "quantitative, nominal, ordinal, temporal, geojson.";
    assert_eq!(
        of_x(json!({ "field": "day" })),
        format!("The field 'spec.encoding.x.type' is missing; it is one of: {types}")
    );
    assert_eq!(
        of_x(json!({ "field": "day", "type": null })),
        format!("The field 'spec.encoding.x.type' must be one of: {types}")
    );
    let unknown = of_x(json!({ "field": "day", "type": "Temporal" }));
    assert!(
        unknown.starts_with("The field 'spec.encoding.x.type' is 'Temporal', which is not a type"),
        "{unknown}"
    );
    for empty in [
        json!({}),
        json!({ "type": "nominal" }),
        json!({ "aggregate": "sum" }),
    ] {
        assert_eq!(
            of_x(empty),
            "The field 'spec.encoding.x' must have a 'field', a 'value', a 'datum', or \"aggregate\": \"count\"."
        );
    }
}

#[test]
fn a_message_stays_short() {
    let columns: Vec<_> = (0..5_000)
        .map(|number| ResultColumn {
            name: format!("{number}-{}", "x".repeat(1_000)),
            column_type: "BIGINT".to_owned(),
        })
        .collect();
    let spec =
        json!({ "mark": "bar", "encoding": { "x": { "field": "y".repeat(60_000), "type": "nominal" } } });
    let error = check(&spec, &columns).unwrap_err();
    assert!(error.message().len() < 3_000, "{}", error.message().len());
    assert!(
        error.message().contains("… and 4980 more."),
        "{}",
        error.message()
    );
}

/// Words with a meaning in a chart, and a few without.
const WORDS: &[&str] = &[
    "mark",
    "encoding",
    "transform",
    "as",
    "x",
    "y",
    "tooltip",
    "color",
    "field",
    "type",
    "aggregate",
    "sort",
    "condition",
    "argmax",
    "value",
    "datum",
    "bin",
    "bar",
    "count",
    "nominal",
    "quantitative",
    "day",
    "Amount",
    "a.b",
    "a\\.b",
    "place.lat",
    "gone",
    "tags[0]",
    "['day']",
    "[",
    "\\",
    "é",
    "",
];

fn word() -> impl Strategy<Value = String> {
    proptest::sample::select(WORDS).prop_map(str::to_owned)
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        6 => word().prop_map(Value::from),
        1 => any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(word(), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Generates charts that are almost correct, so that some are accepted.
fn near_chart() -> impl Strategy<Value = Value> {
    let field = proptest::sample::select(
        &[
            "day",
            "Amount",
            "a\\.b",
            "place.lat",
            "tags[0]",
            "gone",
            "id",
            "a.b",
        ][..],
    );
    let definition = (field, any_json(), 0..6).prop_map(|(field, other, kind)| match kind {
        0 => json!({ "aggregate": "count", "sort": other }),
        1 => json!({ "value": 1, "condition": { "field": field, "test": other } }),
        2 => other,
        _ => json!({ "field": field, "type": "nominal", "axis": other }),
    });
    let channel =
        proptest::sample::select(&["x", "y", "color", "tooltip", "detail"][..]).prop_map(str::to_owned);
    proptest::collection::btree_map(channel, definition, 1..4)
        .prop_map(|encoding| json!({ "mark": "bar", "encoding": encoding }))
}

/// Returns the fields that a channel definition names.
fn named_fields(definition: &Value) -> Vec<String> {
    let places = [definition, &definition["condition"], &definition["sort"]];
    let fields = places.iter().filter_map(|place| place["field"].as_str());
    fields.map(str::to_owned).collect()
}

proptest! {
    #[test]
    fn no_json_makes_the_check_panic(spec in any_json(), field in any::<String>()) {
        let _ = check(&spec, &columns());
        let _ = of_x(json!({ "field": field, "type": "nominal" }));
    }

    #[test]
    fn accepted_charts_name_only_columns(spec in near_chart()) {
        if check(&spec, &columns()).is_ok() {
            for definition in spec["encoding"].as_object().unwrap().values() {
                let list = definition.as_array().cloned().unwrap_or_else(|| vec![definition.clone()]);
                for field in list.iter().flat_map(named_fields) {
                    let name = steps(&field).unwrap().remove(0);
                    let known = ["day", "Amount", "a.b", "place", "tags", "extra"];
                    prop_assert!(known.contains(&name.as_str()), "{}: {}", field, spec);
                }
            }
        }
    }

    #[test]
    fn an_escaped_name_is_one_step(name in "\\PC{1,20}") {
        let escaped: String = name.chars().flat_map(|letter| ['\\', letter]).collect();
        prop_assert_eq!(steps(&escaped), Some(vec![name]));
    }
}
