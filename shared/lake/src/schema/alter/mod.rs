//! Applies column changes to a table and derives the checks and rewrites that its rows need: pure, before the
//! rows are read.
//!
//! Adding, dropping, renaming and widening change only the description. A conversion to a type that is not
//! wider, and a default with another value in each row, require a rewrite of the files.

use std::collections::{BTreeMap, BTreeSet};

use platform::clock::UtcTime;
use platform::http::text::{check_description, check_text};
use platform::{Error, Result};

use crate::schema::alteration::{ColumnChange, ColumnRename, shown};
use crate::schema::defaults::DefaultValue;
use crate::schema::definition::{Column, MAX_COLUMNS};
use crate::schema::manifest::{ManifestColumn, TableVersion};
use crate::schema::types::ColumnType;

/// Source of the values of a column in rewritten files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueSource {
    /// The column of this field id, unchanged.
    Kept(u32),
    /// The column of this field id, converted to the new type.
    Converted(u32),
    /// The column's default, evaluated for each row.
    Default,
}

/// Columns whose combined values must be unique.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyCheck {
    pub(crate) is_primary: bool,
    pub(crate) field_ids: Vec<u32>,
}

/// An altered table, and the checks and rewrites that its rows still need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Altered {
    /// Still names the old files if they must be rewritten.
    pub(crate) table: TableVersion,
    /// The source of each column's values, if the files must be rewritten.
    pub(crate) rewrite: Option<Vec<ValueSource>>,
    /// Columns that the change makes required: every row must have a value.
    pub(crate) required: Vec<u32>,
    /// Keys that the change adds and that the rows must satisfy.
    pub(crate) keys: Vec<KeyCheck>,
}

impl Altered {
    /// Returns an alteration whose rows need no check and no rewrite.
    pub(crate) fn new(table: TableVersion) -> Self {
        Self {
            table,
            rewrite: None,
            required: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// Returns whether the rows need a check or a rewrite.
    pub(crate) fn has_work(&self) -> bool {
        self.rewrite.is_some() || !self.required.is_empty() || !self.keys.is_empty()
    }
}

/// A table during its alteration.
pub(crate) struct Alter<'a> {
    before: &'a TableVersion,
    table: TableVersion,
    now: UtcTime,
    /// Columns whose stored values must be converted.
    converted: BTreeSet<u32>,
    /// New columns whose default has another value in each row.
    per_row: BTreeSet<u32>,
}

impl<'a> Alter<'a> {
    pub(crate) fn new(before: &'a TableVersion, now: UtcTime) -> Self {
        Self {
            before,
            table: before.clone(),
            now,
            converted: BTreeSet::new(),
            per_row: BTreeSet::new(),
        }
    }

    pub(crate) fn describe(&mut self, description: Option<String>) {
        self.table.description = description;
    }

    pub(crate) fn has_column(&self, name: &str) -> bool {
        self.table.column(name).is_some()
    }

    pub(crate) fn drop_columns(&mut self, names: &[String]) -> Result<()> {
        for name in names {
            let at = self.position(name)?;
            self.table.columns.remove(at);
        }
        Ok(())
    }

    /// Renames all columns at once, so that two columns can swap their names.
    pub(crate) fn rename(&mut self, renames: &[ColumnRename]) -> Result<()> {
        let positions = renames.iter().map(|rename| self.position(&rename.from));
        let positions = positions.collect::<Result<Vec<_>>>()?;
        for (at, rename) in positions.into_iter().zip(renames) {
            if let Some(column) = self.table.columns.get_mut(at) {
                column.name.clone_from(&rename.to);
            }
        }
        let mut names = BTreeSet::new();
        for column in &self.table.columns {
            if !names.insert(column.name.to_ascii_lowercase()) {
                return Err(self.name_conflict(&column.name));
            }
        }
        Ok(())
    }

    /// Changes one column; `path` is the position of the change in the request.
    pub(crate) fn modify(&mut self, change: &ColumnChange, path: &str) -> Result<()> {
        let at = self.position(&change.name)?;
        let has_rows = self.has_rows();
        let Some(column) = self.table.columns.get_mut(at) else {
            return Err(Error::internal("the column that was found is gone"));
        };
        let mut bounds_are_stale = false;
        if let Some(column_type) = change.column_type
            && column_type != column.column_type
        {
            let from = column.column_type;
            column.column_type = column_type;
            if !has_rows {
                column.initial_default = None;
            } else if from.widens_to(column_type) {
                // A FLOAT's text, parsed as DOUBLE, gives another value than the widened FLOAT.
                bounds_are_stale = from == ColumnType::Float;
                if bounds_are_stale {
                    let exact = column.initial_default.as_deref().and_then(as_double);
                    column.initial_default = exact.or(column.initial_default.take());
                }
            } else {
                self.converted.insert(column.field_id);
            }
        }
        if let Some(description) = &change.description {
            check_description(&format!("{path}.description"), description.as_deref())?;
            column.description.clone_from(description);
        }
        if let Some(is_key) = change.primary_key {
            column.primary_key = is_key;
        }
        if column.primary_key && change.nullable == Some(true) {
            return Err(Error::invalid(format!(
                "{path}.nullable is true, but '{}' is part of the primary key and always has a value.",
                column.name
            )));
        }
        column.nullable = change.nullable.unwrap_or(column.nullable) && !column.primary_key;
        column.unique = change.unique.unwrap_or(column.unique);
        if let Some(semantic_type) = change.semantic_type {
            column.semantic_type = semantic_type;
        }
        if let Some(default) = &change.default {
            check_text(&format!("{path}.default"), default.as_deref())?;
            column.default.clone_from(default);
        }
        column.definition().default_value().map_err(|reason| {
            let advice = if change.default.is_none() {
                "; the column has it, so send another default, or null"
            } else {
                ""
            };
            Error::invalid(format!("{path}.default {reason}{advice}."))
        })?;
        if bounds_are_stale {
            let field_id = column.field_id;
            self.forget_bounds(field_id);
        }
        Ok(())
    }

    /// Adds a column after the others; `path` is its position in the request.
    pub(crate) fn add(&mut self, column: &Column, path: &str) -> Result<()> {
        column.validate(path)?;
        if self.has_column(&column.name) {
            return Err(self.name_conflict(&column.name));
        }
        let default = column.default_value().map_err(Error::internal)?;
        let default = default.filter(|default| *default != DefaultValue::Null);
        if self.has_rows() && column.is_required() && default.is_none() {
            return Err(Error::conflict(format!(
                "Table '{}' has rows, which would have no value in the new column '{}'; give it a default, or make it \
                 nullable.",
                self.table.name, column.name
            )));
        }
        let field_id = self.table.next_field_id;
        let next = field_id.checked_add(1);
        self.table.next_field_id = next.ok_or_else(|| Error::internal("the field ids are used up"))?;
        let initial_default = default
            .as_ref()
            .and_then(|default| default.initial_text(self.now, column.column_type));
        if self.has_rows() && default == Some(DefaultValue::Uuid) {
            self.per_row.insert(field_id);
        }
        // A key column is never null, and the schema shows it so.
        let column = Column {
            nullable: !column.is_required(),
            ..column.clone()
        };
        self.table
            .columns
            .push(ManifestColumn::new(field_id, column, initial_default));
        Ok(())
    }

    /// Returns the altered table and the checks and rewrites that its rows need.
    pub(crate) fn finish(mut self) -> Result<Altered> {
        let count = self.table.columns.len();
        if count == 0 {
            return Err(Error::invalid(format!(
                "Table '{}' would have no column left; drop the table instead.",
                self.table.name
            )));
        }
        if count > MAX_COLUMNS {
            return Err(Error::invalid(format!(
                "Table '{}' would have {count} columns; a table takes at most {MAX_COLUMNS}.",
                self.table.name
            )));
        }
        if !self.has_rows() {
            return Ok(Altered::new(self.table));
        }
        let is_kept: BTreeSet<_> = self.table.columns.iter().map(|column| column.field_id).collect();
        self.converted.retain(|field_id| is_kept.contains(field_id));
        let required = self.newly_required();
        let keys = self.new_keys();
        if self.converted.is_empty() && self.per_row.is_empty() {
            return Ok(Altered {
                table: self.table,
                rewrite: None,
                required,
                keys,
            });
        }
        let before = by_id(self.before);
        let source = |column: &ManifestColumn| {
            let field_id = column.field_id;
            if self.converted.contains(&field_id) {
                ValueSource::Converted(field_id)
            } else if before.contains_key(&field_id) {
                ValueSource::Kept(field_id)
            } else {
                ValueSource::Default
            }
        };
        let rewrite = self.table.columns.iter().map(source).collect();
        for column in &mut self.table.columns {
            // The rewritten files hold every column.
            column.initial_default = None;
        }
        Ok(Altered {
            table: self.table,
            rewrite: Some(rewrite),
            required,
            keys,
        })
    }

    fn newly_required(&self) -> Vec<u32> {
        let before = by_id(self.before);
        let columns = self.table.columns.iter().filter(|column| {
            let was_free = before
                .get(&column.field_id)
                .is_some_and(|before| !before.definition().is_required());
            was_free && column.definition().is_required()
        });
        columns.map(|column| column.field_id).collect()
    }

    /// Returns the keys that the table's former keys do not imply.
    fn new_keys(&self) -> Vec<KeyCheck> {
        let old = keys(self.before);
        let old: Vec<_> = old
            .iter()
            .filter(|key| key.field_ids.iter().all(|id| !self.converted.contains(id)))
            .collect();
        let is_free = |field_id: u32| {
            // A column that is null in every row, or has another value in each, cannot repeat a value.
            let column = self
                .table
                .columns
                .iter()
                .find(|column| column.field_id == field_id);
            let is_new = field_id >= self.before.next_field_id;
            self.per_row.contains(&field_id)
                || is_new && column.is_some_and(|column| column.initial_default.is_none())
        };
        let mut new = keys(&self.table);
        new.retain(|key| {
            let follows = old
                .iter()
                .any(|old| old.field_ids.iter().all(|id| key.field_ids.contains(id)));
            !follows && !key.field_ids.iter().any(|id| is_free(*id))
        });
        new
    }

    /// Removes a column's minimum and maximum, because their texts no longer bound the values that a reader
    /// sees.
    fn forget_bounds(&mut self, field_id: u32) {
        for segment in &mut self.table.segments {
            if let Some(statistics) = segment.columns.get_mut(&field_id) {
                statistics.min = None;
                statistics.max = None;
            }
        }
    }

    fn has_rows(&self) -> bool {
        !self.before.segments.is_empty()
    }

    fn position(&self, name: &str) -> Result<usize> {
        let mut columns = self.table.columns.iter();
        columns
            .position(|column| column.name.eq_ignore_ascii_case(name))
            .ok_or_else(|| Error::not_found("column", &format!("{}.{}", self.table.name, shown(name))))
    }

    fn name_conflict(&self, name: &str) -> Error {
        Error::conflict(format!(
            "Table '{}' would have two columns named '{name}'; case does not count.",
            self.table.name
        ))
    }
}

fn by_id(table: &TableVersion) -> BTreeMap<u32, &ManifestColumn> {
    let columns = table.columns.iter().map(|column| (column.field_id, column));
    columns.collect()
}

/// Returns the keys of a table: the primary key, then each unique column that is not the whole primary key.
fn keys(table: &TableVersion) -> Vec<KeyCheck> {
    let primary: Vec<_> = table
        .columns
        .iter()
        .filter(|column| column.primary_key)
        .map(|column| column.field_id)
        .collect();
    let unique = table
        .columns
        .iter()
        .filter(|column| column.unique && primary != [column.field_id])
        .map(|column| KeyCheck {
            is_primary: false,
            field_ids: vec![column.field_id],
        });
    let unique: Vec<_> = unique.collect();
    let primary = (!primary.is_empty()).then_some(KeyCheck {
        is_primary: true,
        field_ids: primary,
    });
    primary.into_iter().chain(unique).collect()
}

/// Returns the DOUBLE to which the FLOAT of this text widens, as text.
fn as_double(text: &str) -> Option<String> {
    let value: f32 = text.parse().ok()?;
    Some(f64::from(value).to_string())
}

#[cfg(test)]
mod tests;
