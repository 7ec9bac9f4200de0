//! Creates the views of a version's tables in a child, each over one tier of its table.

use std::collections::HashMap;
use std::fmt::Write as _;

use duckdb::Connection;
use platform::Result;

use crate::statement::check::ATTACHED_DATABASE;
use crate::statement::messages;
use crate::tables::bound::BoundTable;
use crate::tables::layout;
use crate::tables::native::{self, Tier, TieredTable};
use crate::tables::sql;

/// Views of a child, by the names of their tables.
#[derive(Default)]
pub(crate) struct Views {
    views: HashMap<String, View>,
    /// Number of databases attached so far.
    attachments: u32,
}

struct View {
    tier: Tier,
    /// Attached database that the view reads.
    database: Option<String>,
}

impl Views {
    /// Returns the tier that the view of a table reads; None before the view exists.
    pub(crate) fn tier(&self, table: &str) -> Option<Tier> {
        self.views.get(table).map(|view| view.tier)
    }

    /// Creates the views of tables whose files are now in the cache, and replaces views of another tier.
    pub(crate) fn define(&mut self, connection: &Connection, tables: &[TieredTable]) -> Result<()> {
        for tiered in tables {
            let (table, tier) = (&tiered.table, tiered.tier());
            let before = self.views.get(&table.name);
            if before.is_some_and(|view| view.tier == tier) {
                continue;
            }
            let (relation, database) = match &tiered.copy {
                Some(file) => {
                    self.attachments += 1;
                    let database = format!("{ATTACHED_DATABASE}{}", self.attachments);
                    native::attach(connection, file, &database)?;
                    (native::relation(&table.columns, &database), Some(database))
                }
                None => (layout::relation(connection, &table.columns, &table.files)?, None),
            };
            let mut statements = definition(table, &relation);
            if let Some(database) = before.and_then(|view| view.database.as_ref()) {
                let _ = write!(statements, "DETACH {database};");
            }
            connection
                .execute_batch(&statements)
                .map_err(|error| messages::own_error(&error))?;
            self.views.insert(table.name.clone(), View { tier, database });
        }
        Ok(())
    }
}

/// Returns statements that replace the views by tables without rows, for the current transaction.
pub(crate) fn stand_ins(tables: &[BoundTable]) -> Result<String> {
    let mut views = String::new();
    for table in tables {
        let relation = sql::table_relation(&table.columns, &table.files)?;
        views.push_str(&definition(table, &relation));
    }
    Ok(views)
}

fn definition(table: &BoundTable, relation: &str) -> String {
    let name = sql::identifier(&table.name);
    format!("CREATE OR REPLACE VIEW {name} AS SELECT * FROM {relation};\n")
}
