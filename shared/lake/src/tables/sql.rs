//! Quotes names and texts for SQL. Every module that builds a statement quotes with these functions.

use std::path::Path;

use platform::{Error, Result};

use crate::schema::manifest::ManifestColumn;

/// Quotes `text` as a string literal.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Quotes `text` as a string literal; None becomes NULL.
pub(crate) fn literal_or_null(text: Option<&str>) -> String {
    text.map_or_else(|| "NULL".to_owned(), literal)
}

/// Quotes `name` as an identifier.
pub(crate) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Quotes `path` as a string literal; fails if it is not UTF-8.
pub(crate) fn path(path: &Path) -> Result<String> {
    path.to_str()
        .map(literal)
        .ok_or_else(|| Error::internal("a path is not UTF-8"))
}

/// Quotes `paths` as a list of string literals.
pub(crate) fn paths<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<String> {
    let literals = paths.into_iter().map(path).collect::<Result<Vec<_>>>()?;
    Ok(format!("[{}]", literals.join(", ")))
}

/// Name of the column with row numbers. No column of a table can have this name, so it hides none.
pub(crate) const ROW_NUMBER: &str = "\"row number\"";

/// Numbers the rows of a relation from 1.
pub(crate) fn numbered(relation: &str) -> String {
    format!("(SELECT row_number() OVER () AS {ROW_NUMBER}, * FROM {relation})")
}

/// Returns a relation with exactly `columns`, in their order, over Parquet files written under field ids. A
/// file without a column gives its initial default, a renamed column is found by its id, and a narrower type
/// is widened.
pub(crate) fn table_relation(columns: &[ManifestColumn], files: &[impl AsRef<Path>]) -> Result<String> {
    if files.is_empty() {
        let typed: Vec<_> = columns
            .iter()
            .map(|column| {
                format!(
                    "CAST(NULL AS {}) AS {}",
                    column.column_type.duckdb_type(),
                    identifier(&column.name)
                )
            })
            .collect();
        return Ok(format!("(SELECT {} WHERE false)", typed.join(", ")));
    }
    let names: Vec<_> = columns.iter().map(|column| identifier(&column.name)).collect();
    let schema: Vec<_> = columns
        .iter()
        .map(|column| {
            format!(
                "{}: {{name: {}, type: {}, default_value: {}}}",
                column.field_id,
                literal(&column.name),
                literal(&column.column_type.duckdb_type()),
                literal_or_null(column.initial_default.as_deref())
            )
        })
        .collect();
    Ok(format!(
        "(SELECT {} FROM read_parquet({}, schema = MAP {{{}}}))",
        names.join(", "),
        paths(files.iter().map(AsRef::as_ref))?,
        schema.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_doubled() {
        assert_eq!(literal("it's"), "'it''s'");
        assert_eq!(identifier("a\"b"), "\"a\"\"b\"");
        assert_eq!(literal_or_null(None), "NULL");
    }
}
