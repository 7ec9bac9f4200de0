//! Reads ranges of tables and indexes in memory.

use platform::records::schema::{Carried, SUMMARY, TableKind, carried};
use platform::records::store::limits::{MAX_PAGE_BYTES, bytes_of};
use platform::records::store::{Item, Order, Page, Position, Query, Sort, key_names};

/// Returns an item's attributes in a range; None if the item is not in it.
pub(crate) fn entry(kind: TableKind, query: &Query, item: &Item) -> Option<Item> {
    let [pk_name, sk_name] = names(query);
    let sk = item.text(&sk_name)?;
    let is_in = match &query.sort {
        Sort::All => true,
        Sort::Prefix(prefix) => sk.starts_with(prefix.as_str()),
        Sort::Between(low, high) => (low.as_str()..=high.as_str()).contains(&sk),
    };
    if item.text(&pk_name)? != query.pk || !is_in {
        return None;
    }
    let mut entry = item.clone();
    let carried = query.index.map_or(Carried::All, |index| carried(kind, index));
    if carried != Carried::All {
        let has_summary = carried == Carried::Summary;
        entry.retain(|name| {
            ["pk", "sk", &pk_name, &sk_name].contains(&name) || (has_summary && name == SUMMARY)
        });
    }
    Some(entry)
}

/// Sorts entries in the order of a range. Entries with the same place in an index are ordered by their keys.
pub(crate) fn sort(entries: &mut [Item], query: &Query) {
    let [_, sk_name] = names(query);
    entries.sort_by(|one, other| place(one, &sk_name).cmp(&place(other, &sk_name)));
    if query.order == Order::Descending {
        entries.reverse();
    }
}

/// Returns the page of sorted entries that starts after `start`.
pub(crate) fn cut(entries: Vec<Item>, query: &Query, most: usize, start: Option<&Position>) -> Page {
    let [_, sk_name] = names(query);
    let start = start.map(|start| {
        let sk = start.in_index.as_ref().map_or(&start.sk, |(_, sk)| sk);
        [sk.as_str(), start.pk.as_str(), start.sk.as_str()]
    });
    let is_behind = |entry: &Item| match (start, query.order) {
        (None, _) => true,
        (Some(start), Order::Ascending) => place(entry, &sk_name) > start,
        (Some(start), Order::Descending) => place(entry, &sk_name) < start,
    };
    let mut rest = entries.into_iter().filter(|entry| is_behind(entry)).peekable();
    let mut page = Page::default();
    let mut bytes = 0;
    while let Some(entry) = rest.next() {
        bytes += bytes_of(&entry);
        let is_full = page.items.len() + 1 == most || bytes >= MAX_PAGE_BYTES;
        if is_full && rest.peek().is_some() {
            page.next = Some(position(&entry, query));
            page.items.push(entry);
            break;
        }
        page.items.push(entry);
    }
    page
}

/// Returns the attributes that are the keys of a range.
pub(crate) fn names(query: &Query) -> [std::borrow::Cow<'static, str>; 2] {
    query.index.map_or(["pk".into(), "sk".into()], key_names)
}

fn place<'a>(item: &'a Item, sk_name: &str) -> [&'a str; 3] {
    [sk_name, "pk", "sk"].map(|name| item.text(name).unwrap_or_default())
}

fn position(item: &Item, query: &Query) -> Position {
    let text = |name: &str| item.text(name).unwrap_or_default().to_owned();
    let in_index = query.index.map(|index| {
        let [pk_name, sk_name] = key_names(index);
        (text(&pk_name), text(&sk_name))
    });
    Position {
        pk: text("pk"),
        sk: text("sk"),
        in_index,
    }
}
