//! Checks that a statement is one plain SELECT over the tables of its store, before DuckDB binds it.
//!
//! DuckDB's own statement type is no proof (`PRAGMA` reports SELECT). So the check reads the parse tree of
//! `json_serialize_sql`, and everything in it must be on a list: kinds of expressions and table references,
//! table functions, and scalar functions. Anything that a later DuckDB adds is therefore refused until it is
//! reviewed and listed. The fence protects files, the network and changes of settings without this check; the
//! check also hides the catalog and the values of settings.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

use platform::{Error, Result};
use serde_json::Value;

use crate::statement::messages;
use crate::statement::parameters::Rewritten;
use crate::statement::planned::PivotValues;
use crate::statement::volatile::{is_volatile_function, is_volatile_word};

/// Prefix of the names of the databases that a child attaches; a number follows.
pub(crate) const ATTACHED_DATABASE: &str = "native";
/// Table functions that read only their arguments.
const TABLE_FUNCTIONS: [&str; 8] = [
    "generate_series",
    "json_each",
    "json_tree",
    "range",
    "repeat",
    "repeat_row",
    "unnest",
    "generate_subscripts",
];

/// Kinds of expressions that a statement may have.
const EXPRESSION_CLASSES: [&str; 19] = [
    "BETWEEN",
    "CASE",
    "CAST",
    "COLLATE",
    "COLUMN_REF",
    "COMPARISON",
    "CONJUNCTION",
    "CONSTANT",
    "DEFAULT",
    "FUNCTION",
    "LAMBDA",
    "LAMBDA_REF",
    "OPERATOR",
    "PARAMETER",
    "POSITIONAL_REFERENCE",
    "STAR",
    "SUBQUERY",
    "TYPE",
    "WINDOW",
];

/// Kinds of table references and query nodes that a statement may have, besides base tables and table
/// functions.
const NODE_TYPES: [&str; 10] = [
    "SELECT_NODE",
    "SET_OPERATION_NODE",
    "RECURSIVE_CTE_NODE",
    "CTE_NODE",
    "SUBQUERY",
    "JOIN",
    "EXPRESSION_LIST",
    "EMPTY",
    "EMPTY_FROM",
    "PIVOT",
];

/// Name prefixes of catalog tables that DuckDB finds without a schema. A WITH entry with such a name could
/// leave a reference that reads the catalog.
const CATALOG_PREFIXES: [&str; 4] = ["duckdb_", "pg_", "pragma_", "sqlite_"];

/// Databases and schemas of every connection.
const CATALOG: [&str; 5] = ["information_schema", "memory", "pg_catalog", "system", "temp"];

/// Functions that compute only from their arguments. Functions that read the catalog, the settings, files or
/// the session are in `functions_refused.txt`; a test compares both lists with the linked DuckDB's functions.
static FUNCTIONS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("functions_allowed.txt").lines().collect());

/// Tables and queries that a statement needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Needs {
    /// Tables of the store that it names, spelled as in the store. A table whose name a WITH entry takes may
    /// be included.
    pub(crate) tables: BTreeSet<String>,
    /// Whether the answer may change although the data does not: see [`crate::statement::volatile`].
    pub(crate) is_volatile: bool,
    /// Queries for the values that its PIVOTs do not list, in order: a query may need the types of earlier
    /// ones.
    pub(crate) pivots: Vec<PivotValues>,
}

/// The inputs of a check, and the needs found so far.
struct Check<'a> {
    tables: &'a [String],
    pivot_types: &'a [String],
    original: &'a str,
    rewritten: &'a Rewritten,
    needs: RefCell<Needs>,
}

/// A common table expression in scope.
struct Expression {
    /// Compared without regard to the case of ASCII letters only, as DuckDB does.
    name: String,
    /// Whether `recurring.<name>` exists: inside a recursive expression with USING KEY.
    is_recurring: bool,
}

/// Innermost last.
type Scope = Vec<Expression>;

/// Checks the `tree` of `rewritten`, made from the caller's `original`, and returns its needs. It may name
/// the store's `tables`, and `pivot_types` as the values of a PIVOT. Fails with 400 if something is not
/// allowed.
pub(crate) fn check_tree(
    tree: &Value,
    tables: &[String],
    pivot_types: &[String],
    original: &str,
    rewritten: &Rewritten,
) -> Result<Needs> {
    let check = Check {
        tables,
        pivot_types,
        original,
        rewritten,
        needs: RefCell::default(),
    };
    let statements = tree
        .get("statements")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    match statements {
        [] => Err(Error::invalid("The query is empty.")),
        [statement] => {
            check.value(statement.get("node").unwrap_or(&Value::Null), &mut Scope::new())?;
            Ok(check.needs.into_inner())
        }
        more => Err(Error::invalid(format!(
            "One statement is expected, and there are {}.",
            more.len()
        ))),
    }
}

/// The qualifier that a function name may have, besides `main`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Qualifier {
    None,
    /// A column, with or without its table.
    Column,
}

/// Returns whether a qualifier names a database or schema of DuckDB itself, which DuckDB prefers to a column
/// of that name.
fn is_of_the_catalog(name: &str) -> bool {
    let is_attached = |name: &str| {
        let number = name.strip_prefix(ATTACHED_DATABASE);
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    CATALOG.contains(&name) || is_attached(name)
}

impl Check<'_> {
    fn refuse(&self, at: &Value, sentence: &str) -> Error {
        let position = at
            .get("query_location")
            .and_then(Value::as_u64)
            .and_then(|at| usize::try_from(at).ok());
        messages::invalid_at(sentence, position, self.original, self.rewritten)
    }

    /// Checks any value of the tree: dispatches on the kind that an object states.
    fn value(&self, value: &Value, scope: &mut Scope) -> Result<()> {
        match value {
            Value::Array(values) => values.iter().try_for_each(|value| self.value(value, scope)),
            Value::Object(object) => {
                if object.get("sample").is_some_and(|sample| !sample.is_null()) {
                    self.needs.borrow_mut().is_volatile = true;
                }
                if let Some(class) = object.get("class").and_then(Value::as_str) {
                    return self.expression(class, value, scope);
                }
                if object.contains_key("cte_map") {
                    return self.query_node(value, scope);
                }
                if object.contains_key("sample") && object.contains_key("alias") {
                    return self.table_reference(value, scope);
                }
                self.children(value, scope)
            }
            _ => Ok(()),
        }
    }

    fn children(&self, value: &Value, scope: &mut Scope) -> Result<()> {
        let Some(object) = value.as_object() else {
            return Ok(());
        };
        object.values().try_for_each(|child| self.value(child, scope))
    }

    fn expression(&self, class: &str, value: &Value, scope: &mut Scope) -> Result<()> {
        if !EXPRESSION_CLASSES.contains(&class) {
            return Err(self.refuse(
                value,
                &format!("The expression ({class}) is not allowed in a query"),
            ));
        }
        match class {
            "CONSTANT" => Ok(()),
            "FUNCTION" | "WINDOW" => {
                if value.get("export_state").and_then(Value::as_bool) == Some(true) {
                    return Err(self.refuse(value, "EXPORT_STATE is not allowed in a query"));
                }
                // DuckDB reads `name.lower()` as `lower(name)`. A window function has no such form.
                let qualifier = match class {
                    "FUNCTION" => Qualifier::Column,
                    _ => Qualifier::None,
                };
                self.function(value, qualifier, |name| FUNCTIONS.contains(name), "function")?;
                self.children(value, scope)
            }
            "COLUMN_REF" => {
                let names = value.get("column_names").and_then(Value::as_array);
                if let Some([Value::String(name)]) = names.map(Vec::as_slice)
                    && is_volatile_word(name)
                {
                    self.needs.borrow_mut().is_volatile = true;
                }
                self.children(value, scope)
            }
            _ => self.children(value, scope),
        }
    }

    fn function(
        &self,
        value: &Value,
        qualifier: Qualifier,
        is_allowed: impl Fn(&str) -> bool,
        what: &str,
    ) -> Result<()> {
        let text = |key: &str| {
            value
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or("")
                .to_ascii_lowercase()
        };
        let (name, schema, catalog) = (text("function_name"), text("schema"), text("catalog"));
        let is_qualified = !catalog.is_empty() || !(schema.is_empty() || schema == "main");
        let first = if catalog.is_empty() { &schema } else { &catalog };
        if is_qualified && (qualifier == Qualifier::None || is_of_the_catalog(first)) {
            return Err(self.refuse(
                value,
                &format!("The {what} '{name}' is named with a schema, which is not allowed"),
            ));
        }
        if !is_allowed(&name) {
            return Err(self.refuse(
                value,
                &format!("The {what} '{name}' does not exist or is not allowed in a query"),
            ));
        }
        if is_volatile_function(&name) {
            self.needs.borrow_mut().is_volatile = true;
        }
        Ok(())
    }

    fn query_node(&self, value: &Value, scope: &mut Scope) -> Result<()> {
        let kind = value.get("type").and_then(Value::as_str).unwrap_or("");
        if !NODE_TYPES.contains(&kind) {
            return Err(self.refuse(
                value,
                &format!("The statement ({kind}) is not allowed; only SELECT is"),
            ));
        }
        let depth = scope.len();
        let expressions = value
            .pointer("/cte_map/map")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        for expression in expressions {
            let name = expression
                .get("key")
                .and_then(Value::as_str)
                .unwrap_or("")
                .to_ascii_lowercase();
            if CATALOG_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
                return Err(Error::invalid(format!(
                    "The name '{name}' in WITH is reserved; choose another."
                )));
            }
            let body = expression.pointer("/value/query/node").unwrap_or(&Value::Null);
            // Only a recursive expression sees its own name. A plain one would find the catalog's table of
            // that name.
            let is_recursive = body.get("type").and_then(Value::as_str) == Some("RECURSIVE_CTE_NODE");
            let keys = body.get("key_targets").and_then(Value::as_array);
            if is_recursive {
                scope.push(Expression {
                    name: name.clone(),
                    is_recurring: keys.is_some_and(|keys| !keys.is_empty()),
                });
            }
            self.value(expression.get("value").unwrap_or(&Value::Null), scope)?;
            if is_recursive {
                scope.pop();
            }
            scope.push(Expression {
                name,
                is_recurring: false,
            });
        }
        for (_, child) in value
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(key, _)| *key != "cte_map")
        {
            self.value(child, scope)?;
        }
        scope.truncate(depth);
        Ok(())
    }

    fn table_reference(&self, value: &Value, scope: &mut Scope) -> Result<()> {
        match value.get("type").and_then(Value::as_str).unwrap_or("") {
            "BASE_TABLE" => self.base_table(value, scope),
            "TABLE_FUNCTION" => {
                let function = value.get("function").unwrap_or(&Value::Null);
                self.function(
                    function,
                    Qualifier::None,
                    |name| TABLE_FUNCTIONS.contains(&name),
                    "table function",
                )?;
                // The name was checked against its own list; the arguments are checked like any expression.
                self.children(function, scope)
            }
            "SHOW_REF" => self.description(value, scope),
            "PIVOT" => {
                self.pivot_types(value)?;
                self.children(value, scope)
            }
            kind if NODE_TYPES.contains(&kind) => self.children(value, scope),
            kind => Err(self.refuse(
                value,
                &format!("The table reference ({kind}) is not allowed in a query"),
            )),
        }
    }

    /// Checks DESCRIBE, SHOW or SUMMARIZE. The tree has a query for a table; without a query, the statement
    /// would list the catalog.
    fn description(&self, value: &Value, scope: &mut Scope) -> Result<()> {
        let is_empty = |key: &str| value.get(key).and_then(Value::as_str).is_none_or(str::is_empty);
        let query = value.get("query").filter(|query| query.is_object());
        let kind = value.get("show_type").and_then(Value::as_str).unwrap_or("");
        match query {
            Some(query)
                if ["DESCRIBE", "SUMMARY"].contains(&kind)
                    && ["table_name", "schema_name", "catalog_name"]
                        .into_iter()
                        .all(is_empty) =>
            {
                self.value(query, scope)
            }
            _ => Err(Error::invalid(
                "DESCRIBE, SHOW and SUMMARIZE take a table of the store or a query; the schema operation lists the tables.",
            )),
        }
    }

    /// Refuses a PIVOT over a type that the caller names.
    fn pivot_types(&self, value: &Value) -> Result<()> {
        let pivots = value.get("pivots").and_then(Value::as_array);
        for pivot in pivots.into_iter().flatten() {
            let name = pivot.get("pivot_enum").and_then(Value::as_str).unwrap_or("");
            if !name.is_empty() && !self.pivot_types.iter().any(|pivot_type| pivot_type == name) {
                return Err(self.refuse(
                    value,
                    "PIVOT takes its values from a list or a query, not from a type",
                ));
            }
        }
        Ok(())
    }

    fn base_table(&self, value: &Value, scope: &mut Scope) -> Result<()> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or("");
        let name = text("table_name");
        let is_recurring = text("schema_name").eq_ignore_ascii_case("recurring")
            && text("catalog_name").is_empty()
            && scope
                .iter()
                .any(|expression| expression.is_recurring && expression.name.eq_ignore_ascii_case(name));
        if is_recurring && value.get("at_clause").is_none_or(Value::is_null) {
            return self.value(value.get("sample").unwrap_or(&Value::Null), scope);
        }
        if !text("schema_name").is_empty() || !text("catalog_name").is_empty() {
            return Err(self.refuse(
                value,
                &format!("The table '{name}' is named with a schema or a catalog; a store's tables have only a name"),
            ));
        }
        if value.get("at_clause").is_some_and(|clause| !clause.is_null()) {
            return Err(self.refuse(value, "AT is not allowed; query the version itself instead"));
        }
        let table = self.tables.iter().find(|table| table.eq_ignore_ascii_case(name));
        self.needs.borrow_mut().tables.extend(table.cloned());
        if table.is_some()
            || scope
                .iter()
                .any(|expression| expression.name.eq_ignore_ascii_case(name))
        {
            return self.value(value.get("sample").unwrap_or(&Value::Null), scope);
        }
        let candidates: BTreeSet<&str> = self
            .tables
            .iter()
            .map(String::as_str)
            .chain(scope.iter().map(|expression| expression.name.as_str()))
            .collect();
        let suggestion = messages::closest(name, candidates)
            .map_or_else(String::new, |close| format!("; did you mean '{close}'?"));
        let shown: String = name.chars().take(100).collect();
        Err(self.refuse(
            value,
            &format!("The table '{shown}' does not exist in this store{suggestion}"),
        ))
    }
}

#[cfg(test)]
mod tests;
