//! Binds the child to one version: a view per table, and the fence around just that version's files.

use std::fmt::Write as _;
use std::path::PathBuf;

use platform::{Error, Result};

use crate::child::Context;
use crate::protocol::BoundTable;
use crate::{fence, sql};

pub(crate) fn run(context: &mut Context, tables: &[BoundTable]) -> Result<()> {
    if context.tables.is_some() {
        return Err(Error::internal("the child is already bound"));
    }
    let mut views = String::new();
    for table in tables {
        let relation = sql::table_relation(&table.columns, &table.files)?;
        let _ = writeln!(
            views,
            "CREATE VIEW {} AS SELECT * FROM {relation};",
            sql::identifier(&table.name)
        );
    }
    let files = tables.iter().flat_map(|table| &table.files).map(PathBuf::as_path);
    fence::close(&context.connection, files, [], &views)?;
    context.tables = Some(tables.iter().map(|table| table.name.clone()).collect());
    Ok(())
}
