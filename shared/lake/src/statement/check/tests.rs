use duckdb::Connection;
use serde_json::Map;

use super::*;
use crate::statement::parameters::rewrite;

fn connection() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch("CREATE TABLE orders (id BIGINT, qty INTEGER, tags VARCHAR[], j JSON)")
        .unwrap();
    connection
}

fn checked(sql: &str) -> Result<Needs> {
    let rewritten = rewrite(sql, &Map::new())?;
    crate::query::preparation::check(
        &connection(),
        &["orders".to_owned(), "Customers".to_owned()],
        sql,
        &rewritten,
    )
}

fn refused(sql: &str) -> String {
    let error = checked(sql).expect_err(sql);
    assert_eq!(error.status(), 400, "{sql}");
    error.message().to_owned()
}

#[test]
fn plain_queries_pass() {
    for sql in [
        "select 1",
        "SELECT * FROM orders;",
        "from ORDERS select count(*)",
        "values (1, 'a')",
        "select * from orders o join customers using (id) where qty in (1, 2) and o.id between 1 and 2",
        "with a as (select 1 as x), b as (select x from a) select * from a, b",
        "with recursive r as (select 1 i union all select i + 1 from r where i < 5) select * from r",
        "with a as materialized (select 1) select * from a",
        "select (select max(id) from orders), exists (select 1 from orders)",
        "with a as (select 1 x) select (select x from a) from orders where exists (select 1 from a)",
        "select sum(qty) over (partition by id order by qty rows 1 preceding), row_number() over () from orders",
        "select count(*) filter (where qty > 1), quantile_cont(qty, 0.5) from orders group by all having count(*) > 1",
        "select list_transform(tags, x -> upper(x)), [y + 1 for y in range(3)], {'a': 1}.a from orders",
        "select unnest(tags), j->>'$.a', j->'b', qty::double, cast(id as varchar), try_cast(qty as date) from orders",
        "select * exclude (j), columns('q.*') from orders limit 10 offset 5",
        "select case when qty > 1 then 'a' else 'b' end, coalesce(qty, 0), qty is null, not true, -qty from orders",
        "select date_trunc('month', current_date), now() at time zone 'UTC', interval 1 day, extract(year from now())",
        "select * from range(10) t(i), generate_series(1, 3), unnest([1, 2]) u",
        "from (pivot orders on qty in (1, 2) using sum(id))",
        "unpivot (select id, qty from orders) on id, qty",
        "select * from orders tablesample 10%",
        "(select id from orders) union all by name (select id from customers) order by 1",
        "select distinct on (id) * from orders qualify row_number() over (partition by id) = 1",
        "select string_agg(j::varchar, ',' order by id), list(id), map([1], [2]), struct_pack(a := 1) from orders",
        "select 'a' like 'b%', 'a' ilike 'b', 'a' similar to 'b', regexp_matches('a', 'b'), 'a' || 'b', 'x' collate nocase",
        "select grouping_id(id), id, sum(qty) from orders group by rollup (id)",
        "select * from orders, lateral (select orders.id + 1) l",
        "select * from orders asof join customers on orders.id >= customers.id",
        "select if(true, 1, 2), ifnull(null, 1), greatest(1, 2), 5 % 2, 5 // 2, 2 ** 3, 1 << 2",
        "select uuid(), random(), hash(1), md5('a')",
        "select #1 from orders",
        "describe orders",
        "summarize select id from customers",
        "select column_name from (describe orders) join (summarize orders) using (column_name)",
        "select customers.name.lower().upper(), main.lower('A') from customers order by name.length()",
        "pivot orders on id using sum(qty)",
        "with p as (pivot orders on id, qty using sum(qty)) select * from p, (pivot customers on id in (select id from orders))",
        "with recursive t(a, b) using key (a) as (select 1, 2 union select r.a, 3 from recurring.t r) select * from t",
    ] {
        checked(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

#[test]
fn deep_expressions_are_checked_and_do_not_overflow() {
    let run = || {
        let sum = "1+".repeat(400) + "1";
        checked(&format!("select {sum}")).unwrap();
        let hidden = "1+".repeat(400) + "(select count(*) from duckdb_settings())";
        assert!(refused(&format!("select {hidden}")).contains("duckdb_settings"));
        assert!(!refused(&format!("select {}", "1+".repeat(3_000) + "1")).contains("SET"));
    };
    std::thread::Builder::new()
        .stack_size(64 * 1024 * 1024)
        .spawn(run)
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn other_statements_are_refused() {
    for sql in [
        "insert into orders values (1)",
        "drop table orders",
        "pragma version",
        "set threads = 1",
        "call x()",
    ] {
        assert!(refused(sql).starts_with("Only SELECT"), "{sql}");
    }
    assert!(refused("select 1; select 2").contains("there are 2"));
    assert!(refused(" -- nothing").contains("empty"));
    assert!(refused("show tables").contains("schema operation"));
}

#[test]
fn errors_say_where() {
    assert_eq!(
        refused("select *\nfrom ordrs"),
        "Line 2, column 6: The table 'ordrs' does not exist in this store; did you mean 'orders'?"
    );
    assert!(refused("select\n  frm x y z").starts_with("Line 2, column "));
    assert!(refused("select 1, read_text('x')").starts_with("Line 1, column 11: The function 'read_text'"));
}

#[test]
fn names_reach_neither_catalog_nor_files() {
    for sql in [
        "select * from main.orders",
        "select * from memory.main.orders",
        "select * from information_schema.tables",
        "select * from duckdb_tables",
        "select * from sqlite_master",
        "select * from pg_class",
        "select * from 'orders.csv'",
        "select * from a.b",
        "select (with z as (select 1) select 1), * from z",
        "with z as (select * from z) select * from z",
        "with recursive duckdb_settings as (select * from duckdb_settings union all select 1) select 1",
    ] {
        refused(sql);
    }
}

#[test]
fn every_function_of_the_linked_duckdb_was_looked_at() {
    let connection = Connection::open_in_memory().unwrap();
    let mut statement = connection
        .prepare(
            "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type IN ('scalar', 'aggregate', 'macro')",
        )
        .unwrap();
    let known: HashSet<&str> = include_str!("functions_refused.txt")
        .lines()
        .chain(FUNCTIONS.iter().copied())
        .collect();
    let names: Vec<String> = statement
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let new: Vec<_> = names
        .iter()
        .filter(|name| !known.contains(name.to_lowercase().as_str()))
        .collect();
    assert!(new.is_empty(), "neither allowed nor refused yet: {new:?}");
}

#[test]
fn the_catalogs_own_tables_have_reserved_names() {
    let connection = Connection::open_in_memory().unwrap();
    let mut statement = connection
        .prepare("SELECT view_name FROM duckdb_views() WHERE schema_name IN ('main', 'pg_catalog')")
        .unwrap();
    let names: Vec<String> = statement
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(!names.is_empty());
    for name in names {
        assert!(
            CATALOG_PREFIXES.iter().any(|prefix| name.starts_with(prefix)),
            "{name}"
        );
    }
}

#[test]
fn a_statement_needs_the_tables_that_it_names() {
    for (sql, tables) in [
        ("select 1", &[][..]),
        ("select * from ORDERS", &["orders"]),
        ("select 'orders', \"orders\" from (select 1 as orders)", &[]),
        ("with c as (select 1) select * from c", &[]),
        (
            "with c as (select * from customers) select * from c",
            &["Customers"],
        ),
        ("with orders as (select 1) select * from orders", &["orders"]),
        (
            "select (select max(id) from orders) from customers",
            &["Customers", "orders"],
        ),
        ("select 1 where exists (from customers)", &["Customers"]),
        ("select 1 union all select id from orders", &["orders"]),
        ("from (pivot orders on qty in (1, 2) using sum(id))", &["orders"]),
        ("select 1 in (select id from orders)", &["orders"]),
        ("select 1 limit (select count(*) from orders)", &["orders"]),
        (
            "select list_transform([1], x -> (select count(*) from orders))",
            &["orders"],
        ),
    ] {
        let needs = checked(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(needs.tables.iter().collect::<Vec<_>>(), tables, "{sql}");
        assert!(!needs.is_volatile, "{sql}");
    }
}

#[test]
fn chance_and_the_clock_are_noticed() {
    for sql in [
        "select random()",
        "select RANDOM()",
        "select uuid()",
        "select now()",
        "select current_date",
        "select CURRENT_TIMESTAMP",
        "select localtime",
        "select current_date()",
        "select age(timestamp '2020-01-01')",
        "select * from orders where id > (select random())",
        "with c as (select now() as n) select * from c",
        "select * from orders order by random()",
        "select * from orders using sample 3",
        "select * from orders tablesample 10%",
        "select * from (select * from orders tablesample 10%) s",
        "select sum(qty) over (order by uuid()) from orders",
        "select list_transform([1], x -> x + random())",
        "select * from orders join customers on random() > 0.5",
        "select 1 limit (select random() * 10)",
    ] {
        let needs = checked(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert!(needs.is_volatile, "{sql}");
    }
}

#[test]
fn a_method_is_checked_as_the_function_that_it_is() {
    let functions = [
        "getenv",
        "current_setting",
        "read_text",
        "query",
        "nextval",
        "sleep_ms",
        "Version",
    ];
    for function in functions {
        for before in [
            "customers.name",
            "name",
            "\"name\"",
            "name.lower()",
            "('a')",
            "[1].list_sum()",
        ] {
            let sql = format!("select 1 from customers where {before}.{function}(1) = 1");
            let message = refused(&sql);
            assert!(message.contains(&function.to_lowercase()), "{sql}: {message}");
        }
    }
    for qualifier in [
        "system",
        "temp",
        "memory.main",
        "native7",
        "Native7.main",
        "pg_catalog",
    ] {
        assert!(refused(&format!("select {qualifier}.lower('A')")).contains("with a schema"));
    }
    // A column's name may start with these names.
    checked("select native.lower(), native7x.lower(), temporary.lower() from orders").unwrap();
}

#[test]
fn what_gives_the_values_of_a_pivot_is_checked_and_counted() {
    let needs =
        checked("pivot orders on id in (select id from customers where id > random()) using sum(qty)")
            .unwrap();
    assert!(needs.is_volatile);
    assert_eq!(needs.tables, ["Customers".to_owned(), "orders".to_owned()].into());
    let sql =
        "with a as (select * from orders), b as (select 1) select * from (pivot a on lower(tags[1]), id)";
    let needs = checked(sql).unwrap();
    let queries: Vec<_> = needs.pivots.iter().map(|pivot| pivot.sql.as_str()).collect();
    let [tags, ids] = queries.as_slice() else {
        panic!("{queries:?}")
    };
    assert!(
        tags.contains("lower(tags[1])") && ids.contains("CAST(id AS VARCHAR)"),
        "{queries:?}"
    );
    assert!(tags.starts_with("WITH a AS"), "{tags}");
    assert_eq!(
        refused("pivot orders\non id in (select getenv('HOME'))"),
        "Line 2, column 18: The function 'getenv' does not exist or is not allowed in a query."
    );
    assert_eq!(
        refused("pivot orders on id, qty in (1)\nusing sum(qty + getenv('HOME'))"),
        "Line 2, column 17: The function 'getenv' does not exist or is not allowed in a query."
    );
}
