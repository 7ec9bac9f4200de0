//! Maintains the places of an item in the indexes of its table.

use platform::records::schema::{Carried, SUMMARY};
use platform::records::store::{Item, Key};
use platform::{Error, Result};
use rusqlite::Connection;

use super::layout::{Index, Table};

/// A place in an index, and the attributes that the index carries there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pk: String,
    sk: String,
    carried: Option<Vec<u8>>,
}

/// Returns the place in each index of the table, in the order of the indexes; None if the item lacks one of
/// the keys.
pub(super) fn places(table: &Table, item: &Item) -> Result<Vec<Option<Place>>> {
    table.indexes.iter().map(|index| place(index, item)).collect()
}

fn place(index: &Index, item: &Item) -> Result<Option<Place>> {
    let [pk, sk] = &index.key_names;
    let (Some(pk), Some(sk)) = (item.text(pk), item.text(sk)) else {
        return Ok(None);
    };
    let summary = match index.carried {
        Carried::Summary => item.get(SUMMARY),
        Carried::All | Carried::Keys => None,
    };
    Ok(Some(Place {
        pk: pk.to_owned(),
        sk: sk.to_owned(),
        carried: summary
            .map(serde_json::to_vec)
            .transpose()
            .map_err(Error::internal)?,
    }))
}

/// Rewrites the changed entries. An empty list means that there is no item.
pub(super) fn rewrite(
    connection: &Connection,
    table: &Table,
    key: &Key,
    before: &[Option<Place>],
    after: &[Option<Place>],
) -> rusqlite::Result<()> {
    for (at, index) in table.indexes.iter().enumerate() {
        let (before, after) = (
            before.get(at).and_then(Option::as_ref),
            after.get(at).and_then(Option::as_ref),
        );
        if before == after {
            continue;
        }
        let stays = before
            .zip(after)
            .is_some_and(|(one, other)| one.pk == other.pk && one.sk == other.sk);
        if let (Some(place), false) = (before, stays) {
            let sql = "DELETE FROM entries WHERE tbl = ?1 AND idx = ?2 AND ipk = ?3 AND isk = ?4 AND pk = ?5 AND sk = ?6";
            connection.prepare_cached(sql)?.execute((
                table.id,
                index.number,
                &place.pk,
                &place.sk,
                &key.pk,
                &key.sk,
            ))?;
        }
        if let Some(place) = after {
            let sql = "INSERT OR REPLACE INTO entries (tbl, idx, ipk, isk, pk, sk, carried) \
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
            connection.prepare_cached(sql)?.execute((
                table.id,
                index.number,
                &place.pk,
                &place.sk,
                &key.pk,
                &key.sk,
                &place.carried,
            ))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use platform::records::schema::{DUE, GSI1, TableKind};
    use serde_json::{Value, json};

    use super::*;
    use crate::sqlite::layout::{SCHEMA, Tables, kind_name};

    #[test]
    fn an_entry_is_written_only_where_it_changes() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(SCHEMA).unwrap();
        let kind = kind_name(TableKind::Listed);
        connection
            .execute("INSERT INTO tables (name, kind) VALUES ('runs', ?1)", [kind])
            .unwrap();
        let tables = Tables::read(&connection).unwrap();
        let table = tables.get("runs").unwrap();
        let key = Key::new("p", "s");
        let of = |gsi1: &str, due: &str, record: Value| {
            let mut item = Item::from_record(&key, &record).unwrap();
            for (index, sk) in [(GSI1, gsi1), (DUE, due)] {
                let [pk_name, sk_name] = platform::records::store::key_names(index);
                item.set(pk_name, "i");
                item.set(sk_name, sk);
            }
            places(table, &item).unwrap()
        };
        let first = of("a", "1", json!({ "summary": 1, "body": 1 }));
        let check = |before: &[Option<Place>], after: &[Option<Place>], expected: u64| {
            let changes = connection.total_changes();
            rewrite(&connection, table, &key, before, after).unwrap();
            assert_eq!(connection.total_changes() - changes, expected);
        };
        check(&[], &first, 2);
        check(&first, &of("a", "1", json!({ "summary": 1, "body": 2 })), 0);
        let summed = of("a", "1", json!({ "summary": 2 }));
        check(&first, &summed, 1);
        let moved = of("b", "1", json!({ "summary": 2 }));
        check(&summed, &moved, 2);
        check(&moved, &[], 2);
    }
}
