//! Compares the scanner with DuckDB's own lexer: both must find the same literals, quoted identifiers and
//! comments.

use duckdb::{Connection, params_from_iter};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::*;
use crate::statement::parameters::{Rewritten, Scalar, rewrite};

/// Pieces of arbitrary text: everything that can start or end a token.
const ATOMS: [&str; 18] = [
    "'", "\"", "{{a}}", "{", "}}", "$", "$$", "$t$", "--", "/*", "*/", "\\", "\n", "\r", "é", " ", "a", ",",
];

/// Text between the pieces of a soup, besides [`ATOMS`].
const JOINTS: [&str; 16] = [
    "", " ", ",", "||", "\n", " as ", "\u{a0}", "\u{3000}", "-- \n", "-", "/", "*", "1", "x", "_", "é",
];

thread_local! {
    static CONNECTION: Connection = Connection::open_in_memory().unwrap();
}

fn rewritten(sql: &str, value: impl Into<Value>) -> Rewritten {
    let params = json!({ "a": value.into() });
    rewrite(sql, params.as_object().unwrap()).unwrap()
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(select(&ATOMS[..]), 0..8).prop_map(|atoms| atoms.concat())
}

#[derive(Clone, Debug)]
enum Part {
    /// An expression, and its resulting text.
    Expression(String, String),
    /// A text with a column name, and its resulting text.
    Named(String, String, String),
    /// An expression with one parameter, and its resulting text for the value `v`.
    Parameter(&'static str, fn(&str) -> String),
    /// A comment, without a result.
    Comment(String),
}

fn escaped(text: &str, doubles: bool) -> String {
    let quote = if doubles { "''" } else { r"\'" };
    text.replace('\\', r"\\").replace('\'', quote)
}

/// Quotes `text` with dollars and the first tag that does not occur in it.
fn dollars(text: &str, tags: &[&str]) -> String {
    let tag = tags
        .iter()
        .find(|tag| format!("{text}{tag}").find(**tag) == Some(text.len()))
        .unwrap();
    format!("{tag}{text}{tag}")
}

fn block_comment(text: &str) -> String {
    // Keeps the text from opening or closing a comment.
    let inner = text.replace("*/", "* /").replace("/*", "/ *");
    let inner = inner.trim_end_matches(['/', '*']);
    format!("/* {inner} /* nested {inner} */ {inner} */")
}

fn part() -> impl Strategy<Value = Part> {
    let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let expression = |sql: String, text: String| Part::Expression(sql, text);
    prop_oneof![
        2 => text().prop_map(move |text| expression(literal(&text), text)),
        1 => (text(), text()).prop_map(move |(first, second)| {
            expression(format!("{}\n{}", literal(&first), literal(&second)), first + &second)
        }),
        2 => (text(), any::<bool>()).prop_map(move |(text, doubles)| {
            expression(format!("E'{}'", escaped(&text, doubles)), text)
        }),
        2 => (text(), select(&["\n", " \n ", "--'\n", "\t\r--{{a}}\r"][..]), text()).prop_map(
            move |(first, gap, second)| {
                let sql = format!("e'{}'{gap}'{}'", escaped(&first, false), escaped(&second, false));
                expression(sql, first + &second)
            }
        ),
        2 => text().prop_map(move |text| expression(dollars(&text, &["$$", "$t$", "$u1$", "$é_$"]), text)),
        2 => text().prop_map(move |text| expression(dollars(&text, &["$t$", "$t1$", "$_$"]), text)),
        1 => text().prop_map(move |text| {
            expression(format!("({{'a': {{'b': {}}}}}).a.b", literal(&text)), text)
        }),
        2 => (text(), text()).prop_map(move |(name, text)| {
            let name = format!("n{name}");
            Part::Named(format!("{} AS \"{}\"", literal(&text), name.replace('"', "\"\"")), name, text)
        }),
        3 => Just(Part::Parameter("{{a}}", str::to_owned)),
        1 => Just(Part::Parameter("({'a': {'b': {{a}}}}).a.b", str::to_owned)),
        1 => Just(Part::Parameter("'{{a}}'||{{a}}", |value| "{{a}}".to_owned() + value)),
        1 => Just(Part::Parameter("$${{a}}$$||{{a}}||E'\\'{{a}}'", |value| {
            "{{a}}".to_owned() + value + "'{{a}}"
        })),
        2 => text().prop_map(|text| Part::Comment(block_comment(&text))),
        2 => text().prop_map(|text| {
            Part::Comment(format!("--{}\n", text.replace(['\n', '\r'], " ")))
        }),
    ]
}

/// Returns a statement of some parts, the names of its columns (if they have one), and its row for the value
/// `value`.
fn statement(parts: &[Part], value: &str) -> (String, Vec<Option<String>>, Vec<String>) {
    let (mut sql, mut names, mut row) = ("SELECT ".to_owned(), Vec::new(), Vec::new());
    for part in parts {
        let (expression, name, text) = match part {
            Part::Comment(comment) => {
                sql.push_str(comment);
                continue;
            }
            Part::Expression(sql, text) => (sql.as_str(), None, text.clone()),
            Part::Named(sql, name, text) => (sql.as_str(), Some(name.clone()), text.clone()),
            Part::Parameter(sql, text) => (*sql, None, text(value)),
        };
        sql.push_str(expression);
        sql.push(',');
        names.push(name);
        row.push(text);
    }
    (sql + "'end'", names, row)
}

/// Counts the parameters that DuckDB sees in a statement; None if DuckDB does not read it as one SELECT.
fn seen_by_duckdb(sql: &str) -> Option<usize> {
    let tree = CONNECTION.with(|connection| {
        let serialize = "SELECT json_serialize_sql(?::VARCHAR)::VARCHAR";
        connection.query_row(serialize, [sql], |row| row.get::<_, String>(0))
    });
    // Has no value if DuckDB's message about a wrong statement is cut in the middle of a letter.
    let tree: Value = serde_json::from_str(&tree.ok()?).ok()?;
    let is_one =
        tree["error"] == json!(false) && tree["statements"].as_array().is_some_and(|all| all.len() == 1);
    is_one.then(|| count(&tree))
}

fn count(tree: &Value) -> usize {
    match tree {
        Value::Array(values) => values.iter().map(count).sum(),
        Value::Object(object) => {
            let own = usize::from(object.get("class") == Some(&json!("PARAMETER")));
            own + object.values().map(count).sum::<usize>()
        }
        _ => 0,
    }
}

fn seen_by_the_scanner(sql: &str) -> usize {
    let pieces = scan(sql).into_iter();
    pieces
        .filter(|piece| matches!(piece, Piece::Parameter { .. }))
        .count()
}

/// Returns the column names and values of the one row of a statement.
fn answer(sql: &str, values: &[Scalar]) -> (Vec<String>, Vec<String>) {
    CONNECTION.with(|connection| {
        let mut statement = connection.prepare(sql).unwrap();
        assert_eq!(statement.parameter_count(), values.len(), "{sql}");
        let row = statement
            .query_row(params_from_iter(values), |row| {
                (0..row.as_ref().column_count())
                    .map(|at| row.get::<_, String>(at))
                    .collect()
            })
            .unwrap();
        (statement.column_names(), row)
    })
}

/// Makes a text of atoms that often, but not always, ends with its opening quote.
fn soup_piece() -> impl Strategy<Value = String> {
    let quotes = [
        ("'", "'"),
        ("e'", "'"),
        ("E'", "'"),
        ("U&'", "'"),
        ("\"", "\""),
        ("$$", "$$"),
        ("$t$", "$t$"),
        ("/*", "*/"),
        ("--", "\n"),
        ("x$t$", " "),
        ("", ""),
        ("{{a}}", ""),
        ("{{a}}", "{{a}}"),
    ];
    let inside = prop::collection::vec(select(&ATOMS[..]), 0..4);
    (select(quotes.to_vec()), inside, prop::bool::weighted(0.9)).prop_map(
        |((begin, end), inside, is_ended)| {
            begin.to_owned() + &inside.concat() + if is_ended { end } else { "" }
        },
    )
}

fn soup() -> impl Strategy<Value = String> {
    let joint = prop_oneof![
        4 => select(&[",", ",\u{a0}", "||", "||\u{feff}", "\n", " as "][..]),
        1 => select(&JOINTS[..]),
        1 => select(&ATOMS[..]),
    ];
    prop::collection::vec((soup_piece(), joint), 1..6).prop_map(|pieces| {
        let pieces = pieces.into_iter().map(|(piece, joint)| piece + joint);
        format!("select {} 1", pieces.collect::<String>())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn pieces_give_what_they_hold(parts in prop::collection::vec(part(), 1..8), value in text()) {
        let (sql, names, mut row) = statement(&parts, &value);
        row.push("end".to_owned());
        let rewritten = rewritten(&sql, value.clone());
        prop_assert_eq!(seen_by_duckdb(&rewritten.sql), Some(seen_by_the_scanner(&sql)), "{}", sql);
        let (given_names, given_row) = answer(&rewritten.sql, &rewritten.values);
        prop_assert_eq!(given_row, row, "{}", sql);
        for (given, name) in given_names.iter().zip(names) {
            prop_assert!(name.is_none_or(|name| name == *given), "{}: {}", sql, given);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn a_soup_has_the_parameters_that_duckdb_sees(sql in soup()) {
        // Independent of the scanner, DuckDB decides whether each `$1` is a parameter or part of a token.
        let marked = sql.replace(is_unicode_space, " ").replace("{{a}}", " $1 ");
        if let Some(seen) = seen_by_duckdb(&marked) {
            let has_foreign = scan(&sql).iter().any(|piece| matches!(piece, Piece::Placeholder { .. }));
            if has_foreign {
                prop_assert!(seen > seen_by_the_scanner(&sql), "{}", sql);
            } else {
                prop_assert_eq!(seen, seen_by_the_scanner(&sql), "{}", sql);
                let rewritten = rewritten(&sql, 1);
                prop_assert_eq!(seen_by_duckdb(&rewritten.sql), Some(seen), "{}", sql);
            }
        }
    }
}
