//! Defines the tables of the file, and the record tables in them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use platform::records::schema::{Carried, TableKind, carried, indexes};
use platform::records::store::key_names;
use platform::{Error, Result};
use rusqlite::Connection;

/// Marks the file in its header as one of this program: the letters "MLRC".
pub(super) const APPLICATION_ID: i32 = 0x4d4c_5243;
/// Version of the layout, in the file's header.
pub(super) const VERSION: i32 = 2;

/// An item is JSON without its keys. Items are in a table with row ids, because one ordered by their keys
/// writes twice as many bytes. `carried` is the JSON of the summary, in indexes that do not carry whole
/// items.
pub(super) const SCHEMA: &str = "
CREATE TABLE tables (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL) STRICT;
CREATE TABLE items (
    id INTEGER PRIMARY KEY, tbl INTEGER NOT NULL, pk TEXT NOT NULL, sk TEXT NOT NULL,
    expires_at INTEGER, item BLOB NOT NULL, UNIQUE (tbl, pk, sk)
) STRICT;
CREATE INDEX expiring ON items (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE entries (
    tbl INTEGER NOT NULL, idx INTEGER NOT NULL, ipk TEXT NOT NULL, isk TEXT NOT NULL,
    pk TEXT NOT NULL, sk TEXT NOT NULL, carried BLOB, PRIMARY KEY (tbl, idx, ipk, isk, pk, sk)
) STRICT, WITHOUT ROWID;
";

/// The record tables in a file, by name.
pub(super) struct Tables(HashMap<Arc<str>, Table>);

pub(super) struct Table {
    pub(super) id: i64,
    pub(super) name: Arc<str>,
    pub(super) indexes: Vec<Index>,
}

pub(super) struct Index {
    /// Position in the list of indexes, which the file stores; new indexes are appended.
    pub(super) number: i64,
    pub(super) name: &'static str,
    /// Attributes that are the keys of a place in the index.
    pub(super) key_names: [Cow<'static, str>; 2],
    pub(super) carried: Carried,
}

impl Tables {
    pub(super) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let mut statement = connection.prepare("SELECT id, name, kind FROM tables")?;
        let rows = statement.query_map([], |row| {
            let (id, name, kind) = (row.get(0)?, row.get::<_, Arc<str>>(1)?, row.get::<_, String>(2)?);
            let kind = match kind.as_str() {
                "listed" => TableKind::Listed,
                _ => TableKind::Records,
            };
            Ok((Arc::clone(&name), Table::new(id, name, kind)))
        })?;
        rows.collect::<rusqlite::Result<_>>().map(Self)
    }

    /// 500 for an unknown table.
    pub(super) fn get(&self, name: &str) -> Result<&Table> {
        let table = self.0.get(name);
        table.ok_or_else(|| Error::internal(format!("the file of records has no table {name}")))
    }

    pub(super) fn name_of(&self, id: i64) -> Option<&Arc<str>> {
        let table = self.0.values().find(|table| table.id == id);
        table.map(|table| &table.name)
    }
}

impl Table {
    fn new(id: i64, name: Arc<str>, kind: TableKind) -> Self {
        let indexes = (0..).zip(indexes(kind)).map(|(number, index)| Index {
            number,
            name: index,
            key_names: key_names(index),
            carried: carried(kind, index),
        });
        Self {
            id,
            name,
            indexes: indexes.collect(),
        }
    }

    /// 500 for an unknown index.
    pub(super) fn index(&self, name: &str) -> Result<&Index> {
        let index = self.indexes.iter().find(|index| index.name == name);
        index.ok_or_else(|| Error::internal(format!("the table {} has no index {name}", self.name)))
    }
}

pub(super) const fn kind_name(kind: TableKind) -> &'static str {
    match kind {
        TableKind::Records => "records",
        TableKind::Listed => "listed",
    }
}
