//! Binds the child to one version: the fence around just that version's files, and views of its tables.
//!
//! The fence is closed once, around all files of the version. They need not be there yet: a table gets its view when the
//! first statement needs it, so that a store of a thousand tables is as quick to open as one of a few.

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

/// Makes the views of tables whose files are there by now, and again those that have to change their tier.
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
    // Not the caller's fault, whatever DuckDB makes of the file: the caller of the engine can do without it.
    connection.execute_batch(&attach).map_err(Error::internal)
}

/// Statements that put tables without rows in the place of the views, for the transaction that they run in.
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
