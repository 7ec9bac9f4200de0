//! Tests the steps of a statement and the formats of its answer.

use std::time::Duration;

use arrow::array::{Array as _, Int64Array, StringArray};
use lake::{Answer, Format};
use platform::Result;
use platform::error::Place;
use serde_json::{Map, Value, json};

use crate::fixture::{Store, limits, table};

async fn answer(store: &Store, sql: &str, format: Format, limit: usize, bytes: usize) -> Result<Answer> {
    let mut session = store.engine.open(store.scope(), Duration::from_secs(20)).await?;
    let plan = session.plan(sql, Some(&Map::new())).await?;
    session.query(&plan, limit, format, bytes).await
}

async fn csv(store: &Store, sql: &str) -> String {
    let answer = answer(store, sql, Format::Csv, 10, 1_000_000).await;
    let answer = answer.unwrap_or_else(|error| panic!("{sql}: {error}"));
    String::from_utf8(answer.body.to_vec()).unwrap()
}

#[tokio::test]
async fn csv_is_that_of_rfc_4180() {
    let store = Store::with_orders(limits()).await;
    for (sql, text) in [
        (
            "select * from orders order by id",
            "id,customer,qty\r\n1,ada,3\r\n2,bob,\r\n3,,5\r\n",
        ),
        ("select id from orders where false", "id\r\n"),
        (
            "select '' as e, NULL as n, 'null' as t",
            "e,n,t\r\n\"\",,null\r\n",
        ),
        (
            "select 'a,b' as \"x,\"\"y\"\"\", 'say \"hi\"' as q, e'1\\r\\n2' as l",
            "\"x,\"\"y\"\"\",q,l\r\n\"a,b\",\"say \"\"hi\"\"\",\"1\r\n2\"\r\n",
        ),
        (
            "select true, 1.50, 9007199254740993, date '2024-05-01', timestamp '2024-05-01 01:02:03', 'nan'::double",
            "CAST('t' AS BOOLEAN),1.50,9007199254740993,CAST('2024-05-01' AS DATE),CAST('2024-05-01 01:02:03' AS TIMESTAMP),\
             CAST('nan' AS DOUBLE)\r\ntrue,1.50,9007199254740993,2024-05-01,2024-05-01T01:02:03.000Z,\r\n",
        ),
        (
            "select [1, 2] as l, {'a': 'x'} as s, '\"j\"'::json as j, 'ab'::blob as b",
            "l,s,j,b\r\n\"[1,2]\",\"{\"\"a\"\":\"\"x\"\"}\",\"\"\"j\"\"\",YWI=\r\n",
        ),
    ] {
        let found = csv(&store, sql).await;
        let rows = |text: &str| text.split_once("\r\n").map(|(_, rows)| rows.to_owned());
        // DuckDB names expressions in its own way.
        if sql.contains("1.50") {
            assert_eq!(rows(&found), rows(text), "{sql}");
        } else {
            assert_eq!(found, text, "{sql}");
        }
    }
}

#[tokio::test]
async fn an_arrow_stream_holds_the_rows_and_their_types() {
    let store = Store::with_orders(limits()).await;
    let sql = "select i, case when i % 2 = 0 then 'even' end as t, ['a'] as l, 'x'::enum('x', 'y') as e, 1.5 as d \
               from range(5000) r(i) order by i";
    let answer = answer(&store, sql, Format::Arrow, 3_000, 10_000_000)
        .await
        .unwrap();
    assert_eq!((answer.row_count, answer.is_truncated), (3_000, true));
    let reader = arrow::ipc::reader::StreamReader::try_new(answer.body.as_ref(), None).unwrap();
    let names: Vec<_> = reader
        .schema()
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect();
    assert_eq!(names, ["i", "t", "l", "e", "d"]);
    let (mut rows, mut sum, mut even) = (0, 0, 0);
    for batch in reader {
        let batch = batch.unwrap();
        rows += batch.num_rows();
        let numbers = batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap();
        sum += numbers.values().iter().sum::<i64>();
        let texts = batch.column(1).as_any().downcast_ref::<StringArray>().unwrap();
        even += texts.len() - texts.null_count();
    }
    assert_eq!((rows, sum, even), (3_000, 2_999 * 3_000 / 2, 1_500));
    let empty = self::answer(
        &store,
        "select id from orders where false",
        Format::Arrow,
        10,
        10_000,
    );
    let empty = empty.await.unwrap();
    let reader = arrow::ipc::reader::StreamReader::try_new(empty.body.as_ref(), None).unwrap();
    assert_eq!((reader.schema().fields().len(), reader.count()), (1, 0));
}

#[tokio::test]
async fn an_arrow_stream_has_no_unsigned_huge_integers() {
    let store = Store::with_orders(limits()).await;
    for sql in ["select 1::UHUGEINT as u", "select [{'a': 1::UHUGEINT}] as u"] {
        let error = answer(&store, sql, Format::Arrow, 10, 10_000).await.unwrap_err();
        assert_eq!(error.status(), 422, "{error}");
        assert!(
            error.message().contains("'u'") && error.message().contains("UHUGEINT"),
            "{error}"
        );
        answer(&store, sql, Format::Json, 10, 10_000).await.unwrap();
    }
}

#[tokio::test]
async fn no_form_outgrows_its_bound() {
    let store = Store::with_orders(limits()).await;
    let sql = "select repeat('x', 1000) as t from range(1000)";
    for format in [Format::Json, Format::Csv, Format::Arrow] {
        let error = answer(&store, sql, format, 1_000, 500_000).await.unwrap_err();
        assert_eq!(error.status(), 422, "{format:?}: {error}");
        assert!(error.message().contains("0.5 MB"), "{format:?}: {error}");
        let whole = answer(&store, sql, format, 1_000, 5_000_000).await.unwrap();
        assert_eq!(
            (whole.row_count, whole.is_truncated),
            (1_000, false),
            "{format:?}"
        );
    }
}

/// DuckDB returns 2,048 rows per batch.
#[tokio::test]
async fn a_result_of_many_batches_is_whole_and_in_order() {
    let store = Store::with_orders(limits()).await;
    for rows in [2_047, 2_048, 2_049, 4_096, 9_999, 30_000] {
        let sql = format!("select i, {{'j': [i]}} as s from range({rows}) r(i) order by i");
        let json = answer(&store, &sql, Format::Json, rows, 10_000_000)
            .await
            .unwrap();
        assert_eq!((json.row_count, json.is_truncated), (rows as u64, false));
        let body: Value = serde_json::from_slice(&json.body).unwrap();
        let expected: Vec<_> = (0..rows).map(|i| json!([i, { "j": [i] }])).collect();
        assert_eq!(body["rows"], Value::from(expected), "{rows}");
        let cut = answer(&store, &sql, Format::Csv, rows - 1, 10_000_000)
            .await
            .unwrap();
        assert_eq!((cut.row_count, cut.is_truncated), (rows as u64 - 1, true));
        let text = String::from_utf8(cut.body.to_vec()).unwrap();
        assert!(text.ends_with(&format!("\r\n{0},\"{{\"\"j\"\":[{0}]}}\"\r\n", rows - 2)));
    }
}

#[tokio::test]
async fn what_goes_wrong_late_in_a_result_is_told() {
    let store = Store::with_orders(limits()).await;
    let late = "select case when i = 25000 then error('late') else i end from range(30000) r(i)";
    let error = answer(&store, late, Format::Json, 30_000, 10_000_000)
        .await
        .unwrap_err();
    assert_eq!(error.status(), 400, "{error}");
    assert!(error.message().contains("late"), "{error}");
    let large = "select case when i > 25000 then repeat('x', 1000) end from range(30000) r(i)";
    let error = answer(&store, large, Format::Json, 30_000, 1_000_000)
        .await
        .unwrap_err();
    assert_eq!(error.status(), 422, "{error}");
    store.probe().await;
}

#[tokio::test]
async fn a_deep_type_is_written_in_every_row() {
    let store = Store::with_orders(limits()).await;
    let depth = 100;
    let deep = format!("{}i{}", "[".repeat(depth), "]".repeat(depth));
    let sql = format!("select {deep} from range(2100) r(i) order by i");
    let json = answer(&store, &sql, Format::Json, 5_000, 10_000_000)
        .await
        .unwrap();
    let text = String::from_utf8(json.body.to_vec()).unwrap();
    let last = format!("[{}2099{}]", "[".repeat(depth), "]".repeat(depth));
    assert!(text.contains(&last) && json.row_count == 2_100);
}

#[tokio::test]
async fn only_the_files_of_named_tables_must_be_there() {
    let columns = json!([{ "name": "id", "type": "INTEGER" }]);
    let mut store = Store::new(limits(), vec![table("a", columns.clone()), table("b", columns)]);
    store.tables[1].table_id = 2;
    store.import(0, "id\n1\n").await.unwrap();
    store.import(1, "id\n2\n").await.unwrap();
    let file = store.files["segment-1"].clone();
    let elsewhere = store.directory.path().join("elsewhere");
    std::fs::rename(&file, &elsewhere).unwrap();
    assert_eq!(store.rows("select * from a").await, json!([[1]]));
    store
        .engine
        .validate(store.scope(), "select id from b")
        .await
        .unwrap();
    let warm = store.engine.idle_children();
    // Moved later, like a fetched file, for the same child.
    std::fs::rename(&elsewhere, &file).unwrap();
    assert_eq!(store.rows("select * from b").await, json!([[2]]));
    assert_eq!(store.rows("select a.id, b.id from a, b").await, json!([[1, 2]]));
    assert_eq!(store.engine.idle_children(), warm);
    // A check reads no files, not even those of tables that were read before.
    std::fs::remove_file(&file).unwrap();
    store
        .engine
        .validate(store.scope(), "select id from b")
        .await
        .unwrap();
    let error = store
        .engine
        .validate(store.scope(), "select nope from b")
        .await
        .unwrap_err();
    assert!(error.message().contains("nope"), "{error}");
    assert_eq!(store.rows("select * from a").await, json!([[1]]));
}

#[tokio::test]
async fn a_plan_says_what_the_statement_needs() {
    let store = Store::with_orders(limits()).await;
    let mut session = store
        .engine
        .open(store.scope(), Duration::from_secs(20))
        .await
        .unwrap();
    let plan = session.plan("select 1", Some(&Map::new())).await.unwrap();
    assert!(plan.tables.is_empty() && !plan.is_volatile);
    let plan = session
        .plan("select now() from ORDERS", Some(&Map::new()))
        .await
        .unwrap();
    assert_eq!(plan.tables.len(), 1);
    assert!(plan.is_volatile);
    // A plan can be run only once.
    session
        .query(&plan, 1_000, Format::Json, 1_000_000)
        .await
        .unwrap();
    let error = session
        .query(&plan, 1_000, Format::Json, 1_000_000)
        .await
        .unwrap_err();
    assert_eq!(error.status(), 500, "{error}");
    drop(session);
    store.probe().await;
}

#[tokio::test]
async fn a_session_ends_when_its_time_is_over() {
    let store = Store::with_orders(limits()).await;
    store.probe().await;
    let mut session = store
        .engine
        .open(store.scope(), Duration::from_millis(300))
        .await
        .unwrap();
    let sql = "select count(*) from range(100000000) a, range(100000) b where a.range + b.range = 3";
    let plan = session.plan(sql, Some(&Map::new())).await.unwrap();
    let error = session
        .query(&plan, 1_000, Format::Json, 1_000)
        .await
        .unwrap_err();
    assert_eq!(error.status(), 408, "{error}");
    assert!(error.message().contains("0.3 seconds"), "{error}");
    let error = session.plan("select 1", None).await.err().unwrap();
    assert_eq!(error.status(), 408, "{error}");
    drop(session);
    store.probe().await;
}

#[tokio::test]
async fn an_error_of_a_statement_knows_its_place() {
    let store = Store::with_orders(limits()).await;
    for (sql, line, column) in [
        ("selec 1", 1, 1),
        ("select 1,\n  nope\nfrom orders", 2, 3),
        ("select 'é', {{a}}, nope from orders", 1, 20),
        ("select {{a}}, o.nope from orders o where {{a}} = 'x'", 1, 15),
        ("select * from nothing", 1, 15),
        ("select $1", 1, 8),
        ("select nofunction(1)", 1, 8),
    ] {
        let error = store.engine.validate(store.scope(), sql).await.unwrap_err();
        assert_eq!(error.place(), Some(Place { line, column }), "{sql}: {error}");
    }
    for sql in [
        "select quantile_cont(qty, {{q}}) from orders limit {{n}}",
        "select {'a': 1}[{{key}}], unnest({{list}}), {{x}} + {{y}}, upper({{x}})",
        "select * from orders where id in ({{ids}}) and customer = any({{names}}) or qty between {{a}} and {{b}}",
        "select * from range({{n}}), generate_series({{a}}, {{b}})",
        "select date_trunc({{part}}, date '2024-01-01'), strftime(now(), {{form}}), list_sort([1], {{order}})",
        "select {{x}}, count(*) from orders group by 1 having count(*) > {{n}}",
    ] {
        let valid = store.engine.validate(store.scope(), sql).await;
        assert!(valid.is_ok(), "{sql}: {}", valid.unwrap_err());
    }
    let error = store.engine.validate(store.scope(), "").await.unwrap_err();
    assert_eq!(error.place(), None, "{error}");
}
