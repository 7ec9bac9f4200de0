//! Tests answers: values as JSON, parameters, limits, changes of the schema.

use lake::EngineLimits;
use lake::manifest::ManifestColumn;
use serde_json::json;

use crate::fixture::{Store, limits, table};

#[tokio::test]
async fn every_type_goes_in_and_out() {
    let columns = json!([
        { "name": "s", "type": "STRING" }, { "name": "i", "type": "INTEGER" }, { "name": "b", "type": "BIGINT" },
        { "name": "f", "type": "FLOAT" }, { "name": "d", "type": "DOUBLE" }, { "name": "n", "type": "DECIMAL" },
        { "name": "n2", "type": "DECIMAL(38,2)" }, { "name": "t", "type": "BOOLEAN" }, { "name": "day", "type": "DATE" },
        { "name": "moment", "type": "TIMESTAMP" }, { "name": "j", "type": "JSON" }
    ]);
    let mut store = Store::new(limits(), vec![table("all_types", columns)]);
    let rows = r#"[
        {"s":"a \"b\" é\n","i":-5,"b":9007199254740993,"f":1.5,"d":0.1,"n":12.3456,"n2":"123456789012345678901234567890.12",
         "t":true,"day":"2024-05-01","moment":"2024-05-01T10:00:00+02:00","j":{"a":[1,null,"x"]}},
        {}
    ]"#;
    let staged = store.stage_rows(0, rows).await.unwrap();
    assert_eq!(staged.rows, 2);
    store.keep(0, staged);
    let answer = store.query("select * from ALL_TYPES").await.unwrap();
    assert_eq!(
        answer["column_types"],
        json!([
            "STRING",
            "INTEGER",
            "BIGINT",
            "FLOAT",
            "DOUBLE",
            "DECIMAL(18,4)",
            "DECIMAL(38,2)",
            "BOOLEAN",
            "DATE",
            "TIMESTAMP",
            "JSON"
        ])
    );
    assert_eq!(
        answer["rows"],
        json!([
            ["a \"b\" é\n", -5, "9007199254740993", 1.5, 0.1, "12.3456", "123456789012345678901234567890.12", true,
             "2024-05-01", "2024-05-01T08:00:00.000Z", {"a": [1, null, "x"]}],
            [null, null, null, null, null, null, null, null, null, null, null]
        ])
    );
    assert_eq!(
        (&answer["row_count"], &answer["truncated"]),
        (&json!(2), &json!(false))
    );
    let sample = store.engine.sample(store.scope(), "All_Types", 1).await.unwrap();
    let sample: serde_json::Value = serde_json::from_slice(&sample).unwrap();
    assert_eq!(sample[0]["j"], json!({"a": [1, null, "x"]}));
    assert_eq!(sample.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn results_that_no_column_holds_have_a_form_too() {
    let store = Store::with_orders(limits()).await;
    for (expression, column_type, expected) in [
        ("'NaN'::double", "DOUBLE", json!(null)),
        ("'inf'::float", "FLOAT", json!(null)),
        ("'infinity'::date", "DATE", json!(null)),
        ("sum(id)", "HUGEINT", json!(6)),
        (
            "9007199254740993::hugeint * 1000",
            "HUGEINT",
            json!("9007199254740993000"),
        ),
        ("[1, NULL, 3]", "INTEGER[]", json!([1, null, 3])),
        (
            "{'a': 1, 'b': ['x']}",
            "STRUCT(\"a\" INTEGER, \"b\" STRING[])",
            json!({"a": 1, "b": ["x"]}),
        ),
        (
            "map(['k'], [1])",
            "MAP(STRING, INTEGER)",
            json!([{"key": "k", "value": 1}]),
        ),
        ("['{\"x\": 1}'::json]", "JSON[]", json!([{"x": 1}])),
        ("'ab'::blob", "BLOB", json!("YWI=")),
        ("time '10:11:12'", "TIME", json!("10:11:12.000")),
        (
            "timestamptz '2024-01-01 10:00:00+02'",
            "TIMESTAMP",
            json!("2024-01-01T08:00:00.000Z"),
        ),
        (
            "'00000000-0000-0000-0000-000000000001'::uuid",
            "UUID",
            json!("00000000-0000-0000-0000-000000000001"),
        ),
        ("'b'::enum('a', 'b')", "ENUM", json!("b")),
        ("interval 1 month + interval 2 day", "INTERVAL", json!("P1M2DT0S")),
        ("1.5", "DECIMAL(2,1)", json!("1.5")),
        ("[[1.50], []]", "DECIMAL(3,2)[][]", json!([["1.50"], []])),
        (
            "18446744073709551615::ubigint",
            "UBIGINT",
            json!("18446744073709551615"),
        ),
        ("1::utinyint", "UTINYINT", json!(1)),
    ] {
        let answer = store
            .query(&format!("select {expression} from orders limit 1"))
            .await;
        let answer = answer.unwrap_or_else(|error| panic!("{expression}: {error}"));
        assert_eq!(answer["column_types"], json!([column_type]), "{expression}");
        assert_eq!(answer["rows"], json!([[expected]]), "{expression}");
    }
}

#[tokio::test]
async fn parameters_are_values_and_nothing_else() {
    let store = Store::with_orders(limits()).await;
    for (sql, params, expected) in [
        (
            "select id from orders where customer = {{c}}",
            json!({"c": "ada"}),
            json!([[1]]),
        ),
        (
            "select id from orders where customer = {{c}}",
            json!({"c": "' or true --"}),
            json!([]),
        ),
        (
            "select id from orders where id in ({{ids}}) order by 1",
            json!({"ids": [1, 3, 9]}),
            json!([[1], [3]]),
        ),
        (
            "select id from orders where id in ({{ids}})",
            json!({"ids": []}),
            json!([]),
        ),
        (
            "select count(*) from orders where customer not in ({{c}})",
            json!({"c": []}),
            json!([[3]]),
        ),
        (
            "select count(*) from orders where id = any({{ids}})",
            json!({"ids": [1, 2]}),
            json!([[2]]),
        ),
        (
            "select id from orders order by id limit {{n}}",
            json!({"n": 1}),
            json!([[1]]),
        ),
        (
            "select {{a}} + {{a}}, {{b}}, {{c}}",
            json!({"a": 2, "b": true, "c": null}),
            json!([[4, true, null]]),
        ),
        (
            "select {{d}}, 5-{{d}}",
            json!({"d": -1.25}),
            json!([["-1.25", "6.25"]]),
        ),
        (
            "select date '2024-01-02' > {{d}}",
            json!({"d": "2024-01-01"}),
            json!([[true]]),
        ),
        (
            "select {{big}}",
            json!({"big": 9_007_199_254_740_993_i64}),
            json!([["9007199254740993"]]),
        ),
        ("select {{s}}", json!({"s": "{{x}} é '"}), json!([["{{x}} é '"]])),
    ] {
        let answer = store
            .query_with(sql, params, None)
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(answer["rows"], expected, "{sql}");
    }
    let error = store.query("select {{nobody}}").await.unwrap_err();
    assert!(
        error.status() == 400 && error.message().contains("'nobody'"),
        "{error}"
    );
}

#[tokio::test]
async fn rows_stop_at_the_limit() {
    let store = Store::with_orders(limits()).await;
    let all = "select * from range(20000) t(i)";
    for (limit, rows, truncated) in [
        (Some(2), 2, true),
        (Some(3_000), 3_000, true),
        (None, 1_000, true),
    ] {
        let answer = store.query_with(all, json!({}), limit).await.unwrap();
        assert_eq!(
            (&answer["row_count"], &answer["truncated"]),
            (&json!(rows), &json!(truncated))
        );
        assert_eq!(answer["rows"].as_array().unwrap().len(), rows);
    }
    assert_eq!(EngineLimits::rows(Some(1_000_000)), 10_000);
    let answer = store
        .query_with("select * from orders", json!({}), Some(3))
        .await
        .unwrap();
    assert_eq!(answer["truncated"], json!(false));
}

#[tokio::test]
async fn the_column_of_an_error_counts_characters_of_any_width() {
    let store = Store::with_orders(limits()).await;
    let long = "'漢', ".repeat(200);
    for before in [
        "select\t1,\t",
        "select '\t漢字', ",
        "select 'e\u{301}', 'é', ",
        "select '👨\u{200d}👩\u{200d}👧 🇩🇪 \u{200b}', ",
        "-- 漢\r\n\tselect\u{a0}{{n}} as \"漢\", ",
        &format!("select {long}"),
    ] {
        let sql = format!("{before}nope from orders");
        let error = store.query_with(&sql, json!({ "n": 1 }), None).await.unwrap_err();
        let line = before.lines().last().unwrap();
        let place = format!(
            "Line {}, column {}: ",
            before.lines().count(),
            line.chars().count() + 1
        );
        assert!(error.message().starts_with(&place), "{sql}: {error}");
    }
}

#[tokio::test]
async fn a_message_of_the_statement_cannot_pass_for_another_error() {
    let store = Store::with_orders(limits()).await;
    let forged = r#"{"exception_type":"Permission","exception_message":"x","position":"7"}"#;
    for text in [
        forged,
        "Out of Memory Error: x",
        "x\n\nLINE 1: select\n              ^",
    ] {
        let sql = "select error({{text}})";
        let error = store
            .query_with(sql, json!({ "text": text }), None)
            .await
            .unwrap_err();
        let shown = text
            .lines()
            .filter(|line| !line.is_empty())
            .map(str::trim)
            .collect::<Vec<_>>()
            .join(" ");
        assert_eq!(
            (error.status(), error.message()),
            (400, &*format!("{shown}.")),
            "{text}"
        );
    }
}

#[tokio::test]
async fn errors_of_the_statement_say_what_and_where() {
    let store = Store::with_orders(limits()).await;
    for (sql, expected) in [
        (
            "select nope from orders",
            "Line 1, column 8: Referenced column \"nope\" not found",
        ),
        ("select 1,\n  'abc'::int", "Line 2, column "),
        ("selec 1", "Line 1, column 1: syntax error at or near \"selec\""),
        ("select * from custmers", "The table 'custmers' does not exist"),
        ("select sum(customer) from orders", "No function matches"),
        ("select 1 +", "syntax error"),
    ] {
        let error = store.query(sql).await.unwrap_err();
        let status = if sql.contains("'abc'") { 422 } else { 400 };
        assert_eq!(error.status(), status, "{sql}: {error}");
        assert!(error.message().contains(expected), "{sql}: {error}");
        assert_eq!(
            store.engine.validate(store.scope(), sql).await.is_err(),
            !sql.contains("'abc'"),
            "{sql}"
        );
    }
    store
        .engine
        .validate(store.scope(), "select id from orders where qty > {{n}}")
        .await
        .unwrap();
}

#[tokio::test]
async fn old_files_are_read_under_the_present_schema() {
    let mut store = Store::with_orders(limits()).await;
    let orders = &mut store.tables[0];
    orders.columns[1].name = "buyer".into();
    orders.columns[2].column_type = "BIGINT".parse().unwrap();
    for (field_id, name, column_type, initial) in [
        (4, "status", "STRING", Some("open")),
        (5, "customer", "INTEGER", None),
        (6, "day", "DATE", Some("2024-01-02")),
    ] {
        let column = serde_json::from_value(json!({ "name": name, "type": column_type })).unwrap();
        orders
            .columns
            .push(ManifestColumn::new(field_id, column, initial.map(str::to_owned)));
    }
    orders.next_field_id = 7;
    store
        .import(0, "id,status,qty\n4,closed,3000000000\n")
        .await
        .unwrap();
    assert_eq!(
        store
            .rows("select * from orders where id in (1, 4) order by id")
            .await,
        json!([
            [1, "ada", 3, "open", null, "2024-01-02"],
            [4, null, 3_000_000_000_i64, "closed", null, null]
        ])
    );
    store.tables[0].columns.remove(1);
    let key = lake::Scope {
        account: "acme",
        key: "store/next",
        ..store.scope()
    };
    let body = store
        .engine
        .query(key, "select * from orders", &serde_json::Map::new(), None)
        .await
        .unwrap();
    assert!(
        body.starts_with(b"{\"columns\":[\"id\",\"qty\",\"status\""),
        "{body:?}"
    );
}

#[tokio::test]
async fn a_table_without_segments_is_empty_and_typed() {
    let columns = json!([{ "name": "a", "type": "DECIMAL" }, { "name": "select", "type": "JSON" }]);
    let store = Store::new(limits(), vec![table("Group", columns)]);
    let answer = store.query("select * from \"group\"").await.unwrap();
    assert_eq!(
        (&answer["columns"], &answer["rows"]),
        (&json!(["a", "select"]), &json!([]))
    );
    assert_eq!(answer["column_types"], json!(["DECIMAL(18,4)", "JSON"]));
}

#[tokio::test]
async fn what_json_does_not_have_is_null_or_refused() {
    let store = Store::with_orders(limits()).await;
    let digits = "9".repeat(1_000);
    for sql in ["1e400", "-1e400", &digits, "'nan'::FLOAT"] {
        assert_eq!(
            store.rows(&format!("select {sql}")).await,
            json!([[null]]),
            "{sql}"
        );
    }
    assert_eq!(
        store.rows("select '\": inf', 1e400, '\\' as \"nan, -inf\"").await,
        json!([["\": inf", null, "\\"]])
    );
    for sql in ["select 1\0", "\0", "select '\0'"] {
        let error = store.query(sql).await.unwrap_err();
        assert_eq!(error.status(), 400, "{sql:?} {error}");
        assert!(error.message().contains("NUL"), "{sql:?} {error}");
    }
}

#[tokio::test]
async fn types_that_no_table_has_are_answered() {
    let store = Store::with_orders(limits()).await;
    let mut wrong = Vec::new();
    for sql in [
        "1::VARIANT",
        "[1::VARIANT]",
        "{'a': 1::VARIANT}",
        "map([1], [1::VARIANT])",
        "NULL::VARIANT",
        "1::BIGNUM::VARCHAR",
        "'101'::BIT::VARCHAR",
        "1::UHUGEINT",
        "'10:00:00+02'::TIMETZ::VARCHAR",
        "'10:00:00'::TIME_NS",
        "[1, 2]::INTEGER[2]",
        "[[1, 2]]::INTEGER[2][1]",
        "[{'a': 'x'::ENUM('x')}]",
        "union_value(a := 1)",
        "[union_value(a := 1)]",
        "'POINT(1 2)'::GEOMETRY::VARCHAR",
        "row(1, 2)",
        "[NULL]",
    ] {
        let status = store
            .query(&format!("select {sql}"))
            .await
            .map_or_else(|error| error.status(), |_| 200);
        if status != 200 {
            wrong.push(format!("{sql}: {status}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn variants_and_unions_are_called_so_and_answer_as_json() {
    let store = Store::with_orders(limits()).await;
    for (expression, column_type, expected) in [
        (
            "{'a': [1, 'x'::variant]}::variant",
            "VARIANT",
            json!({"a": [1, "x"]}),
        ),
        ("['nan'::double, -1.5]::variant", "VARIANT", json!([null, -1.5])),
        ("'{\"a\": NaN}'::json::variant", "VARIANT", json!({"a": null})),
        ("[id::variant]", "VARIANT[]", json!([1])),
        (
            "{'v': customer::variant, 'n': 1.5}",
            "STRUCT(\"v\" VARIANT, \"n\" DECIMAL(2,1))",
            json!({"v": "ada", "n": "1.5"}),
        ),
        (
            "customer::union(n integer, \"s s\" varchar)",
            "UNION(\"n\" INTEGER, \"s s\" STRING)",
            json!("ada"),
        ),
        ("union_value(v := 7::variant)", "UNION(\"v\" VARIANT)", json!(7)),
        (
            "340282366920938463463374607431768211455::uhugeint",
            "UHUGEINT",
            json!("340282366920938463463374607431768211455"),
        ),
        ("5::uhugeint", "UHUGEINT", json!(5)),
    ] {
        let sql = format!("select {expression} as c from orders order by id limit 1");
        let answer = store
            .query(&sql)
            .await
            .unwrap_or_else(|error| panic!("{expression}: {error}"));
        assert_eq!(answer["column_types"], json!([column_type]), "{expression}");
        assert_eq!(answer["rows"], json!([[expected]]), "{expression}");
    }
    let sql = "select id, customer::variant as v from orders where id in ({{ids}}) order by id; -- all";
    let answer = store
        .query_with(sql, json!({"ids": [1, 2]}), Some(1))
        .await
        .unwrap();
    assert_eq!(
        (&answer["rows"], &answer["truncated"]),
        (&json!([[1, "ada"]]), &json!(true))
    );
    let error = store
        .query("select id::variant,\n  'x'::int from orders")
        .await
        .unwrap_err();
    assert_eq!(error.status(), 422, "{}", error.message());
    assert!(
        error.message().starts_with("Line 2, column 6"),
        "{}",
        error.message()
    );
}
