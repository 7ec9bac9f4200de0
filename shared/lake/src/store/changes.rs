//! Names what a version changed, in the schema and in the rows.

use crate::records::stores::{ImportRecord, VersionChange, VersionChangeKind};
use crate::schema::difference::schema_difference;
use crate::schema::manifest::{Manifest, TableVersion};

/// Limits of what a version's record says about its changes: an item of DynamoDB has at most 400 KB.
const MAX_CHANGES: usize = 100;
const MAX_MESSAGE_LENGTH: usize = 500;

/// Returns the changes between a version and the next, which `import` made if it is one.
pub(super) fn changes(
    before: &Manifest,
    after: &Manifest,
    import: Option<&ImportRecord>,
) -> Vec<VersionChange> {
    // A rollback may issue new ids for tables of the same schema.
    let mut changes = match before.schema_version == after.schema_version {
        true => Vec::new(),
        false => schema_difference(before, after),
    };
    for change in &mut changes {
        let table = change.table.as_deref();
        if change.kind == VersionChangeKind::TableDropped {
            change.rows_removed = table
                .and_then(|name| before.table(name))
                .map(TableVersion::row_count);
        }
    }
    changes.extend(
        after
            .tables
            .iter()
            .filter_map(|table| rows(before, table, import)),
    );
    changes.truncate(MAX_CHANGES);
    for VersionChange { message, .. } in &mut changes {
        if let Some((end, _)) = message.char_indices().nth(MAX_MESSAGE_LENGTH - 1)
            && message.chars().count() > MAX_MESSAGE_LENGTH
        {
            message.truncate(end);
            message.push('…');
        }
    }
    changes
}

/// Returns the change of a table's rows. Files that hold the same rows are no change.
fn rows(before: &Manifest, table: &TableVersion, import: Option<&ImportRecord>) -> Option<VersionChange> {
    let by_id = before.tables.iter().find(|old| old.table_id == table.table_id);
    let old = by_id.or_else(|| before.table(&table.name));
    let (old, new) = (old.map_or(0, TableVersion::row_count), table.row_count());
    let imported = import.and_then(|import| import.rows_imported.get(&table.name));
    let added = imported.copied().unwrap_or_else(|| new.saturating_sub(old));
    let removed = (old + added).saturating_sub(new);
    let message = match (added, removed) {
        (0, 0) => return None,
        (_, 0) => format!("Added {} to table {}", count(added), table.name),
        (0, _) => format!("Removed {} of table {}", count(removed), table.name),
        _ => format!("Replaced {} of table {} by {added}", count(removed), table.name),
    };
    Some(VersionChange {
        rows_added: Some(added),
        rows_removed: Some(removed),
        ..VersionChange::new(VersionChangeKind::RowsChanged, message).of_table(&table.name)
    })
}

fn count(rows: u64) -> String {
    match rows {
        1 => "1 row".to_owned(),
        _ => format!("{rows} rows"),
    }
}
