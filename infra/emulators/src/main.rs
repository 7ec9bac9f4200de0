//! Runs the emulators as a program: `emulators FOLDER TABLES` prints their endpoint and keys as JSON, and
//! stops when its standard input closes.
//!
//! TABLES are names with commas between them; the prefix `+` marks a table with the indexes of listings.

use std::io::Write as _;
use std::path::PathBuf;

use emulators::{Emulators, KEYS};
use platform::records::schema::TableKind;
use serde_json::json;
use tokio::io::AsyncReadExt as _;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(folder), Some(tables)) = (arguments.next(), arguments.next()) else {
        return Err("usage: emulators FOLDER TABLES".into());
    };
    let tables: Vec<(&str, TableKind)> = tables
        .split(',')
        .map(|table| match table.strip_prefix('+') {
            Some(listed) => (listed, TableKind::Listed),
            None => (table, TableKind::Records),
        })
        .collect();
    let started = Emulators::start(&PathBuf::from(folder), &tables).await?;
    let (key_id, secret) = KEYS;
    let message = json!({ "endpoint": started.endpoint, "key_id": key_id, "secret": secret });
    writeln!(std::io::stdout(), "{message}")?;
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    Ok(())
}
