//! Tests methods, DESCRIBE, SUMMARIZE, PIVOT without a list, USING KEY and VARIANT: parameters, limits and
//! errors.

use std::time::Duration;

use lake::EngineLimits;
use serde_json::{Map, Value, json};

use crate::fixture::{Store, limits};

#[tokio::test]
async fn parameters_are_values_in_each_form() {
    let store = Store::with_orders(limits()).await;
    for (sql, params, expected) in [
        (
            "describe select {{a}}::varchar as a, id from orders where id = {{b}}",
            json!({"a": "x", "b": 1}),
            json!([
                ["a", "VARCHAR", "YES", null, null, null],
                ["id", "BIGINT", "YES", null, null, null]
            ]),
        ),
        (
            "select column_name, min, max, count from (summarize select qty from orders where id <> {{b}})",
            json!({"b": 1}),
            json!([["qty", "5", "5", 2]]),
        ),
        (
            "select customer.concat({{a}}) from orders where customer.length() > {{b}} order by id",
            json!({"a": "!", "b": 2}),
            json!([["ada!"], ["bob!"]]),
        ),
        (
            "pivot (select * from orders where id in ({{b}})) on customer || {{a}} using sum(qty + {{c}}) group by id order by id",
            json!({"a": "'", "b": [1, 2], "c": 0.5}),
            json!([[1, "3.5", null], [2, null, null]]),
        ),
        (
            "pivot orders on customer in (select unnest({{a}})) using sum(id) group by {{b}}",
            json!({"a": ["bob", "o'brien"], "b": "x"}),
            json!(null),
        ),
        (
            "pivot orders on customer in (select unnest({{a}})) using sum(id) group by qty order by qty",
            json!({"a": ["bob", "o'brien", "bob"]}),
            json!([[3, null, null], [5, null, null], [null, 2, null]]),
        ),
        (
            "with recursive t(k, v) using key (k) as (select {{a}}, 1 union select k, v + 1 from recurring.t where v < {{b}}) \
             select * from t",
            json!({"a": "x", "b": 4}),
            json!([["x", 4]]),
        ),
        (
            "select {{a}}::variant as a, union_value(u := {{b}}::varchar) as b",
            json!({"a": "x", "b": "y"}),
            json!([["x", "y"]]),
        ),
    ] {
        match store.query_with(sql, params, None).await {
            Ok(answer) => assert_eq!(answer["rows"], expected, "{sql}"),
            Err(error) => assert!(
                error.status() == 400 && expected.is_null(),
                "{sql}: {}",
                error.message()
            ),
        }
    }
}

#[tokio::test]
async fn the_columns_of_a_pivot_are_called_after_the_values() {
    let store = Store::with_orders(limits()).await;
    let strange = r#"pivot (select unnest(['a"b', ' ', 'ö', 'x''); drop view orders; --']) as k, 1 as v) on k using sum(v)"#;
    let answer = store.query(strange).await.unwrap();
    assert_eq!(
        answer["columns"],
        json!([" ", "a\"b", "x'); drop view orders; --", "ö"])
    );
    assert_eq!(answer["rows"], json!([[1, 1, 1, 1]]));
    // The next statement does not see the values of this one.
    let none = store
        .query("pivot (select * from orders where false) on customer using sum(qty) group by id")
        .await;
    assert_eq!(none.unwrap()["columns"], json!(["id"]));
    let named = "select pivot_values_0_0 from (pivot (select 'pivot_values_0_0' as k) on k using count(*))";
    assert_eq!(store.rows(named).await, json!([[1]]));
    store.probe().await;
}

#[tokio::test]
async fn errors_in_a_pivot_say_where() {
    let store = Store::with_orders(limits()).await;
    for (sql, status, expected) in [
        ("pivot orders\non nope using sum(qty)", 400, "\"nope\" not found"),
        (
            "pivot orders on customer\nusing sum(nope)",
            400,
            "Line 2, column 11: Referenced column \"nope\"",
        ),
        (
            "pivot orders on customer, id\nusing summ(qty)",
            400,
            "Line 2, column 7: The function 'summ'",
        ),
        (
            "pivot orders on customer in (select id, qty from orders) using sum(qty)",
            400,
            "one column",
        ),
        (
            "pivot orders on customer in (select nope from orders) using sum(qty)",
            400,
            "nope",
        ),
        (
            "pivot orders on customer in some_type using sum(qty)",
            400,
            "not from a type",
        ),
        ("pivot orders on customer using", 400, "syntax error"),
        ("pivot orders on (select 1) using sum(qty)", 400, ""),
        (
            "select * from orders o, lateral (pivot (select o.id as k) on k)",
            400,
            "o",
        ),
        (
            "with recursive r(i) as (select 1 union all select i from (pivot r on i)) from r",
            400,
            "list them",
        ),
        ("pivot (select 'a' || chr(0) as k) on k", 422, "NUL"),
        (
            "pivot orders on customer in (select ada from (pivot orders on customer, qty)), qty using sum(id)",
            400,
            "own PIVOTs",
        ),
        (
            "pivot (select range as k from range(10001)) on k",
            422,
            "10000 values",
        ),
        (
            "pivot (select (range // (range - 3))::varchar::date as k from range(5)) on k",
            422,
            "date",
        ),
        (
            "pivot (select range a, range b from range(400)) on a, b",
            400,
            "limit",
        ),
    ] {
        let error = store.query(sql).await.expect_err(sql);
        assert_eq!(error.status(), status, "{sql}: {}", error.message());
        assert!(error.message().contains(expected), "{sql}: {}", error.message());
        assert!(!error.message().contains("SET"), "{sql}: {}", error.message());
    }
    store.probe().await;
}

#[tokio::test]
async fn pivots_beyond_the_limit_are_refused() {
    let store = Store::with_orders(limits()).await;
    let many = |count: usize| vec!["(pivot orders on customer using sum(qty))"; count].join(", ");
    let answered = store
        .query(&format!("select count(*) from {}", many(5)))
        .await
        .unwrap();
    assert_eq!(answered["rows"], json!([[243]]));
    let columns = vec!["1 as pivot"; 100_000].join(", ");
    let names = (0..100).map(|number| format!("'pivot_values_{number}_'"));
    let names = names.collect::<Vec<_>>().join(", ");
    for sql in [
        format!("select 1 from {}", many(101)),
        format!("insert into orders select {columns}"),
        format!("pivot orders on customer in ({names}), id"),
    ] {
        let error = store.query(&sql).await.unwrap_err();
        assert_eq!(error.status(), 400, "{}", error.message());
    }
    store.probe().await;
}

#[tokio::test]
async fn each_form_can_be_validated() {
    let store = Store::with_orders(limits()).await;
    for (sql, expected) in [
        ("describe orders", None),
        ("summarize select id from orders where qty > {{n}}", None),
        ("select customer.lower() from orders", None),
        ("pivot orders on customer using sum(qty)", None),
        // Columns named after data are known only from the rows.
        ("select ada from (pivot orders on customer using sum(qty))", None),
        ("pivot orders on customer || {{a}} using sum(qty)", None),
        ("select 1::variant", None),
        (
            "with recursive t(k) using key (k) as (select 1 union select k from recurring.t where k < 0) from t",
            None,
        ),
        ("describe ordrs", Some("'ordrs' does not exist")),
        (
            "select customer.lowr() from orders",
            Some("'lowr' does not exist"),
        ),
        ("select custmer.lower() from orders", Some("custmer")),
        (
            "pivot orders on customer using sum(customer)",
            Some("sum(VARCHAR)"),
        ),
        ("pivot orders on", Some("syntax error")),
        ("select * from recurring.orders", Some("with a schema")),
    ] {
        let validated = store.engine.validate(store.scope(), sql).await;
        match (validated, expected) {
            (Ok(()), None) => {}
            (Err(error), Some(expected)) => {
                assert!(
                    error.status() == 400 && error.message().contains(expected),
                    "{sql}: {}",
                    error.message()
                );
            }
            (result, _) => panic!("{sql}: {result:?}"),
        }
    }
}

#[tokio::test]
async fn the_columns_of_each_form_are_known_without_its_rows_or_not_at_all() {
    let store = Store::with_orders(limits()).await;
    let describe = async |sql: &str| {
        let mut session = store.engine.open(store.scope(), Duration::from_secs(20)).await?;
        let plan = session.plan(sql, Some(&Map::new())).await?;
        let columns = session.describe(&plan).await?;
        let columns = columns
            .into_iter()
            .map(|column| json!([column.name, column.column_type]));
        Ok::<Value, platform::Error>(columns.collect())
    };
    for (sql, expected) in [
        (
            "select customer.length() as n from orders",
            json!([["n", "BIGINT"]]),
        ),
        (
            "select 1::variant as v, union_value(a := 'x') as u",
            json!([["v", "VARIANT"], ["u", "UNION(a VARCHAR)"]]),
        ),
        (
            "pivot orders on customer in ('ada') using sum(qty) group by id",
            json!([["id", "BIGINT"], ["ada", "HUGEINT"]]),
        ),
    ] {
        assert_eq!(describe(sql).await.unwrap(), expected, "{sql}");
    }
    for sql in [
        "describe orders",
        "SUMMARIZE orders;",
        " /* a */ show orders -- b",
    ] {
        let columns = describe(sql)
            .await
            .unwrap_or_else(|error| panic!("{sql}: {}", error.message()));
        assert_eq!(columns[0], json!(["column_name", "STRING"]), "{sql}");
    }
    let error = describe("pivot orders on customer").await.unwrap_err();
    assert!(
        error.status() == 400 && error.message().contains("list them"),
        "{error}"
    );
}

#[tokio::test]
async fn no_form_outlasts_the_deadline() {
    let store = Store::with_orders(EngineLimits {
        deadline: Duration::from_secs(2),
        ..limits()
    })
    .await;
    store.probe().await;
    for sql in [
        "with recursive t(k, v) using key (k) as (select 1, 1 union select k, v + 1 from recurring.t) select * from t",
        "with recursive t(k, v) using key (k) as (select 1, 1 union select k, v + 1 from t) select * from t",
        "pivot (select a.range % 7 as k from range(1000000000000) a, range(1000000) b) on k",
        "pivot orders on customer in (select max(a.range) from range(1000000000000) a, range(1000000) b) using sum(qty)",
        "summarize select a.range from range(1000000000000) a, range(1000000) b",
        "select (a.range.sqrt() + b.range)::bigint::variant from range(1000000000000) a, range(1000000) b where a.range < 0",
    ] {
        let error = store.query(sql).await.expect_err(sql);
        // A recursion may exhaust the memory first.
        assert!([408, 422].contains(&error.status()), "{sql}: {}", error.message());
        store.probe().await;
    }
}
