//! Names the schema changes between two versions.
//!
//! Tables are compared by table id and columns by field id. So a rename shows as a rename, and a column that
//! was dropped and added again shows as another column.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::records::stores::VersionChange;
use crate::records::stores::VersionChangeKind::{self, *};
use crate::schema::manifest::{Manifest, ManifestColumn, Relationship, RelationshipType, TableVersion};

/// Most columns listed in the sentence about a new table.
const MAX_LISTED: usize = 10;

/// Returns each change of tables, columns and relationships; empty if the schemas are equal. Rows do not
/// count.
pub fn schema_difference(before: &Manifest, after: &Manifest) -> Vec<VersionChange> {
    let mut changes = Vec::new();
    if let Some(message) = changed(
        "the description",
        "the data store",
        &before.description,
        &after.description,
    ) {
        changes.push(VersionChange::new(SchemaDescribed, message));
    }
    let old: BTreeMap<_, _> = before
        .tables
        .iter()
        .map(|table| (table.table_id, table))
        .collect();
    let new: BTreeMap<_, _> = after.tables.iter().map(|table| (table.table_id, table)).collect();
    for table in before
        .tables
        .iter()
        .filter(|table| !new.contains_key(&table.table_id))
    {
        let message = format!("Dropped table {}", table.name);
        changes.push(VersionChange::new(TableDropped, message).of_table(&table.name));
    }
    for table in &after.tables {
        match old.get(&table.table_id) {
            Some(before) => tables(before, table, &mut changes),
            None => changes.push(VersionChange::new(TableCreated, created(table)).of_table(&table.name)),
        }
    }
    relationships(before, after, &mut changes);
    changes
}

fn created(table: &TableVersion) -> String {
    let count = table.columns.len();
    let mut columns: Vec<_> = table.columns.iter().take(MAX_LISTED).map(definition).collect();
    if count > MAX_LISTED {
        columns.push(format!("and {} more", count - MAX_LISTED));
    }
    format!("Created table {} ({})", table.name, columns.join(", "))
}

/// Formats a column as in a definition: `qty BIGINT not null default 1`.
fn definition(column: &ManifestColumn) -> String {
    let mut text = format!("{} {}", column.name, column.column_type);
    if column.primary_key {
        text.push_str(" primary key");
    } else if !column.nullable {
        text.push_str(" not null");
    }
    if column.unique {
        text.push_str(" unique");
    }
    if let Some(default) = &column.default {
        let _ = write!(text, " default {default}");
    }
    text
}

fn tables(before: &TableVersion, after: &TableVersion, changes: &mut Vec<VersionChange>) {
    let name = &after.name;
    let of_table = |kind, message| VersionChange::new(kind, message).of_table(name);
    if before.name != *name {
        let message = format!("Renamed table {} to {name}", before.name);
        changes.push(of_table(TableRenamed, message));
    }
    let described = changed(
        "the description",
        &format!("table {name}"),
        &before.description,
        &after.description,
    );
    changes.extend(described.map(|message| of_table(TableAltered, message)));
    let find = |columns: &[ManifestColumn], field_id: u32| {
        columns.iter().position(|column| column.field_id == field_id)
    };
    let old: BTreeMap<_, _> = before
        .columns
        .iter()
        .map(|column| (column.field_id, column))
        .collect();
    let new: BTreeMap<_, _> = after
        .columns
        .iter()
        .map(|column| (column.field_id, column))
        .collect();
    for column in &before.columns {
        if !new.contains_key(&column.field_id) {
            let message = format!("Dropped column {name}.{}", column.name);
            changes.push(VersionChange::new(ColumnDropped, message).of_column(name, &column.name));
        }
    }
    for column in &after.columns {
        match old.get(&column.field_id) {
            Some(before) => columns(name, before, column, changes),
            None => {
                let message = format!("Added column {name}.{}", definition(column));
                changes.push(VersionChange::new(ColumnAdded, message).of_column(name, &column.name));
            }
        }
    }
    let stayed = before
        .columns
        .iter()
        .filter(|column| new.contains_key(&column.field_id));
    let places: Vec<_> = stayed
        .map(|column| find(&after.columns, column.field_id))
        .collect();
    if !places.is_sorted() {
        let message = format!("Changed the order of the columns of table {name}");
        changes.push(of_table(TableAltered, message));
    }
}

fn columns(table: &str, before: &ManifestColumn, after: &ManifestColumn, changes: &mut Vec<VersionChange>) {
    let column = format!("column {table}.{}", after.name);
    let mut push = |kind: VersionChangeKind, message: String| {
        changes.push(VersionChange::new(kind, message).of_column(table, &after.name));
    };
    if before.name != after.name {
        let message = format!("Renamed column {table}.{} to {}", before.name, after.name);
        push(ColumnRenamed, message);
    }
    if before.column_type != after.column_type {
        let message = format!(
            "Changed the type of {column} from {} to {}",
            before.column_type, after.column_type
        );
        push(ColumnAltered, message);
    }
    if before.primary_key != after.primary_key {
        let message = if after.primary_key {
            format!("Made {column} part of the primary key")
        } else {
            format!("Took {column} out of the primary key")
        };
        push(ColumnAltered, message);
    }
    if before.nullable != after.nullable {
        let rule = if after.nullable { "nullable" } else { "not null" };
        push(ColumnAltered, format!("Made {column} {rule}"));
    }
    if before.unique != after.unique {
        let rule = if after.unique { "unique" } else { "not unique" };
        push(ColumnAltered, format!("Made {column} {rule}"));
    }
    if before.default != after.default {
        let text = |default: &Option<String>| default.clone().unwrap_or_else(|| "none".to_owned());
        let (from, to) = (text(&before.default), text(&after.default));
        push(
            ColumnAltered,
            format!("Changed the default of {column} from {from} to {to}"),
        );
    }
    let semantics = changed(
        "the semantic type",
        &column,
        &before.semantic_type,
        &after.semantic_type,
    );
    let description = changed(
        "the description",
        &column,
        &before.description,
        &after.description,
    );
    for message in semantics.into_iter().chain(description) {
        push(ColumnAltered, message);
    }
}

fn changed<T: PartialEq>(what: &str, whose: &str, before: &Option<T>, after: &Option<T>) -> Option<String> {
    match (before, after) {
        (None, None) => None,
        (None, Some(_)) => Some(format!("Set {what} of {whose}")),
        (Some(_), None) => Some(format!("Removed {what} of {whose}")),
        (Some(before), Some(after)) => (before != after).then(|| format!("Changed {what} of {whose}")),
    }
}

/// A column as (table id, field id), because names may change.
type End = (u32, u32);

fn relationships(before: &Manifest, after: &Manifest, changes: &mut Vec<VersionChange>) {
    let (old, new) = (by_ends(before), by_ends(after));
    let mut push = |kind, message: String| changes.push(VersionChange::new(kind, message));
    let arrow = |relationship: &Relationship| format!("{} → {}", relationship.from, relationship.to);
    for (ends, (relationship, kind)) in &old {
        if !new.contains_key(ends) {
            let (arrow, kind) = (arrow(relationship), kind.as_str());
            push(
                RelationshipRemoved,
                format!("Removed the relationship {arrow} ({kind})"),
            );
        }
    }
    for (ends, (relationship, kind)) in &new {
        let (arrow, kind_text) = (arrow(relationship), kind.as_str());
        match old.get(ends) {
            None => push(
                RelationshipAdded,
                format!("Added the relationship {arrow} ({kind_text})"),
            ),
            Some((_, before)) if before != kind => push(
                RelationshipAltered,
                format!(
                    "Changed the relationship {arrow} from {} to {kind_text}",
                    before.as_str()
                ),
            ),
            Some(_) => {}
        }
    }
    let order = |ends: BTreeMap<(End, End), _>, manifest: &Manifest| -> Vec<_> {
        let all = manifest
            .relationships
            .iter()
            .filter_map(|one| ends_of(manifest, one));
        all.filter(|one| ends.contains_key(one)).collect()
    };
    if old.keys().eq(new.keys()) && order(old, before) != order(new, after) {
        let message = "Changed the order of the relationships";
        push(RelationshipAltered, message.to_owned());
    }
}

fn by_ends(manifest: &Manifest) -> BTreeMap<(End, End), (&Relationship, RelationshipType)> {
    let relationships = manifest.relationships.iter().filter_map(|relationship| {
        let ends = ends_of(manifest, relationship)?;
        Some((ends, (relationship, relationship.relationship_type)))
    });
    relationships.collect()
}

fn ends_of(manifest: &Manifest, relationship: &Relationship) -> Option<(End, End)> {
    let end = |text: &str| {
        let (table, column) = text.split_once('.')?;
        let table = manifest.table(table)?;
        Some((table.table_id, table.column(column)?.field_id))
    };
    Some((end(&relationship.from)?, end(&relationship.to)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::definition::SemanticType;

    fn stored() -> Manifest {
        Manifest::from_json(include_bytes!("../../tests/fixtures/manifest-1.json")).unwrap()
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut Manifest), expected: &[&str]) {
        let before = stored();
        let mut after = before.clone();
        change(&mut after);
        assert_eq!(messages(&before, &after), expected);
        assert_eq!(schema_difference(&before, &before), []);
    }

    fn messages(before: &Manifest, after: &Manifest) -> Vec<String> {
        let changes = schema_difference(before, after).into_iter();
        changes.map(|change| change.message).collect()
    }

    #[test]
    fn tables_and_relationships() {
        check(
            |m| {
                m.description = None;
                m.tables[0].name = "sales".into();
                m.relationships[0].from = "sales.customer_id".into();
                m.tables[0].segments.clear();
            },
            &[
                "Removed the description of the data store",
                "Renamed table orders to sales",
            ],
        );
        check(
            |m| {
                m.relationships.clear();
                m.tables.remove(1);
            },
            &[
                "Dropped table customers",
                "Removed the relationship orders.customer_id → customers.id (many-to-one)",
            ],
        );
        check(
            |m| m.relationships[0].relationship_type = RelationshipType::OneToOne,
            &["Changed the relationship orders.customer_id → customers.id from many-to-one to one-to-one"],
        );
        let mut empty = stored();
        empty.tables.clear();
        empty.relationships.clear();
        assert_eq!(
            messages(&empty, &stored())[..2],
            [
                "Created table orders (id BIGINT primary key, customer_id BIGINT not null, total DECIMAL(18,4) default 0, \
                 status STRING default 'open', note JSON)",
                "Created table customers (id BIGINT primary key, email STRING unique)",
            ]
        );
    }

    #[test]
    fn columns_by_their_field_ids() {
        check(
            |m| {
                let columns = &mut m.tables[0].columns;
                columns[0].column_type = "DECIMAL".parse().unwrap();
                columns[1].nullable = true;
                columns[2].name = "sum".into();
                columns[2].default = None;
                columns[2].semantic_type = Some(SemanticType::Percentage);
                columns[3].field_id = 6;
                columns[4].unique = true;
                columns[4].description = None;
                m.tables[1].columns.swap(0, 1);
            },
            &[
                "Dropped column orders.status",
                "Changed the type of column orders.id from BIGINT to DECIMAL(18,4)",
                "Made column orders.customer_id nullable",
                "Renamed column orders.total to sum",
                "Changed the default of column orders.sum from 0 to none",
                "Changed the semantic type of column orders.sum",
                "Added column orders.status STRING default 'open'",
                "Made column orders.note unique",
                "Removed the description of column orders.note",
                "Changed the order of the columns of table customers",
            ],
        );
    }
}
