//! Reads texts of parameters by the grammar of the type that they are compared with.
//!
//! DuckDB casts a text to that type in its own way: it drops an offset, and text after a date. The plan of
//! the statement tells which type that is: there, the text is a marked constant within a cast.

use std::collections::BTreeMap;

use duckdb::Connection;
use platform::{Error, Result};
use serde_json::Value;

use crate::import::faults::shown;
use crate::query::target::Target;
use crate::statement::messages::{self, Cause};
use crate::statement::parameters::{Rewritten, Scalar};
use crate::statement::scanner::tokens;
use crate::statement::tree;
use crate::tables::sql;

/// Most digits of which every integer is exact in each type of numbers.
const EXACT_DIGITS: usize = 7;
/// Begins the constant that stands for a parameter in the plan; its number follows.
const MARK: &str = "millrace parameter ";

/// Replaces each text that DuckDB would take for another value; fails with 422 for one that is no value of
/// its type.
pub(crate) fn read(connection: &Connection, rewritten: &mut Rewritten) -> Result<()> {
    // DuckDB takes a day for a midnight of the type TIME, which no column has: the statement must name it.
    let has_times = rewritten.sql.to_ascii_lowercase().contains("time");
    read_those(connection, rewritten, |text| {
        is_ambiguous(text) || has_times && is_day(text)
    })
}

/// Returns the 422 for the first text that is no value of its type, of a statement that failed.
pub(crate) fn refusal(connection: &Connection, rewritten: &Rewritten) -> Option<Error> {
    read_those(connection, &mut rewritten.edited(&[]), |_| true).err()
}

fn read_those(
    connection: &Connection,
    rewritten: &mut Rewritten,
    is_read: impl Fn(&str) -> bool,
) -> Result<()> {
    let is_text = |scalar: &Scalar| matches!(scalar, Scalar::Text(text) if is_read(text));
    if !rewritten.values.iter().any(is_text) {
        return Ok(());
    }
    let targets = targets(connection, rewritten, is_text)?;
    for (index, targets) in targets {
        let name = rewritten.names.get(index).cloned().unwrap_or_default();
        let Some(Scalar::Text(text)) = rewritten.values.get_mut(index) else {
            continue;
        };
        let mut meanings = Vec::new();
        for target in targets {
            meanings.push(target.meaning(connection, &name, text)?);
        }
        let Some(first) = meanings.iter().flatten().next() else {
            continue;
        };
        // A parameter has one value, wherever it stands.
        if meanings.iter().any(|meaning| meaning.as_ref() != Some(first)) {
            return Err(Error::unprocessable(format!(
                "The parameter '{name}' is compared with values of several types, in which {} means different values; \
                 use a parameter for each.",
                shown(text)
            )));
        }
        text.clone_from(first);
    }
    Ok(())
}

/// Returns the types that texts are cast to, by the index of their parameter. Of a statement without a plan
/// there are none: DuckDB says why when it runs.
fn targets(
    connection: &Connection,
    rewritten: &Rewritten,
    is_read: impl Fn(&Scalar) -> bool,
) -> Result<BTreeMap<usize, Vec<Target>>> {
    let marked = marked(rewritten, is_read);
    let plan = connection.query_row(
        "SELECT json_serialize_plan(?::VARCHAR, optimize := false)::VARCHAR",
        [&marked],
        |row| row.get::<_, String>(0),
    );
    let mut targets = BTreeMap::new();
    let plan = match plan {
        Ok(plan) => plan,
        Err(error) => {
            return match messages::cause(&messages::text(&error)) {
                Cause::Memory | Cause::Interrupted => Err(messages::own_error(&error)),
                _ => Ok(targets),
            };
        }
    };
    if let Ok(plan) = tree::read(&plan).or_else(|_| tree::read(&tree::finite(&plan))) {
        collect(&plan, &mut targets);
    }
    Ok(targets)
}

/// Returns the statement with constants in place of its parameters.
fn marked(rewritten: &Rewritten, is_read: impl Fn(&Scalar) -> bool) -> String {
    let mut marked = String::with_capacity(rewritten.sql.len() * 2);
    let mut copied = 0;
    let tokens = tokens(&rewritten.sql);
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        if !token.is_symbol('$') {
            continue;
        }
        let mut end = token.end();
        let mut number = String::new();
        while let Some(digit) = tokens
            .get(at)
            .filter(|next| next.at == end && is_digits(next.text))
        {
            number.push_str(digit.text);
            end = digit.end();
            at += 1;
        }
        let index = number
            .parse::<usize>()
            .ok()
            .and_then(|number| number.checked_sub(1));
        let Some((index, value)) = index.and_then(|index| Some((index, rewritten.values.get(index)?))) else {
            continue;
        };
        marked.push_str(rewritten.sql.get(copied..token.at).unwrap_or_default());
        marked.push_str(&match value {
            Scalar::Null => "NULL".to_owned(),
            Scalar::Boolean(value) => value.to_string(),
            Scalar::Signed(value) => format!("({value})"),
            Scalar::Unsigned(value) => value.to_string(),
            Scalar::Double(value) => format!("CAST('{value}' AS DOUBLE)"),
            Scalar::Text(_) if is_read(value) => sql::literal(&format!("{MARK}{index}")),
            Scalar::Text(text) => sql::literal(text),
        });
        copied = end;
    }
    marked.push_str(rewritten.sql.get(copied..).unwrap_or_default());
    marked
}

/// Adds the types of the casts in a part of a plan.
fn collect(part: &Value, targets: &mut BTreeMap<usize, Vec<Target>>) {
    match part {
        Value::Array(parts) => parts.iter().for_each(|part| collect(part, targets)),
        Value::Object(fields) => {
            if let (Some(child), Some(return_type)) = (fields.get("child"), fields.get("return_type")) {
                of_values(child, return_type, targets);
            }
            if let (Some(left), Some(right)) = (fields.get("left"), fields.get("right")) {
                of_rows(left, right, targets);
            }
            if fields.get("type").and_then(Value::as_str) == Some("COMPARE_IN")
                && let Some([wanted, values @ ..]) = fields
                    .get("children")
                    .and_then(Value::as_array)
                    .map(Vec::as_slice)
            {
                values.iter().for_each(|value| of_rows(wanted, value, targets));
            }
            fields.values().for_each(|part| collect(part, targets));
        }
        _ => {}
    }
}

/// Adds the types of the parameters that can be the value of an expression which is cast to a type: of
/// itself, and of a result of CASE, COALESCE, NULLIF and IF.
fn of_values(expression: &Value, return_type: &Value, targets: &mut BTreeMap<usize, Vec<Target>>) {
    let each = |name: &str| {
        expression
            .get(name)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    match expression.get("type").and_then(Value::as_str) {
        Some("VALUE_CONSTANT") => {
            let text = expression.pointer("/value/value").and_then(Value::as_str);
            let index: Option<usize> = text.and_then(|text| text.strip_prefix(MARK)?.parse().ok());
            if let (Some(index), Some(target)) = (index, Target::from_plan(return_type)) {
                let targets = targets.entry(index).or_default();
                if !targets.contains(&target) {
                    targets.push(target);
                }
            }
        }
        Some("CASE_EXPR") => {
            let results = each("case_checks").filter_map(|check| check.get("then_expr"));
            let results = results.chain(expression.get("else_expr"));
            results.for_each(|result| of_values(result, return_type, targets));
        }
        Some("OPERATOR_COALESCE") => {
            each("children").for_each(|child| of_values(child, return_type, targets));
        }
        // The text as a text: DuckDB casts constants to VARCHAR.
        Some("OPERATOR_CAST") if is_text(expression) => {
            if let Some(child) = expression.get("child") {
                of_values(child, return_type, targets);
            }
        }
        _ => {}
    }
}

/// Adds the types of the parameters in rows, lists and structs that are compared with each other. The plan
/// casts their parts to texts, but a parameter has the type of the other side.
fn of_rows(left: &Value, right: &Value, targets: &mut BTreeMap<usize, Vec<Target>>) {
    let Some((lefts, rights)) = row_parts(left).zip(row_parts(right)) else {
        return;
    };
    for (left, right) in lefts.iter().zip(rights) {
        for (part, other) in [(left, right), (right, left)] {
            if let Some(return_type) = own_type(other) {
                of_values(part, return_type, targets);
            }
        }
        of_rows(left, right, targets);
    }
}

/// Returns the type of an expression before the plan casts it.
fn own_type(expression: &Value) -> Option<&Value> {
    match expression.get("type")?.as_str()? {
        "OPERATOR_CAST" => own_type(expression.get("child")?),
        _ => expression.get("return_type"),
    }
}

/// Returns the parts of a row, list or struct that is written as one.
fn row_parts(expression: &Value) -> Option<&Vec<Value>> {
    match expression.get("type")?.as_str()? {
        "OPERATOR_CAST" => row_parts(expression.get("child")?),
        "BOUND_FUNCTION" => {
            let name = expression.get("name")?.as_str()?;
            let is_row = ["row", "struct_pack", "list_value", "array_value"].contains(&name);
            expression.get("children")?.as_array().filter(|_| is_row)
        }
        _ => None,
    }
}

/// Returns whether an expression is a text, and no JSON.
fn is_text(expression: &Value) -> bool {
    let return_type = expression.get("return_type");
    let id = return_type.and_then(|return_type| return_type.get("id")?.as_str());
    id == Some("VARCHAR") && return_type.is_some_and(|return_type| Target::from_plan(return_type).is_none())
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether DuckDB may cast a text to a value that the grammar of a type does not give it. A plan
/// costs a millisecond or more, so the usual forms, which mean the same to both, are not ambiguous.
fn is_ambiguous(text: &str) -> bool {
    let trimmed = text.trim();
    let unsigned = trimmed.strip_prefix(['-', '+']).unwrap_or(trimmed);
    let is_usual = is_digits(unsigned) && unsigned.len() <= EXACT_DIGITS || is_day(text);
    let lower = unsigned.get(..3).map(str::to_ascii_lowercase);
    match unsigned.bytes().next() {
        _ if is_usual => false,
        Some(b'0'..=b'9' | b'.' | b'[' | b'{') => true,
        _ => matches!(lower.as_deref(), Some("epo" | "inf" | "nan")),
    }
}

/// Returns whether a text is written as 2026-01-31.
fn is_day(text: &str) -> bool {
    let zeros = text
        .bytes()
        .map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
    zeros.eq(b"0000-00-00".iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::parameters::rewrite;

    fn value(sql: &str, text: &str) -> Result<String> {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "CREATE TABLE ev (id BIGINT, ts TIMESTAMP, day DATE, price DECIMAL(10,2), name VARCHAR, doc JSON, \
                 seen TIMESTAMPTZ)",
            )
            .unwrap();
        let params = serde_json::json!({ "p": text });
        let mut rewritten = rewrite(sql, params.as_object().unwrap()).unwrap();
        read(&connection, &mut rewritten)?;
        match rewritten.values.first() {
            Some(Scalar::Text(text)) => Ok(text.clone()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn text_is_read_by_the_type_that_it_is_compared_with() {
        for (condition, text, expected) in [
            ("ts = {{p}}", "2024-03-31T03:30:00+02:00", "2024-03-31 01:30:00"),
            (
                "ts IN ({{p}})",
                "2024-03-31T03:30:00+02:00",
                "2024-03-31 01:30:00",
            ),
            (
                "name = {{p}}",
                "2024-03-31T03:30:00+02:00",
                "2024-03-31T03:30:00+02:00",
            ),
            ("ts = {{p}}", "2024-03-31T03:30:00Z", "2024-03-31T03:30:00Z"),
            ("day = {{p}}", "2024-03-31T00:00:00Z", "2024-03-31T00:00:00Z"),
            ("id = {{p}}", "10.0", "10.0"),
            ("name = {{p}}", "0x1F", "0x1F"),
            ("price = {{p}}", "1.50", "1.50"),
            (
                "id::HUGEINT = {{p}}",
                "170141183460469231731687303715884105727",
                "170141183460469231731687303715884105727",
            ),
            ("id::SMALLINT = {{p}}", "-7.0", "-7.0"),
            (
                "ts::TIMESTAMP_S = {{p}}",
                "2024-03-31T03:30:00+02:00",
                "2024-03-31 01:30:00",
            ),
            (
                "ts::TIMESTAMP_NS = {{p}}",
                "2024-03-31T03:30:00.123456789Z",
                "2024-03-31T03:30:00.123456789Z",
            ),
            ("ts::TIME = {{p}}", "03:30", "03:30"),
            ("ts + {{p}}::INTERVAL > ts", "1 day 12:00:00", "1 day 12:00:00"),
            ("id IN (SELECT unnest({{p}}::BIGINT[]))", "[1,2]", "[1,2]"),
            ("{{p}}::DOUBLE[] IS NOT NULL", "[1, 2.5]", "[1, 2.5]"),
            ("(id, price) = (1, {{p}})", "1.50", "1.50"),
            (
                "(id, ts) = (1, {{p}})",
                "2024-03-31T03:30:00+02:00",
                "2024-03-31 01:30:00",
            ),
            (
                "(id, ts) IN ((1, {{p}}))",
                "2024-03-31T03:30:00+02:00",
                "2024-03-31 01:30:00",
            ),
            (
                "[ts] = [{{p}}]",
                "2024-03-31T03:30:00+02:00",
                "2024-03-31 01:30:00",
            ),
            (
                "{'a': ts} = {'a': {{p}}}",
                "2024-03-31T03:30:00+02:00",
                "2024-03-31 01:30:00",
            ),
            ("doc = {{p}}", "[1, 2.50]", "[1, 2.50]"),
            (
                "ts = nullif({{p}}, '')",
                "2024-03-31T03:30:00+02:00",
                "2024-03-31 01:30:00",
            ),
            (
                "ts = coalesce(NULL, {{p}}, name)",
                "2024-03-31T03:30:00+02:00",
                "2024-03-31 01:30:00",
            ),
            (
                "ts = CASE WHEN id = 1 THEN name WHEN id = 2 THEN {{p}} END",
                "2024-03-31T03:30:00+02:00",
                "2024-03-31 01:30:00",
            ),
            (
                "name = coalesce({{p}}, '')",
                "2024-03-31T03:30:00+02:00",
                "2024-03-31T03:30:00+02:00",
            ),
        ] {
            let sql = format!("SELECT * FROM ev WHERE {condition}");
            assert_eq!(value(&sql, text).unwrap(), expected, "{condition} {text}");
        }
    }

    #[test]
    fn text_of_another_form_is_refused_with_the_name_of_its_parameter() {
        for (condition, text) in [
            ("ts::DATE = {{p}}", "2024-03-31 garbage"),
            ("day = {{p}}", "2024-03-31T10:00:00Z"),
            ("day = {{p}}", "epoch"),
            ("ts > {{p}}", "2024-01-01T10:00:00+99:00"),
            ("id = {{p}}", "0x1F"),
            ("id = {{p}}", "2023_24"),
            ("id = {{p}}", "1.5"),
            ("price < {{p}}", "1.505"),
            ("doc = {{p}}", "[1, 2,]"),
            ("id::HUGEINT = {{p}}", "6.6"),
            ("id::HUGEINT = {{p}}", "0x7"),
            ("id::SMALLINT = {{p}}", "4_1"),
            ("id::UTINYINT = {{p}}", "255.4"),
            ("id::UTINYINT = {{p}}", "1e9"),
            ("id::BIGNUM = {{p}}", "1.5"),
            ("ts::TIMESTAMP_S = {{p}}", "2024-03-31T03:30:00.5Z"),
            ("ts::TIMESTAMP_MS = {{p}}", "2024-03-31T03:30:00.1234Z"),
            ("ts::TIMESTAMP_NS = {{p}}", "2024-03-31T03:30:00.1234567891Z"),
            ("ts::TIME = {{p}}", "03:30:00 garbage"),
            ("ts::TIME = {{p}}", "03:30:00+02:00"),
            ("ts::TIME = {{p}}", "2024-03-31"),
            ("{{p}}::TIMETZ IS NOT NULL", "03:30:00.1234567+02:00"),
            ("ts + {{p}}::INTERVAL > ts", "12:00:00 ago"),
            ("{{p}}::INTEGER[] IS NOT NULL", "[1.5]"),
            ("{{p}}::STRUCT(a INTEGER) IS NOT NULL", "{'a': 0x1}"),
            ("{{p}}::MAP(INTEGER, DECIMAL(3,1)) IS NOT NULL", "{1=2.25}"),
            ("(id, price) = (1, {{p}})", "1.505"),
            ("(name, id) = ('a', {{p}})", "0x7"),
            ("[id] = [{{p}}]", "0x7"),
            ("{'a': id} = {'a': {{p}}}", "4_1"),
            ("{'a': [id]} = {'a': [{{p}}]}", "4_1"),
            ("day = nullif({{p}}, '')", "2024-03-31 garbage"),
        ] {
            let sql = format!("SELECT * FROM ev WHERE {condition}");
            let error = value(&sql, text).unwrap_err();
            assert_eq!(error.status(), 422, "{condition} {text}");
            assert!(error.message().starts_with("The parameter 'p': "), "{error}");
        }
        let long = format!("2024-03-31 {}", "x".repeat(1_000));
        let error = value("SELECT * FROM ev WHERE day = {{p}}", &long).unwrap_err();
        assert_eq!(error.status(), 422, "{error}");
    }
}
