//! Defines columns and tables as a caller sends them, with their validation rules.

use std::collections::BTreeMap;

use platform::http::strict;
use platform::http::text::{MAX_DESCRIPTION_LENGTH, MAX_TEXT_LENGTH, check_description, check_text};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema::defaults::DefaultValue;
use crate::schema::types::ColumnType;

/// Most columns of a table.
pub const MAX_COLUMNS: usize = 2_000;
/// Longest name of a table or a column, in characters.
pub const MAX_NAME_LENGTH: usize = 63;
/// The names that [`validate_name`] accepts, as a regular expression.
pub(crate) const NAME_PATTERN: &str = "^[A-Za-z_][A-Za-z0-9_]{0,62}$";

/// Meaning of the values of a column: a hint for queries and charts, which changes neither storage nor
/// checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SemanticType {
    /// E-mail address.
    Email,
    /// Telephone number.
    Phone,
    /// Address of a web page or file.
    Url,
    /// Amount of money.
    Currency,
    /// Share of a whole.
    Percentage,
    /// Name of a person.
    PersonName,
    /// Postal address.
    Address,
    /// Name or code of a country.
    Country,
    /// Date as ISO 8601 text.
    DateIso,
    /// Id of a record, here or in another system.
    Identifier,
}

/// The definition of a column. A field that is not listed here is refused, so that a misspelt one changes
/// nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ColumnDefinition")]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// A letter or `_`, then letters, digits and `_`, at most 63 in all; unique in the table without regard
    /// to case.
    #[schemars(regex(pattern = NAME_PATTERN))]
    pub name: String,
    /// Type of the values.
    #[serde(rename = "type")]
    pub column_type: ColumnType,
    /// Meaning of the values, for people; at most 10,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_DESCRIPTION_LENGTH))]
    pub description: Option<String>,
    /// Whether a row can have null here. Default: true, but never for a column of the primary key.
    #[serde(default = "yes")]
    pub nullable: bool,
    /// Whether the column is part of the primary key, whose values occur once in the table. Default: false.
    #[serde(default, skip_serializing_if = "is_false")]
    pub primary_key: bool,
    /// Whether each value occurs at most once; any number of rows can have null. Default: false.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unique: bool,
    /// Value of imported rows that leave the column out: a SQL literal such as `'new'`, `12.5` or `DATE
    /// '2026-01-02'`, or `current_timestamp`, `current_date` or `uuid()`; at most 2,000 characters. Default:
    /// null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_TEXT_LENGTH))]
    pub default: Option<String>,
    /// Hint at the meaning of the values.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "strict::optional_name"
    )]
    pub semantic_type: Option<SemanticType>,
}

pub(crate) fn yes() -> bool {
    true
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
pub(crate) fn is_false(value: &bool) -> bool {
    !value
}

impl Column {
    /// Returns whether every row needs a value in this column.
    pub fn is_required(&self) -> bool {
        !self.nullable || self.primary_key
    }

    /// Checks the column; `path` is its position in the request, such as `tables[0].columns[2]`.
    pub fn validate(&self, path: &str) -> Result<()> {
        validate_name(&self.name, &format!("{path}.name"))?;
        check_description(&format!("{path}.description"), self.description.as_deref())?;
        check_text(&format!("{path}.default"), self.default.as_deref())?;
        self.default_value()
            .map_err(|reason| Error::invalid(format!("{path}.default {reason}.")))?;
        Ok(())
    }

    /// Parses the default; None if the column has none. The error completes a sentence that starts with the
    /// field's path.
    pub fn default_value(&self) -> Result<Option<DefaultValue>, String> {
        self.default
            .as_deref()
            .map(|text| DefaultValue::parse(text, self.column_type))
            .transpose()
    }
}

/// The definition of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TableDefinition {
    /// A letter or `_`, then letters, digits and `_`, at most 63 in all; unique in the data store without
    /// regard to case.
    #[schemars(regex(pattern = NAME_PATTERN))]
    pub name: String,
    /// Meaning of a row, for people; at most 10,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_DESCRIPTION_LENGTH))]
    pub description: Option<String>,
    /// 1 to 2,000 columns.
    #[serde(deserialize_with = "strict::objects")]
    #[schemars(length(min = 1, max = MAX_COLUMNS))]
    pub columns: Vec<Column>,
}

impl TableDefinition {
    /// Checks the table and its columns; `path` is its position in the request, such as `tables[0]`.
    pub fn validate(&self, path: &str) -> Result<()> {
        validate_name(&self.name, &format!("{path}.name"))?;
        check_description(&format!("{path}.description"), self.description.as_deref())?;
        validate_columns(&self.columns, &format!("{path}.columns"))
    }
}

/// Checks a table's columns: their number, each column, and that no name occurs twice.
pub fn validate_columns(columns: &[Column], path: &str) -> Result<()> {
    if columns.is_empty() || columns.len() > MAX_COLUMNS {
        return Err(Error::invalid(format!(
            "{path} must hold 1 to {MAX_COLUMNS} columns, not {}.",
            columns.len()
        )));
    }
    let mut seen = BTreeMap::new();
    for (index, column) in columns.iter().enumerate() {
        column.validate(&format!("{path}[{index}]"))?;
        if let Some(first) = seen.insert(column.name.to_ascii_lowercase(), index) {
            return Err(Error::invalid(format!(
                "{path}[{index}].name '{}' is already the name of {path}[{first}]; case does not count.",
                column.name
            )));
        }
    }
    Ok(())
}

/// Checks the name of a table or a column; `path` is its position in the request.
pub fn validate_name(name: &str, path: &str) -> Result<()> {
    let starts_well = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let goes_on_well = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if starts_well && goes_on_well && name.len() <= MAX_NAME_LENGTH {
        return Ok(());
    }
    let shown: String = name.chars().take(MAX_NAME_LENGTH + 1).collect();
    Err(Error::invalid(format!(
        "{path} '{shown}' is not a name: use a letter or '_', then letters, digits and '_', at most \
         {MAX_NAME_LENGTH} in all."
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(columns: serde_json::Value) -> TableDefinition {
        serde_json::from_value(serde_json::json!({ "name": "orders", "columns": columns })).unwrap()
    }

    fn refused(columns: serde_json::Value) -> String {
        let error = table(columns).validate("tables[0]").unwrap_err();
        assert_eq!(error.status(), 400);
        error.message().to_owned()
    }

    #[test]
    fn the_smallest_column_is_nullable_and_nothing_else() {
        let definition = table(serde_json::json!([{ "name": "id", "type": "bigint" }]));
        definition.validate("tables[0]").unwrap();
        let column = &definition.columns[0];
        assert!(column.nullable && !column.primary_key && !column.unique && !column.is_required());
        assert_eq!(
            serde_json::to_value(column).unwrap(),
            serde_json::json!({ "name": "id", "type": "BIGINT", "nullable": true })
        );
    }

    #[test]
    fn a_misspelt_field_is_an_error_that_names_it() {
        let error =
            serde_json::from_str::<Column>(r#"{"name":"a","type":"STRING","nulable":false}"#).unwrap_err();
        assert!(error.to_string().contains("nulable"), "{error}");
        let error = serde_json::from_str::<Column>(r#"{"name":"a","type":"TEXT"}"#).unwrap_err();
        assert!(error.to_string().contains("STRING, INTEGER"), "{error}");
        let error = serde_json::from_str::<Column>(r#"{"name":"a","type":"STRING","semantic_type":"mail"}"#)
            .unwrap_err();
        assert!(error.to_string().contains("person_name"), "{error}");
    }

    #[test]
    fn broken_rules_name_their_path() {
        assert!(refused(serde_json::json!([])).starts_with("tables[0].columns must hold 1 to"));
        let message = refused(serde_json::json!([{ "name": "a b", "type": "STRING" }]));
        assert!(
            message.starts_with("tables[0].columns[0].name 'a b'"),
            "{message}"
        );
        let message = refused(serde_json::json!([
            { "name": "a", "type": "STRING" }, { "name": "A", "type": "STRING" }
        ]));
        assert!(
            message.contains("columns[1].name 'A' is already the name of tables[0].columns[0]"),
            "{message}"
        );
        let message = refused(serde_json::json!([{ "name": "a", "type": "DATE", "default": "'soon'" }]));
        assert!(
            message.starts_with("tables[0].columns[0].default ('soon') does not convert"),
            "{message}"
        );
    }

    #[test]
    fn names_are_bounded() {
        validate_name(&"a".repeat(63), "name").unwrap();
        for bad in ["", "1a", "a-b", "é", &"a".repeat(64)] {
            assert!(validate_name(bad, "name").is_err(), "{bad}");
        }
    }
}
