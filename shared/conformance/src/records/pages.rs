//! Checks pages of a partition of a table.

use platform::records::store::limits::MAX_PAGE_BYTES;
use platform::records::{Key, Order, Query};
use serde_json::json;

use crate::Subject;
use crate::subject::{fresh, refused, texts};

/// Checks pages by number, by bytes, and while items change between them.
pub async fn pages(subject: &Subject) {
    a_partition_without_items_has_an_end(subject).await;
    a_page_ends_at_its_number(subject).await;
    a_page_ends_at_a_megabyte(subject).await;
    pages_follow_changes(subject).await;
    an_index_that_does_not_exist_is_an_error(subject).await;
}

async fn a_partition_without_items_has_an_end(subject: &Subject) {
    let query = Query::partition(fresh("pages"));
    let page = subject
        .store
        .page(&subject.tables.records, &query, 10, None)
        .await
        .unwrap();
    assert!(page.items.is_empty() && page.next.is_none());
}

async fn a_page_ends_at_its_number(subject: &Subject) {
    let pk = fresh("pages");
    for sk in ["a", "b", "c", "d"] {
        subject.put(&Key::new(&pk, sk), &json!({})).await;
    }
    for (order, first, second) in [
        (Order::Ascending, ["a", "b", "c"], "d"),
        (Order::Descending, ["d", "c", "b"], "a"),
    ] {
        let query = Query::partition(&pk).order(order);
        let page = subject
            .store
            .page(&subject.tables.records, &query, 3, None)
            .await
            .unwrap();
        assert_eq!(texts(&page.items, "sk"), first);
        let next = page.next.unwrap();
        assert_eq!((&*next.pk, &*next.sk, &next.in_index), (&*pk, first[2], &None));
        let page = subject
            .store
            .page(&subject.tables.records, &query, 3, Some(next))
            .await
            .unwrap();
        assert_eq!(texts(&page.items, "sk"), [second]);
        assert_eq!(page.next, None);
    }
}

async fn a_page_ends_at_a_megabyte(subject: &Subject) {
    let (pk, in_index) = (fresh("pages"), fresh("pages"));
    let text = "x".repeat(300_000);
    let sort_keys = ["a", "b", "c", "d", "e", "f", "g"];
    for sk in sort_keys {
        let key = Key::new(&pk, sk).with_gsi1(&in_index, sk);
        subject.put(&key, &json!({ "text": text })).await;
    }
    let most = MAX_PAGE_BYTES / text.len() + 1;
    for query in [Query::partition(&pk), Query::partition(&in_index).gsi1()] {
        let read = async || {
            let items = subject.walk(&subject.tables.records, &query, 100).await;
            texts(&items, "sk")
                .iter()
                .map(|&sk| sk.to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(subject.eventually(&sort_keys[..], read).await, sort_keys);
        let page = subject
            .store
            .page(&subject.tables.records, &query, 100, None)
            .await
            .unwrap();
        let length = page.items.len();
        assert!(
            (1..=most).contains(&length) && page.next.is_some(),
            "{length} items"
        );
    }
}

/// Items written after the position of a walk are seen, and items deleted there are not.
async fn pages_follow_changes(subject: &Subject) {
    let pk = fresh("pages");
    for sk in ["b", "d", "f"] {
        subject.put(&Key::new(&pk, sk), &json!({})).await;
    }
    let query = Query::partition(&pk);
    let page = subject
        .store
        .page(&subject.tables.records, &query, 2, None)
        .await
        .unwrap();
    assert_eq!(texts(&page.items, "sk"), ["b", "d"]);
    for sk in ["a", "c", "e"] {
        subject.put(&Key::new(&pk, sk), &json!({})).await;
    }
    // Also the item at the position itself.
    for sk in ["d", "f"] {
        let delete = platform::records::store::Action::Delete;
        let deleted = subject.write(&Key::new(&pk, sk), delete, None).await;
        assert_eq!(deleted.unwrap(), platform::records::Written::Done);
    }
    let rest = subject
        .walk_from(&subject.tables.records, &query, 2, page.next)
        .await;
    assert_eq!(texts(&rest, "sk"), ["e"]);
}

async fn an_index_that_does_not_exist_is_an_error(subject: &Subject) {
    let query = Query::partition(fresh("pages")).index("gsi2");
    refused(
        subject
            .store
            .page(&subject.tables.records, &query, 10, None)
            .await,
    );
    refused(subject.store.count(&subject.tables.records, &query).await);
}
