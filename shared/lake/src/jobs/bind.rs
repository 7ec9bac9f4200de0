//! Binds the child to one version: the fence around just that version's files, and views of its tables.
//!
//! The fence is closed once, around all files of the version. They need not be there yet: a table gets its view when the
//! first statement needs it, so that a store of a thousand tables is as quick to open as one of a few.

use std::fmt::Write as _;
use std::path::PathBuf;

use platform::{Error, Result};

use crate::child::Context;
use crate::protocol::BoundTable;
use crate::{fence, messages, sql};

pub(crate) fn run(context: &mut Context, tables: Vec<String>, files: &[PathBuf]) -> Result<()> {
    if context.tables.is_some() {
        return Err(Error::internal("the child is already bound"));
    }
    fence::close(&context.connection, files.iter().map(PathBuf::as_path), [], "")?;
    context.tables = Some(tables);
    Ok(())
}

/// Makes the views of tables whose files are there by now.
pub(crate) fn define(context: &mut Context, tables: &[BoundTable]) -> Result<()> {
    for table in tables {
        if !context.defined.contains(&table.name) {
            let view = format!("CREATE VIEW {}", definition(table)?);
            let made = context.connection.execute_batch(&view);
            made.map_err(|error| messages::own_error(&error))?;
            context.defined.insert(table.name.clone());
        }
    }
    Ok(())
}

/// Statements that put tables without rows in the place of the views, for the transaction that they run in.
pub(crate) fn stand_ins(tables: &[BoundTable]) -> Result<String> {
    let mut views = String::new();
    for table in tables {
        let _ = writeln!(views, "CREATE OR REPLACE VIEW {};", definition(table)?);
    }
    Ok(views)
}

fn definition(table: &BoundTable) -> Result<String> {
    let relation = sql::table_relation(&table.columns, &table.files)?;
    Ok(format!(
        "{} AS SELECT * FROM {relation}",
        sql::identifier(&table.name)
    ))
}
