//! Reads one page of several partitions.

use futures::future::BoxFuture;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::de::DeserializeOwned;

use super::Table;
use crate::error::{Error, Result};
use crate::records::store::{Item, Order, Page, Query, key_names};

/// Number of partitions read concurrently.
const READ_AT_ONCE: usize = 8;

impl Table {
    /// Returns the first `most` records of the partitions of these queries, ordered by sort key, and whether
    /// there are more. The queries must differ only in their partition and index, and sort by one attribute.
    pub async fn merged_page<T: DeserializeOwned>(
        &self,
        queries: &[Query],
        most: usize,
    ) -> Result<(Vec<T>, bool)> {
        if let [query] = queries {
            let (page, next) = self.page(query, most, None).await?;
            return Ok((page, next.is_some()));
        }
        let pages: Vec<BoxFuture<'_, Result<Page>>> = queries
            .iter()
            .map(|query| self.store.page(&self.name, query, most, None))
            .collect();
        let pages: Vec<Page> = stream::iter(pages).buffered(READ_AT_ONCE).try_collect().await?;
        let Some(query) = queries.first() else {
            return Ok((Vec::new(), false));
        };
        let (items, more) = merged(pages, query, most)?;
        let records = items.into_iter().map(Item::read);
        Ok((records.collect::<Result<_>>()?, more))
    }
}

/// Merges the first items of pages; returns also whether there are more. After the end of a page that
/// continues, items of its partition are missing, so the result ends there.
fn merged(pages: Vec<Page>, query: &Query, most: usize) -> Result<(Vec<Item>, bool)> {
    let sort_name = match query.index {
        Some(index) => {
            let [_, sort_name] = key_names(index);
            sort_name
        }
        None => "sk".into(),
    };
    let mut ends = Vec::new();
    let mut found = Vec::new();
    for page in pages {
        if let Some(next) = page.next {
            ends.push(next.in_index.map_or(next.sk, |(_, sk)| sk));
        }
        for item in page.items {
            let Some(sort) = item.text(&sort_name) else {
                return Err(Error::internal("an item of an index lacks its place there"));
            };
            found.push((sort.to_owned(), item));
        }
    }
    let goes_on = !ends.is_empty();
    match query.order {
        Order::Ascending => {
            found.sort_by(|(one, _), (other, _)| one.cmp(other));
            if let Some(end) = ends.into_iter().min() {
                found.retain(|(sort, _)| *sort <= end);
            }
        }
        Order::Descending => {
            found.sort_by(|(one, _), (other, _)| other.cmp(one));
            if let Some(end) = ends.into_iter().max() {
                found.retain(|(sort, _)| *sort >= end);
            }
        }
    }
    let more = goes_on || found.len() > most;
    found.truncate(most);
    Ok((found.into_iter().map(|(_, item)| item).collect(), more))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::records::store::{Key, Position};

    fn page(shard: u8, sorts: &[u8], goes_on: bool) -> Page {
        let place = |sort: &u8| (format!("p{shard}"), format!("{sort:03}"));
        let items = sorts.iter().map(|sort| {
            let (pk, sk) = place(sort);
            let key = Key::new(format!("item-{sort}"), "x").with_gsi1(pk, sk);
            Item::from_record(&key, &json!({ "number": sort })).unwrap()
        });
        let next = sorts.last().filter(|_| goes_on).map(|sort| Position {
            pk: format!("item-{sort}"),
            sk: "x".to_owned(),
            in_index: Some(place(sort)),
        });
        Page {
            items: items.collect(),
            next,
        }
    }

    fn numbers(pages: Vec<Page>, order: Order, most: usize) -> (Vec<u64>, bool) {
        let query = Query::partition("p").gsi1().order(order);
        let (items, more) = merged(pages, &query, most).unwrap();
        let number = |item: &Item| item.get("number").unwrap().as_u64().unwrap();
        (items.iter().map(number).collect(), more)
    }

    #[test]
    fn whole_partitions_are_merged() {
        let pages = || vec![page(0, &[1, 4, 7], false), page(1, &[2, 3, 9], false)];
        assert_eq!(
            numbers(pages(), Order::Ascending, 10),
            (vec![1, 2, 3, 4, 7, 9], false)
        );
        assert_eq!(numbers(pages(), Order::Ascending, 4), (vec![1, 2, 3, 4], true));
        let pages = vec![page(0, &[7, 4, 1], false), page(1, &[9, 3, 2], false)];
        assert_eq!(numbers(pages, Order::Descending, 3), (vec![9, 7, 4], true));
    }

    /// The first partition may contain a 5, which the next page reads.
    #[test]
    fn nothing_is_taken_from_beyond_an_unfinished_page() {
        let pages = vec![page(0, &[1, 4], true), page(1, &[2, 6, 9], false)];
        assert_eq!(numbers(pages, Order::Ascending, 10), (vec![1, 2, 4], true));
        let pages = vec![page(0, &[9, 6], true), page(1, &[8, 5, 2], false)];
        assert_eq!(numbers(pages, Order::Descending, 10), (vec![9, 8, 6], true));
    }
}
