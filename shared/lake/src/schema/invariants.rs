//! Checks the invariants of a manifest, as named predicates: at each write and in the operator's check.

use std::collections::BTreeSet;

use crate::schema::defaults::constant_fits;
use crate::schema::definition::validate_name;
use crate::schema::manifest::{Manifest, TableVersion};

impl Manifest {
    /// Checks every invariant; the error has a sentence for each broken one.
    pub fn check(&self) -> Result<(), Vec<String>> {
        let mut broken = Vec::new();
        table_names_and_ids_are_unique(self, &mut broken);
        table_ids_are_issued(self, &mut broken);
        segment_ids_are_unique(self, &mut broken);
        relationships_point_to_columns(self, &mut broken);
        relationships_are_unique(self, &mut broken);
        for table in &self.tables {
            tables_have_columns(table, &mut broken);
            names_are_well_formed(table, &mut broken);
            column_names_are_unique(table, &mut broken);
            field_ids_are_unique_and_issued(table, &mut broken);
            primary_keys_are_not_nullable(table, &mut broken);
            defaults_convert_to_their_types(table, &mut broken);
            segments_hold_rows(table, &mut broken);
            statistics_are_of_issued_fields(table, &mut broken);
        }
        if broken.is_empty() { Ok(()) } else { Err(broken) }
    }
}

fn repeated<T: Ord>(values: impl IntoIterator<Item = T>) -> Option<T> {
    let mut seen = BTreeSet::new();
    for value in values {
        if seen.contains(&value) {
            return Some(value);
        }
        seen.insert(value);
    }
    None
}

fn table_names_and_ids_are_unique(manifest: &Manifest, broken: &mut Vec<String>) {
    if let Some(name) = repeated(
        manifest
            .tables
            .iter()
            .map(|table| table.name.to_ascii_lowercase()),
    ) {
        broken.push(format!("two tables are named '{name}'"));
    }
    if let Some(id) = repeated(manifest.tables.iter().map(|table| table.table_id)) {
        broken.push(format!("two tables have the id {id}"));
    }
}

fn segment_ids_are_unique(manifest: &Manifest, broken: &mut Vec<String>) {
    let ids = manifest
        .tables
        .iter()
        .flat_map(|table| &table.segments)
        .map(|segment| segment.segment_id.as_str());
    if let Some(id) = repeated(ids) {
        broken.push(format!("the segment '{id}' occurs twice"));
    }
}

fn relationships_point_to_columns(manifest: &Manifest, broken: &mut Vec<String>) {
    let exists = |end: &str| {
        end.split_once('.')
            .and_then(|(table, column)| manifest.table(table)?.column(column))
            .is_some()
    };
    for relationship in &manifest.relationships {
        for end in [&relationship.from, &relationship.to] {
            if !exists(end) {
                broken.push(format!("a relationship names '{end}', which is no column"));
            }
        }
    }
}

fn column_names_are_unique(table: &TableVersion, broken: &mut Vec<String>) {
    if let Some(name) = repeated(
        table
            .columns
            .iter()
            .map(|column| column.name.to_ascii_lowercase()),
    ) {
        broken.push(format!("table '{}' has two columns named '{name}'", table.name));
    }
}

fn field_ids_are_unique_and_issued(table: &TableVersion, broken: &mut Vec<String>) {
    if let Some(id) = repeated(table.columns.iter().map(|column| column.field_id)) {
        broken.push(format!(
            "table '{}' has two columns with the field id {id}",
            table.name
        ));
    }
    for column in &table.columns {
        if column.field_id == 0 || column.field_id >= table.next_field_id {
            broken.push(format!(
                "column '{}.{}' has the field id {}, which is not between 1 and next_field_id ({})",
                table.name, column.name, column.field_id, table.next_field_id
            ));
        }
    }
}

fn segments_hold_rows(table: &TableVersion, broken: &mut Vec<String>) {
    for segment in table
        .segments
        .iter()
        .filter(|segment| segment.rows == 0 || segment.bytes == 0)
    {
        broken.push(format!(
            "segment '{}' of table '{}' is empty",
            segment.segment_id, table.name
        ));
    }
}

fn statistics_are_of_issued_fields(table: &TableVersion, broken: &mut Vec<String>) {
    for segment in &table.segments {
        for field_id in segment
            .columns
            .keys()
            .filter(|id| **id == 0 || **id >= table.next_field_id)
        {
            broken.push(format!(
                "segment '{}' of table '{}' has statistics of the field {field_id}, which was never issued",
                segment.segment_id, table.name
            ));
        }
    }
}

fn table_ids_are_issued(manifest: &Manifest, broken: &mut Vec<String>) {
    let next = manifest.next_table_id;
    for table in manifest.tables.iter().filter(|table| table.table_id >= next) {
        broken.push(format!(
            "table '{}' has the id {}, which is not below next_table_id ({next})",
            table.name, table.table_id
        ));
    }
}

fn relationships_are_unique(manifest: &Manifest, broken: &mut Vec<String>) {
    let ends = manifest.relationships.iter().map(|relationship| {
        (
            relationship.from.to_ascii_lowercase(),
            relationship.to.to_ascii_lowercase(),
        )
    });
    if let Some((from, to)) = repeated(ends) {
        broken.push(format!("'{from}' and '{to}' are related twice"));
    }
}

fn tables_have_columns(table: &TableVersion, broken: &mut Vec<String>) {
    if table.columns.is_empty() {
        broken.push(format!("table '{}' has no columns", table.name));
    }
}

fn names_are_well_formed(table: &TableVersion, broken: &mut Vec<String>) {
    let columns = table.columns.iter().map(|column| column.name.as_str());
    for name in columns.chain([table.name.as_str()]) {
        if validate_name(name, "").is_err() {
            broken.push(format!("'{name}' is not a name, in table '{}'", table.name));
        }
    }
}

fn primary_keys_are_not_nullable(table: &TableVersion, broken: &mut Vec<String>) {
    for column in table
        .columns
        .iter()
        .filter(|column| column.primary_key && column.nullable)
    {
        broken.push(format!(
            "column '{}.{}' is part of the primary key and is nullable",
            table.name, column.name
        ));
    }
}

fn defaults_convert_to_their_types(table: &TableVersion, broken: &mut Vec<String>) {
    for column in &table.columns {
        if let Err(reason) = column.definition().default_value() {
            broken.push(format!(
                "the default of column '{}.{}' {reason}",
                table.name, column.name
            ));
        }
        let initial = column.initial_default.as_deref();
        if initial.is_some_and(|text| !constant_fits(text, column.column_type)) {
            broken.push(format!(
                "the initial default of column '{}.{}' does not convert to {}",
                table.name, column.name, column.column_type
            ));
        }
    }
}
