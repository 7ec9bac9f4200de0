//! Binds the child to one version: closes the fence around that version's files and creates views of its
//! tables.
//!
//! The fence is closed once, around all files of the version, which need not exist yet. A table gets its view
//! when the first statement needs it, so a store of a thousand tables opens as fast as one of a few.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use duckdb::Connection;
use platform::{Error, Result};

use crate::child::context::{Context, Defined};
use crate::child::fence;
use crate::statement::check::NATIVE_DATABASE;
use crate::statement::messages;
use crate::tables::bound::{BoundTable, Tier};
use crate::tables::layout;
use crate::tables::native;
use crate::tables::sql;

pub(crate) fn run(context: &mut Context, tables: Vec<String>, files: &[PathBuf]) -> Result<()> {
    if context.tables.is_some() {
        return Err(Error::internal("the child is already bound"));
    }
    fence::close(&context.connection, files.iter().map(PathBuf::as_path), [], "")?;
    context.tables = Some(tables);
    Ok(())
}

/// Creates the views of tables whose files are now in the cache, and replaces views whose tier changes.
pub(crate) fn define(context: &mut Context, tables: &[BoundTable]) -> Result<()> {
    for table in tables {
        let defined = context.defined.get(&table.name);
        if defined.is_some_and(|defined| defined.tier == table.tier()) {
            continue;
        }
        let connection = &context.connection;
        let before = defined.and_then(|defined| defined.attached.clone());
        let (relation, attached) = match &table.native {
            Some(file) => {
                context.attachments += 1;
                let database = format!("{}{}", NATIVE_DATABASE, context.attachments);
                attach(connection, file, &database)?;
                (native::relation(&table.columns, &database), Some(database))
            }
            None => {
                let relation = layout::relation(connection, &table.columns, &table.files)?;
                (relation, None)
            }
        };
        let mut statements = format!("CREATE OR REPLACE VIEW {};", definition(table, &relation));
        if let Some(before) = before {
            let _ = write!(statements, "DETACH {before};");
        }
        let made = connection.execute_batch(&statements);
        made.map_err(|error| messages::own_error(&error))?;
        let defined = Defined {
            tier: table.tier(),
            attached,
        };
        context.defined.insert(table.name.clone(), defined);
    }
    Ok(())
}

fn attach(connection: &Connection, file: &Path, database: &str) -> Result<()> {
    let attach = format!("ATTACH {} AS {database} (READ_ONLY)", sql::path(file)?);
    // Not the caller's fault, whatever DuckDB reports about the file: the parent can read the segments
    // instead.
    connection.execute_batch(&attach).map_err(Error::internal)
}

/// Returns statements that replace the views by tables without rows, for the current transaction.
pub(crate) fn stand_ins(tables: &[BoundTable]) -> Result<String> {
    let mut views = String::new();
    for table in tables {
        let relation = sql::table_relation(&table.columns, &table.files)?;
        let _ = writeln!(views, "CREATE OR REPLACE VIEW {};", definition(table, &relation));
    }
    Ok(views)
}

fn definition(table: &BoundTable, relation: &str) -> String {
    format!("{} AS SELECT * FROM {relation}", sql::identifier(&table.name))
}

impl BoundTable {
    fn tier(&self) -> Tier {
        match self.native {
            Some(_) => Tier::Native,
            None => Tier::Parquet,
        }
    }
}
