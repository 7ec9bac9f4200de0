//! Checks the byte order of keys, and ranges of them.

use platform::records::{Key, Order, Position, Query};
use serde_json::json;

use crate::Subject;
use crate::subject::{fresh, texts};

/// Sort keys in the order of their UTF-8 bytes. In UTF-16 the last two would be swapped, and a dictionary
/// would mix upper and lower case.
const SORTED: [&str; 16] = [
    "\u{1}",
    " ",
    "%",
    "*",
    "10",
    "9",
    "A",
    "Z",
    "_",
    "a",
    "ab",
    "a\u{7f}",
    "b",
    "é",
    "\u{fb00}",
    "\u{1f600}",
];

/// Checks order, prefixes and ranges, in tables and in indexes, in both directions.
pub async fn keys(subject: &Subject) {
    let pk = fresh("keys");
    let in_index = fresh("keys");
    let mut shuffled = SORTED;
    shuffled.reverse();
    shuffled.rotate_left(5);
    for sk in shuffled {
        let key = Key::new(&pk, sk).with_gsi1(&in_index, sk);
        subject.put(&key, &json!({ "sort": sk })).await;
    }
    // Neighbours that a range must not contain.
    for neighbour in [format!("{pk}0"), pk[..pk.len() - 1].to_owned(), pk.to_uppercase()] {
        subject
            .put(&Key::new(neighbour, "a"), &json!({ "sort": "neighbour" }))
            .await;
    }
    ranges(subject, &Query::partition(&pk)).await;
    ranges(subject, &Query::partition(&in_index).gsi1()).await;
    starts_at_a_missing_item(subject, &pk).await;
    the_last_character_can_be_a_prefix(subject).await;
}

async fn ranges(subject: &Subject, partition: &Query) {
    same(subject, partition, |_| true).await;
    for prefix in ["a", "%", "_", "*", "1", "é", "\u{1f600}", "c", "ab", "abc"] {
        let query = partition.clone().prefix(prefix);
        same(subject, &query, |sk| sk.starts_with(prefix)).await;
    }
    for (low, high) in [
        ("9", "a"),
        ("a", "a"),
        ("a", "b"),
        ("B", "Y"),
        (" ", "\u{fb00}"),
        ("b", "\u{10ffff}"),
    ] {
        let query = partition.clone().between(low, high);
        same(subject, &query, |sk| (low..=high).contains(&sk)).await;
    }
}

/// Checks a range in both directions and in pages of several sizes.
async fn same(subject: &Subject, query: &Query, is_in: impl Fn(&str) -> bool) {
    let mut expected: Vec<_> = SORTED.into_iter().filter(|sk| is_in(sk)).collect();
    for order in [Order::Ascending, Order::Descending] {
        let query = query.clone().order(order);
        for most in [1, 3, SORTED.len(), 100] {
            let read = async || {
                let items = subject.walk(&subject.tables.records, &query, most).await;
                texts(&items, "sort")
                    .iter()
                    .map(|&sk| sk.to_owned())
                    .collect::<Vec<_>>()
            };
            assert_eq!(
                subject.eventually(&*expected, read).await,
                expected,
                "{query:?} in pages of {most}"
            );
        }
        expected.reverse();
    }
}

async fn starts_at_a_missing_item(subject: &Subject, pk: &str) {
    for (start, order, expected) in [
        ("\u{0}", Order::Ascending, &SORTED[..]),
        ("aa", Order::Ascending, &SORTED[10..]),
        ("ab", Order::Ascending, &SORTED[11..]),
        ("\u{10ffff}", Order::Ascending, &[]),
        ("B", Order::Descending, &["A", "9", "10", "*", "%", " ", "\u{1}"]),
        ("A", Order::Descending, &["9", "10", "*", "%", " ", "\u{1}"]),
    ] {
        let start_at = Position {
            pk: pk.to_owned(),
            sk: start.to_owned(),
            in_index: None,
        };
        let query = Query::partition(pk).order(order);
        let items = subject
            .walk_from(&subject.tables.records, &query, 4, Some(start_at))
            .await;
        assert_eq!(texts(&items, "sort"), expected, "{order:?} from {start:?}");
    }
}

async fn the_last_character_can_be_a_prefix(subject: &Subject) {
    let pk = fresh("keys");
    let sort_keys = [
        "\u{10fffe}",
        "\u{10ffff}",
        "\u{10ffff}\u{10ffff}",
        "\u{10ffff}\u{10ffff}a",
    ];
    for sk in sort_keys {
        subject.put(&Key::new(&pk, sk), &json!({ "sort": sk })).await;
    }
    for (prefix, expected) in [
        ("\u{10ffff}", &sort_keys[1..]),
        ("\u{10ffff}\u{10ffff}", &sort_keys[2..]),
    ] {
        let query = Query::partition(&pk).prefix(prefix);
        let items = subject.walk(&subject.tables.records, &query, 100).await;
        assert_eq!(texts(&items, "sort"), expected);
    }
}
