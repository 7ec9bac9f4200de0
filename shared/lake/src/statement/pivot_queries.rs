//! Builds the queries for the values of PIVOTs from parts of a statement's parse tree.
//!
//! Each part is a piece of the JSON text that DuckDB wrote, so that no constant loses digits.

use std::collections::HashMap;

use duckdb::Connection;
use platform::{Error, Result};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::statement::tree::Tree;

/// A PIVOT that reads its values from a type.
pub(crate) struct OpenPivot {
    pub(crate) type_name: String,
    source: Path,
    expression: Path,
    /// The common table expressions in scope by name, innermost last.
    scope: Vec<NamedPath>,
}

/// A common table expression.
#[derive(Clone)]
struct NamedPath {
    name: String,
    path: Path,
}

type Path = Vec<Step>;

#[derive(Clone)]
enum Step {
    Key(String),
    Index(usize),
}

/// Returns the PIVOTs of the tree that read their values from types, each after the PIVOTs in its source.
pub(crate) fn find(tree: &Tree) -> Vec<OpenPivot> {
    let mut open = Vec::new();
    walk(&tree.value, &mut Vec::new(), &mut Vec::new(), &mut open);
    open
}

fn walk(value: &Value, path: &mut Path, scope: &mut Vec<NamedPath>, open: &mut Vec<OpenPivot>) {
    match value {
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                path.push(Step::Index(index));
                walk(value, path, scope, open);
                path.pop();
            }
        }
        Value::Object(members) => {
            let depth = scope.len();
            let expressions = value.pointer("/cte_map/map").and_then(Value::as_array);
            for (index, expression) in expressions.into_iter().flatten().enumerate() {
                let name = expression.get("key").and_then(Value::as_str).unwrap_or("");
                path.extend([key("cte_map"), key("map"), Step::Index(index)]);
                walk(expression, path, scope, open);
                scope.push(NamedPath {
                    name: name.to_ascii_lowercase(),
                    path: path.clone(),
                });
                path.truncate(path.len() - 3);
            }
            for (name, member) in members.iter().filter(|(name, _)| *name != "cte_map") {
                path.push(key(name));
                walk(member, path, scope, open);
                path.pop();
            }
            let pivots = value.get("pivots").and_then(Value::as_array);
            for (index, pivot) in pivots.into_iter().flatten().enumerate() {
                let type_name = pivot.get("pivot_enum").and_then(Value::as_str).unwrap_or("");
                if !type_name.is_empty() {
                    let below = |steps: &[Step]| [path, steps].concat();
                    let expression = [
                        key("pivots"),
                        Step::Index(index),
                        key("pivot_expressions"),
                        Step::Index(0),
                    ];
                    open.push(OpenPivot {
                        type_name: type_name.to_owned(),
                        source: below(&[key("source")]),
                        expression: below(&expression),
                        scope: scope.clone(),
                    });
                }
            }
            scope.truncate(depth);
        }
        _ => {}
    }
}

fn key(name: &str) -> Step {
    Step::Key(name.to_owned())
}

/// Returns the query that DuckDB would run for the values of a PIVOT: its expression as text, distinct,
/// sorted, not null. Fails with 400 if the PIVOT's source depends on the surrounding statement.
pub(crate) fn query(connection: &Connection, tree: &Tree, pivot: &OpenPivot) -> Result<String> {
    let no_query = || {
        Error::invalid(
            "The values of a PIVOT in the query cannot be read by themselves; list them: ON … IN (…).",
        )
    };
    let part = |path: &Path| raw(&tree.text, path).ok_or_else(no_query);
    let mut expressions = HashMap::new();
    for (at, NamedPath { name, path }) in pivot.scope.iter().enumerate() {
        // An inner expression hides an outer one of the same name.
        expressions.insert(name, (at, part(path)?));
    }
    let mut expressions: Vec<_> = expressions.into_values().collect();
    expressions.sort_by_key(|(at, _)| *at);
    let expressions: Vec<_> = expressions.into_iter().map(|(_, text)| text).collect();
    let expression = part(&pivot.expression)?;
    let document = format!(
        r#"{{"error":false,"statements":[{{"node":{{"type":"SELECT_NODE","modifiers":[
        {{"type":"DISTINCT_MODIFIER","distinct_on_targets":[]}},{{"type":"ORDER_MODIFIER","orders":[{{"type":"ORDER_DEFAULT",
        "null_order":"ORDER_DEFAULT","expression":{{"class":"CONSTANT","type":"VALUE_CONSTANT","alias":"","query_location":0,
        "value":{{"type":{{"id":"INTEGER","type_info":null}},"is_null":false,"value":1}}}}}}]}}],
        "cte_map":{{"map":[{}]}},"select_list":[{{"class":"CAST","type":"OPERATOR_CAST","alias":"","query_location":0,
        "child":{expression},"cast_type":{{"id":"VARCHAR","type_info":null}},"try_cast":false}}],"from_table":{},
        "where_clause":{{"class":"OPERATOR","type":"OPERATOR_IS_NOT_NULL","alias":"","query_location":0,
        "children":[{expression}]}},"group_expressions":[],"group_sets":[],"aggregate_handling":"STANDARD_HANDLING",
        "having":null,"sample":null,"qualify":null}},"named_param_map":[]}}]}}"#,
        expressions.join(","),
        part(&pivot.source)?
    );
    connection
        .query_row("SELECT json_deserialize_sql(?::JSON)", [&document], |row| {
            row.get(0)
        })
        .map_err(|error| no_query().with_source(error))
}

/// Returns the part of a JSON text at `path`.
fn raw<'a>(text: &'a str, path: &[Step]) -> Option<&'a str> {
    let mut text = text;
    for step in path {
        let part: &RawValue = match step {
            Step::Key(name) => {
                let members: HashMap<&str, &RawValue> = serde_json::from_str(text).ok()?;
                members.get(name.as_str()).copied()?
            }
            Step::Index(index) => {
                let parts: Vec<&RawValue> = serde_json::from_str(text).ok()?;
                parts.get(*index).copied()?
            }
        };
        text = part.get();
    }
    Some(text)
}
