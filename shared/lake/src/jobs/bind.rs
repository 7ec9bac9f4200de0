//! Binds the child to one version: closes the fence around that version's files.
//!
//! The fence is closed once, around all files of the version, which need not exist yet. A table gets its view
//! when the first statement needs it, so a store of a thousand tables opens as fast as one of a few.

use std::path::PathBuf;

use platform::{Error, Result};

use crate::child::context::Context;
use crate::child::fence;

pub(crate) fn run(context: &mut Context, tables: Vec<String>, files: &[PathBuf]) -> Result<()> {
    if context.tables.is_some() {
        return Err(Error::internal("the child is already bound"));
    }
    fence::close(&context.connection, files.iter().map(PathBuf::as_path), [], "")?;
    context.tables = Some(tables);
    Ok(())
}
