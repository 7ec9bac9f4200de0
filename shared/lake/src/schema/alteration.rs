//! Validates changes of a table's columns as sent; `crate::schema::alter` applies them.
//!
//! The order is fixed: drop, rename (all at once, so that two columns can swap their names), modify, add. A
//! name refers to the column that has it at that step: `modify_columns` names a renamed column by its new
//! name, and `add_columns` may take the name of a dropped column, which makes another column.

use std::collections::BTreeMap;

use platform::clock::UtcTime;
use platform::http::strict;
use platform::http::text::{MAX_DESCRIPTION_LENGTH, MAX_TEXT_LENGTH, check_description};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use crate::schema::alter::{Alter, Altered};
use crate::schema::definition::{Column, MAX_COLUMNS, NAME_PATTERN, SemanticType, validate_name};
use crate::schema::manifest::TableVersion;
use crate::schema::types::ColumnType;

fn given_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<SemanticType>>, D::Error> {
    strict::optional_name(deserializer).map(Some)
}

/// A new name of a column. A field that is not listed here is refused.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ColumnRename {
    /// Present name of the column, in upper or lower case.
    pub from: String,
    /// New name: a letter or `_`, then letters, digits and `_`, at most 63 in all.
    #[schemars(regex(pattern = NAME_PATTERN))]
    pub to: String,
}

/// A change of one column, or in an update of the schema a new one. What is left out stays. A field that is
/// not listed here is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ColumnChange {
    /// Name of the column, in upper or lower case.
    pub name: String,
    /// New type of the values, to which all of them must convert.
    #[serde(rename = "type", default)]
    pub column_type: Option<ColumnType>,
    /// New meaning of the values, for people, at most 10,000 characters; null removes it.
    #[serde(default, deserialize_with = "strict::given")]
    #[schemars(with = "Option<String>", length(max = MAX_DESCRIPTION_LENGTH))]
    pub description: Option<Option<String>>,
    /// Whether a row can have null here. False is a 409 if a row has null.
    #[serde(default)]
    pub nullable: Option<bool>,
    /// Whether the column is part of the primary key. True is a 409 if a row has null, or a key occurs twice.
    #[serde(default)]
    pub primary_key: Option<bool>,
    /// Whether each value occurs at most once; any number of rows can have null. True is a 409 if a value
    /// occurs twice.
    #[serde(default)]
    pub unique: Option<bool>,
    /// New value of imported rows that leave the column out: a SQL literal, `current_timestamp`,
    /// `current_date` or `uuid()`, at most 2,000 characters; null removes it. Rows that are there do not
    /// change.
    #[serde(default, deserialize_with = "strict::given")]
    #[schemars(with = "Option<String>", length(max = MAX_TEXT_LENGTH))]
    pub default: Option<Option<String>>,
    /// New hint at the meaning of the values; null removes it.
    #[serde(default, deserialize_with = "given_name")]
    #[schemars(with = "Option<SemanticType>")]
    pub semantic_type: Option<Option<SemanticType>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableAlteration {
    /// Meaning of a row, for people; an inner None removes it.
    pub description: Option<Option<String>>,
    pub drop_columns: Vec<String>,
    pub rename_columns: Vec<ColumnRename>,
    pub modify_columns: Vec<ColumnChange>,
    /// New columns, appended after the existing ones.
    pub add_columns: Vec<Column>,
}

impl ColumnChange {
    /// Makes a new column from the change. Fails with 400 if the type is missing; `path` is its position in
    /// the request.
    pub fn new_column(&self, path: &str) -> Result<Column> {
        let column_type = self.column_type.ok_or_else(|| {
            Error::invalid(format!(
                "{path}.type is missing; the column '{}' is new and needs one.",
                shown(&self.name)
            ))
        })?;
        Ok(Column {
            name: self.name.clone(),
            column_type,
            description: self.description.clone().flatten(),
            nullable: self.nullable.unwrap_or(true),
            primary_key: self.primary_key.unwrap_or(false),
            unique: self.unique.unwrap_or(false),
            default: self.default.clone().flatten(),
            semantic_type: self.semantic_type.flatten(),
        })
    }
}

impl TableAlteration {
    /// Checks what does not depend on the table. Fails with 400 and the path of a wrong or contradictory
    /// field.
    pub fn validate(&self) -> Result<()> {
        let counts = [
            ("drop_columns", self.drop_columns.len()),
            ("rename_columns", self.rename_columns.len()),
            ("modify_columns", self.modify_columns.len()),
            ("add_columns", self.add_columns.len()),
        ];
        if self.description.is_none() && counts.iter().all(|(_, count)| *count == 0) {
            return Err(Error::invalid(
                "Nothing is to be changed; send 'add_columns', 'drop_columns', 'rename_columns', 'modify_columns' or \
                 'description'.",
            ));
        }
        for (list, count) in counts {
            if count > MAX_COLUMNS {
                return Err(Error::invalid_field(
                    list,
                    format!("has more than {MAX_COLUMNS} entries."),
                ));
            }
        }
        check_description(
            "description",
            self.description.as_ref().and_then(Option::as_deref),
        )?;
        let dropped = once("drop_columns", "", self.drop_columns.iter())?;
        let from = once(
            "rename_columns",
            ".from",
            self.rename_columns.iter().map(|rename| &rename.from),
        )?;
        let to = once(
            "rename_columns",
            ".to",
            self.rename_columns.iter().map(|rename| &rename.to),
        )?;
        let modified = once(
            "modify_columns",
            ".name",
            self.modify_columns.iter().map(|change| &change.name),
        )?;
        let added = once(
            "add_columns",
            ".name",
            self.add_columns.iter().map(|column| &column.name),
        )?;
        for (index, rename) in self.rename_columns.iter().enumerate() {
            validate_name(&rename.to, &format!("rename_columns[{index}].to"))?;
        }
        for (index, column) in self.add_columns.iter().enumerate() {
            column.validate(&format!("add_columns[{index}]"))?;
        }
        contradiction(&from, &dropped, |name| {
            format!("rename_columns names '{name}', which drop_columns drops")
        })?;
        contradiction(&added, &to, |name| {
            format!("add_columns and rename_columns both make a column '{name}'")
        })?;
        let gone = dropped
            .iter()
            .chain(&from)
            .filter(|(name, _)| !to.contains_key(*name));
        let gone: Names = gone.map(|(name, index)| (name.clone(), *index)).collect();
        contradiction(&modified, &gone, |name| {
            format!(
                "modify_columns names '{name}', which the same request drops or renames; a renamed column is modified under \
                 its new name"
            )
        })
    }

    /// Applies the changes to a table; `now` is the time for defaults of new columns.
    pub(crate) fn apply(&self, table: &TableVersion, now: UtcTime) -> Result<Altered> {
        let mut alter = Alter::new(table, now);
        if let Some(description) = &self.description {
            alter.describe(description.clone());
        }
        alter.drop_columns(&self.drop_columns)?;
        alter.rename(&self.rename_columns)?;
        for (index, change) in self.modify_columns.iter().enumerate() {
            alter.modify(change, &format!("modify_columns[{index}]"))?;
        }
        for (index, column) in self.add_columns.iter().enumerate() {
            alter.add(column, &format!("add_columns[{index}]"))?;
        }
        alter.finish()
    }
}

/// Names in lower case, with their index in the request's list.
type Names = BTreeMap<String, usize>;

/// Returns the names of a list; fails with 400 if one occurs twice.
fn once<'a>(list: &str, field: &str, names: impl Iterator<Item = &'a String>) -> Result<Names> {
    let mut seen = Names::new();
    for (index, name) in names.enumerate() {
        if let Some(first) = seen.insert(name.to_ascii_lowercase(), index) {
            return Err(Error::invalid(format!(
                "{list}[{index}]{field} names '{}', which {list}[{first}]{field} names already; case does not count.",
                shown(name)
            )));
        }
    }
    Ok(seen)
}

fn contradiction(names: &Names, others: &Names, sentence: impl Fn(&str) -> String) -> Result<()> {
    match names.keys().find(|name| others.contains_key(*name)) {
        None => Ok(()),
        Some(name) => Err(Error::invalid(format!("{}.", sentence(&shown(name))))),
    }
}

/// Cuts a name for a message if it is longer than any valid name.
pub(crate) fn shown(name: &str) -> String {
    const MAX_SHOWN: usize = 64;
    let mut shown: String = name.chars().take(MAX_SHOWN).collect();
    if name.chars().nth(MAX_SHOWN).is_some() {
        shown.push('…');
    }
    shown
}
