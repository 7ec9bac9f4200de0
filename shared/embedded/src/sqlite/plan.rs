//! Decides the steps of a request before any of them is applied.

use platform::records::schema::EXPIRES_AT;
use platform::records::store::checks::check_values;
use platform::records::store::limits::check_item;
use platform::records::store::{Action, Condition, Item, Key, Step, Written};
use platform::{Error, Result};
use rusqlite::{Connection, OptionalExtension as _};

use super::layout::{Table, Tables};
use super::places::{Place, places, rewrite};
use super::queue::Outcome;
use super::read::item_of;

/// Reason why a request fails.
pub(super) enum Failure {
    /// A fault of the request: the rest of its batch is committed.
    Request(Error),
    /// A fault of the file: nothing of its batch is committed.
    Batch(rusqlite::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Request(error)
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Batch(error)
    }
}

/// An item before a step.
struct Stored {
    id: i64,
    item: Item,
}

/// Effect of a step on an item.
struct Change<'a> {
    table: &'a Table,
    key: Key,
    /// Current row and places.
    before: Option<(i64, Vec<Option<Place>>)>,
    after: Option<New>,
}

struct New {
    expires_at: Option<i64>,
    json: Vec<u8>,
    places: Vec<Option<Place>>,
}

/// Executes the steps of a request within the transaction of its batch.
pub(super) fn carry_out(
    connection: &Connection,
    tables: &Tables,
    steps: Vec<Step>,
    number: Option<&str>,
) -> Result<Outcome, Failure> {
    let mut decided = Vec::with_capacity(steps.len());
    for (at, step) in steps.into_iter().enumerate() {
        let table = tables.get(&step.table)?;
        let stored = stored(connection, table, &step)?;
        let item = stored.as_ref().map(|stored| &stored.item);
        if step.condition.is_some_and(|condition| !condition.holds(item)) {
            return Ok(Outcome {
                written: Written::Refused { step: at },
                number: None,
            });
        }
        decided.push((table, step.key, step.action, stored));
    }
    let mut changes = Vec::with_capacity(decided.len());
    let mut new_number = None;
    for (table, key, action, stored) in decided {
        if matches!(action, Action::Check) {
            continue;
        }
        let before = match &stored {
            Some(stored) => Some((stored.id, places(table, &stored.item)?)),
            None => None,
        };
        let new = match action {
            Action::Delete | Action::Check => None,
            Action::Put(item) => Some(item),
            Action::Update(changes) => {
                let mut item = stored.map_or_else(|| keyed(&key), |stored| stored.item);
                changes.apply(&mut item)?;
                check_item(&item)?;
                if item.text("pk") != Some(&key.pk) || item.text("sk") != Some(&key.sk) {
                    return Err(Error::internal("an update changes the key of an item").into());
                }
                Some(item)
            }
        };
        if let (Some(name), Some(item)) = (number, &new) {
            new_number = item.get(name).and_then(serde_json::Value::as_u64);
        }
        changes.push(Change {
            after: new.map(|item| New::from_item(table, item)).transpose()?,
            before,
            table,
            key,
        });
    }
    for change in changes {
        change.apply(connection)?;
    }
    Ok(Outcome {
        written: Written::Done,
        number: new_number,
    })
}

/// Returns the item at the step's key, without its attributes if the step does not need them.
fn stored(connection: &Connection, table: &Table, step: &Step) -> Result<Option<Stored>, Failure> {
    let key = &step.key;
    let is_needed = !matches!(step.action, Action::Check)
        || !matches!(
            step.condition,
            None | Some(Condition::Absent | Condition::Present)
        );
    if !is_needed {
        let sql = "SELECT id FROM items WHERE tbl = ?1 AND pk = ?2 AND sk = ?3";
        let mut statement = connection.prepare_cached(sql)?;
        let id = statement
            .query_row((table.id, &key.pk, &key.sk), |row| row.get(0))
            .optional()?;
        return Ok(id.map(|id| Stored {
            id,
            item: Item::default(),
        }));
    }
    let sql = "SELECT id, item FROM items WHERE tbl = ?1 AND pk = ?2 AND sk = ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query((table.id, &key.pk, &key.sk))?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let json = row.get_ref(1)?.as_blob().map_err(Error::internal)?;
    Ok(Some(Stored {
        id: row.get(0)?,
        item: item_of(&key.pk, &key.sk, json)?,
    }))
}

fn keyed(key: &Key) -> Item {
    let mut item = Item::default();
    item.set("pk", key.pk.as_str());
    item.set("sk", key.sk.as_str());
    item
}

impl New {
    fn from_item(table: &Table, mut item: Item) -> Result<Self> {
        check_values(&item, table.indexes.iter().map(|index| index.name))?;
        let places = places(table, &item)?;
        item.remove("pk");
        item.remove("sk");
        Ok(Self {
            expires_at: item.get(EXPIRES_AT).and_then(serde_json::Value::as_i64),
            json: serde_json::to_vec(item.attributes()).map_err(Error::internal)?,
            places,
        })
    }
}

impl Change<'_> {
    fn apply(self, connection: &Connection) -> rusqlite::Result<()> {
        let (table, key) = (self.table, &self.key);
        match (&self.before, &self.after) {
            (None, None) => {}
            (Some((id, _)), None) => {
                let mut statement = connection.prepare_cached("DELETE FROM items WHERE id = ?1")?;
                statement.execute([id])?;
            }
            (Some((id, _)), Some(new)) => {
                let sql = "UPDATE items SET expires_at = ?2, item = ?3 WHERE id = ?1";
                connection
                    .prepare_cached(sql)?
                    .execute((id, new.expires_at, &new.json))?;
            }
            (None, Some(new)) => {
                let sql = "INSERT INTO items (tbl, pk, sk, expires_at, item) VALUES (?1, ?2, ?3, ?4, ?5)";
                let mut statement = connection.prepare_cached(sql)?;
                statement.execute((table.id, &key.pk, &key.sk, new.expires_at, &new.json))?;
            }
        }
        let before = self.before.map(|(_, places)| places).unwrap_or_default();
        let after = self.after.map(|new| new.places).unwrap_or_default();
        rewrite(connection, table, key, &before, &after)
    }
}
