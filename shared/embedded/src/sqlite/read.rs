//! Reads items by key and by range.

use platform::records::schema::{Carried, SUMMARY};
use platform::records::store::limits::{MAX_PAGE_BYTES, bytes_of};
use platform::records::store::{Item, Key, Order, Page, Position, Query};
use platform::{Error, Result};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Params, Row};
use serde_json::{Map, Value};

use super::failure::failed;
use super::layout::{Index, Table};
use super::range::{End, bounds, next};
use super::statements;

pub(super) fn item_of(pk: &str, sk: &str, json: &[u8]) -> Result<Item> {
    let attributes: Map<String, Value> = serde_json::from_slice(json).map_err(Error::internal)?;
    let mut item = Item::from(attributes);
    item.set("pk", pk);
    item.set("sk", sk);
    Ok(item)
}

pub(super) fn find(connection: &Connection, table: &Table, key: &Key) -> Result<Option<Item>> {
    let mut statement = connection.prepare_cached(statements::FIND).map_err(failed)?;
    let mut rows = statement.query((table.id, &key.pk, &key.sk)).map_err(failed)?;
    match rows.next().map_err(failed)? {
        Some(row) => item_of(&key.pk, &key.sk, blob(row, 0)?).map(Some),
        None => Ok(None),
    }
}

/// Reads all items from one state of the file.
pub(super) fn find_many(connection: &Connection, table: &Table, keys: &[Key]) -> Result<Vec<Option<Item>>> {
    let state = connection.unchecked_transaction().map_err(failed)?;
    keys.iter().map(|key| find(&state, table, key)).collect()
}

pub(super) fn page(
    connection: &Connection,
    table: &Table,
    query: &Query,
    most: usize,
    start: Option<&Position>,
) -> Result<Page> {
    let limit = i64::try_from(most).map_err(Error::internal)?.saturating_add(1);
    match query.index {
        None => page_of_table(connection, table, query, (most, limit), start),
        Some(name) => page_of_index(connection, table, table.index(name)?, query, (most, limit), start),
    }
}

fn page_of_table(
    connection: &Connection,
    table: &Table,
    query: &Query,
    (most, limit): (usize, i64),
    start: Option<&Position>,
) -> Result<Page> {
    let (mut low, mut end) = bounds(&query.sort);
    if let Some(start) = start {
        check_start(start.in_index.is_none() && start.pk == query.pk)?;
        match query.order {
            Order::Ascending => low = low.max(next(&start.sk)),
            Order::Descending => end = earlier(end, &start.sk),
        }
    }
    let sql = statements::page_of_table(query.order);
    let parameters = (table.id, &query.pk, low, end, limit);
    read_page(connection, sql, parameters, most, |row| {
        let sk = text(row, 0)?;
        Ok((item_of(&query.pk, sk, blob(row, 1)?)?, None))
    })
}

fn page_of_index(
    connection: &Connection,
    table: &Table,
    index: &Index,
    query: &Query,
    (most, limit): (usize, i64),
    start: Option<&Position>,
) -> Result<Page> {
    let (low, end) = bounds(&query.sort);
    // Places with the same sort key are ordered by the items' keys, which are never empty.
    let (mut low, mut end) = ((low, "", ""), (end, "", ""));
    if let Some(start) = start {
        let in_index = start.in_index.as_ref().filter(|(pk, _)| *pk == query.pk);
        check_start(in_index.is_some())?;
        if let Some((_, sk)) = in_index {
            match query.order {
                Order::Ascending if *sk >= low.0 => low = (sk.clone(), &start.pk, &start.sk),
                Order::Descending if is_before(sk, &end.0) => {
                    end = (End::Before(sk.clone()), &start.pk, &start.sk);
                }
                _ => {}
            }
        }
    }
    let is_whole = index.carried == Carried::All;
    let sql = statements::page_of_index(is_whole, query.order);
    let parameters = (
        table.id,
        index.number,
        &query.pk,
        low.0,
        low.1,
        low.2,
        end.0,
        end.1,
        end.2,
        limit,
    );
    read_page(connection, sql, parameters, most, |row| {
        let (index_sk, pk, sk) = (text(row, 0)?, text(row, 1)?, text(row, 2)?);
        let item = if is_whole {
            item_of(pk, sk, blob(row, 3)?)?
        } else {
            carried_item(
                index,
                [&query.pk, index_sk],
                [pk, sk],
                row.get_ref(3).map_err(failed)?,
            )?
        };
        Ok((item, Some((query.pk.clone(), index_sk.to_owned()))))
    })
}

/// Returns the attributes that an index carries, if it does not carry whole items.
fn carried_item(index: &Index, place: [&str; 2], key: [&str; 2], summary: ValueRef<'_>) -> Result<Item> {
    let mut item = Item::default();
    for (name, value) in ["pk", "sk"].into_iter().zip(key) {
        item.set(name, value);
    }
    for (name, value) in index.key_names.iter().zip(place) {
        item.set(name.as_ref(), value);
    }
    if let Some(summary) = summary.as_blob_or_null().map_err(Error::internal)? {
        let summary: Value = serde_json::from_slice(summary).map_err(Error::internal)?;
        item.set(SUMMARY, summary);
    }
    Ok(item)
}

pub(super) fn count(connection: &Connection, table: &Table, query: &Query) -> Result<u64> {
    let (low, end) = bounds(&query.sort);
    let counted = match query.index {
        None => {
            let sql = statements::COUNT_OF_TABLE;
            let mut statement = connection.prepare_cached(sql).map_err(failed)?;
            statement.query_row((table.id, &query.pk, low, end), |row| row.get(0))
        }
        Some(name) => {
            let (number, sql) = (table.index(name)?.number, statements::COUNT_OF_INDEX);
            let mut statement = connection.prepare_cached(sql).map_err(failed)?;
            statement.query_row((table.id, number, &query.pk, low, end), |row| row.get(0))
        }
    };
    counted.map_err(failed)
}

/// Reads a part of the whole table, ordered by partition and sort key.
pub(super) fn scan(connection: &Connection, table: &Table, start: Option<&Position>) -> Result<Page> {
    let (pk, sk) = start.map_or(("", ""), |start| (&start.pk, &start.sk));
    read_page(
        connection,
        statements::SCAN,
        (table.id, pk, sk),
        usize::MAX,
        |row| Ok((item_of(text(row, 0)?, text(row, 1)?, blob(row, 2)?)?, None)),
    )
}

/// Reads items up to the number and the bytes of a page, but at least one. The statement must return one more
/// than the number.
fn read_page(
    connection: &Connection,
    sql: &str,
    parameters: impl Params,
    most: usize,
    read: impl Fn(&Row<'_>) -> Result<(Item, Option<(String, String)>)>,
) -> Result<Page> {
    let mut statement = connection.prepare_cached(sql).map_err(failed)?;
    let mut rows = statement.query(parameters).map_err(failed)?;
    let (mut page, mut bytes, mut place) = (Page::default(), 0, None);
    while let Some(row) = rows.next().map_err(failed)? {
        let is_full = page.items.len() >= most.max(1);
        let (item, in_index) = read(row)?;
        bytes += bytes_of(&item);
        if let (Some(last), true) = (page.items.last(), is_full || bytes > MAX_PAGE_BYTES) {
            page.next = Some(position(last, place)?);
            break;
        }
        place = in_index;
        page.items.push(item);
    }
    Ok(page)
}

fn position(item: &Item, in_index: Option<(String, String)>) -> Result<Position> {
    let (Some(pk), Some(sk)) = (item.text("pk"), item.text("sk")) else {
        return Err(Error::internal("an item has no key"));
    };
    Ok(Position {
        pk: pk.to_owned(),
        sk: sk.to_owned(),
        in_index,
    })
}

fn check_start(is_in_range: bool) -> Result<()> {
    if is_in_range {
        return Ok(());
    }
    Err(Error::internal(
        "a page begins outside of the partition or the index that is read",
    ))
}

fn earlier(end: End, start: &str) -> End {
    if is_before(start, &end) {
        End::Before(start.to_owned())
    } else {
        end
    }
}

fn is_before(text: &str, end: &End) -> bool {
    match end {
        End::Before(end) => text < end.as_str(),
        End::Open => true,
    }
}

fn text<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a str> {
    let value = row.get_ref(column).map_err(failed)?;
    value.as_str().map_err(Error::internal)
}

fn blob<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a [u8]> {
    let value = row.get_ref(column).map_err(failed)?;
    value.as_blob().map_err(Error::internal)
}
