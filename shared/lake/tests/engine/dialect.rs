//! Tests the SQL dialect of queries: each statement of the corpus returns the same columns, types and rows as
//! plain DuckDB.
//!
//! A line of the corpus is a statement, or a comment after `-- `. A line that begins with `=` replaces the
//! line before it for plain DuckDB, whose driver cannot read VARIANT.

use duckdb::Connection;
use serde_json::{Value, json};

use crate::fixture::{Store, limits, table};
use crate::reference;

const TABLES: &str = include_str!("../fixtures/dialect/tables.sql");

const CORPUS: [(&str, &str); 13] = [
    ("casts", include_str!("../fixtures/dialect/casts.sql")),
    ("dates", include_str!("../fixtures/dialect/dates.sql")),
    ("describe", include_str!("../fixtures/dialect/describe.sql")),
    ("functions", include_str!("../fixtures/dialect/functions.sql")),
    ("json", include_str!("../fixtures/dialect/json.sql")),
    ("lists", include_str!("../fixtures/dialect/lists.sql")),
    ("methods", include_str!("../fixtures/dialect/methods.sql")),
    ("pivots", include_str!("../fixtures/dialect/pivots.sql")),
    ("recursion", include_str!("../fixtures/dialect/recursion.sql")),
    ("relations", include_str!("../fixtures/dialect/relations.sql")),
    ("structs", include_str!("../fixtures/dialect/structs.sql")),
    ("unions", include_str!("../fixtures/dialect/unions.sql")),
    ("windows", include_str!("../fixtures/dialect/windows.sql")),
];

/// Keeps the corpus from shrinking unnoticed.
const LEAST_STATEMENTS: usize = 480;

struct Statement<'a> {
    sql: &'a str,
    reference: &'a str,
}

fn statements(file: &str) -> Vec<Statement<'_>> {
    let mut statements: Vec<Statement<'_>> = Vec::new();
    for line in file.lines() {
        match line.strip_prefix('=') {
            Some(reference) => statements.last_mut().unwrap().reference = reference,
            None if line.starts_with("-- ") || line.is_empty() => {}
            None => statements.push(Statement {
                sql: line,
                reference: line,
            }),
        }
    }
    statements
}

/// Opens plain DuckDB with the tables of the corpus, and a store with the same tables.
async fn both() -> (Connection, Store) {
    let plain = Connection::open_in_memory().unwrap();
    plain.execute_batch("SET TimeZone = 'UTC'").unwrap();
    plain.execute_batch(TABLES).unwrap();
    let described = "SELECT table_name, list({name: column_name, type: replace(data_type, 'VARCHAR', 'STRING')} \
                     ORDER BY column_index)::JSON::VARCHAR FROM duckdb_columns() WHERE NOT internal GROUP BY 1 ORDER BY 1";
    let mut described = plain.prepare(described).unwrap();
    let tables = described.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    let tables = tables.unwrap().map(Result::unwrap);
    let tables: Vec<_> = tables
        .map(|(name, columns): (String, String)| table(&name, serde_json::from_str(&columns).unwrap()))
        .collect();
    let names: Vec<_> = tables.iter().map(|table| table.name.clone()).collect();
    let mut store = Store::new(limits(), tables);
    for (at, name) in names.iter().enumerate() {
        let rows = format!("SELECT to_json(list(t))::VARCHAR FROM {name} t");
        let rows: Option<String> = plain.query_row(&rows, [], |row| row.get(0)).unwrap();
        if let Some(rows) = rows {
            let staged = store.stage_rows(at, &rows).await.unwrap();
            store.keep(at, staged);
        }
    }
    drop(described);
    (plain, store)
}

/// Returns the difference between the two answers, if there is one.
async fn difference(plain: &Connection, store: &Store, statement: &Statement<'_>) -> Option<String> {
    let expected = match reference::answer(plain, statement.reference) {
        Ok(expected) => expected,
        Err(error) => return Some(format!("plain DuckDB: {error}")),
    };
    let mut answer = match store.query(statement.sql).await {
        Ok(answer) => answer,
        Err(error) => return Some(format!("{} {}", error.status(), error.message())),
    };
    let is_ordered = statement.sql.to_uppercase().contains("ORDER BY");
    let sorted = |rows: Value| {
        let mut rows: Vec<String> = serde_json::from_value::<Vec<Value>>(rows)
            .unwrap()
            .into_iter()
            .map(|row| rounded(row).to_string())
            .collect();
        if !is_ordered {
            rows.sort();
        }
        rows
    };
    let own_types = statement.reference != statement.sql;
    if own_types {
        // Plain DuckDB returns JSON here; the name VARIANT has a test in `queries.rs`.
        let types = answer["column_types"].to_string().replace("VARIANT", "JSON");
        answer["column_types"] = serde_json::from_str(&types).unwrap();
    }
    for (what, answered, expected) in [
        ("columns", &answer["columns"], &expected.columns),
        ("types", &answer["column_types"], &expected.types),
    ] {
        if answered != expected {
            return Some(format!("{what} are {answered}, and in plain DuckDB {expected}"));
        }
    }
    let (answered, expected) = (sorted(answer["rows"].take()), sorted(expected.rows));
    (answered != expected).then(|| format!("rows are {answered:?}, and in plain DuckDB {expected:?}"))
}

/// Rounds to 14 digits, because the parser of JSON may change the last one.
fn rounded(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => format!("{:.13e}", number.as_f64().unwrap()).into(),
        Value::Array(values) => values.into_iter().map(rounded).collect(),
        Value::Object(members) => {
            let members = members.into_iter().map(|(name, value)| (name, rounded(value)));
            members.collect::<serde_json::Map<_, _>>().into()
        }
        value => value,
    }
}

#[tokio::test]
async fn each_statement_of_the_corpus_answers_as_plain_duckdb_does() {
    let (plain, mut store) = both().await;
    let mut wrong = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for is_copied in [false, true] {
        if is_copied {
            store.copy().await;
        }
        for (name, file) in CORPUS {
            for statement in statements(file) {
                assert!(
                    is_copied || seen.insert(statement.sql),
                    "twice: {}",
                    statement.sql
                );
                if let Some(difference) = difference(&plain, &store, &statement).await {
                    wrong.push(format!("{name}: {}\n    {difference}", statement.sql));
                }
            }
        }
    }
    println!("{} of {} answers differ", wrong.len(), 2 * seen.len());
    assert!(seen.len() >= LEAST_STATEMENTS, "{}", seen.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(store.rows("SELECT 1").await, json!([[1]]));
}
