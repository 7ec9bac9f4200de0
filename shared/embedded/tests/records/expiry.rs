//! Tests the expiry of items.

use platform::records::schema::GSI1;
use platform::records::store::{Changes, Query, RecordStore as _};
use serde_json::json;

use crate::support::*;

#[tokio::test]
async fn items_whose_life_has_ended_are_removed() {
    let folder = Folder::new();
    let store = folder.open();
    let lives = [
        ("past", json!(99)),
        ("negative", json!(-1)),
        ("now", json!(100)),
        ("later", json!(101)),
        ("huge", json!(u64::MAX)),
        ("text", json!("1")),
        ("half", json!(1.5)),
    ];
    for (sk, expires_at) in lives {
        let record = json!({ "expires_at": expires_at, "gsi1pk": "index", "listed_at": sk });
        done(&store, put(RECORDS, key(sk), record)).await;
    }
    done(&store, put(RECORDS, key("none"), json!({}))).await;
    assert_eq!(store.expired(-1, 10).await.unwrap(), 0);
    assert_eq!(store.expired(100, 10).await.unwrap(), 2);
    assert_eq!(store.expired(100, 10).await.unwrap(), 0);
    let left = ["half", "huge", "later", "none", "now", "text"];
    let (items, _) = all(&store, RECORDS, &Query::partition("p"), 10).await;
    assert_eq!(texts(&items, "sk"), left);
    assert_eq!(
        store
            .count(RECORDS, &Query::partition("index").index(GSI1))
            .await
            .unwrap(),
        5
    );
}

#[tokio::test]
async fn no_more_are_removed_than_asked_for() {
    let folder = Folder::new();
    let store = folder.open();
    let writes = (0..700).map(|n| {
        let table = if n % 2 == 0 { RECORDS } else { LISTED };
        store.write(put(table, key(&n.to_string()), json!({ "expires_at": n })))
    });
    for written in futures::future::join_all(writes).await {
        assert!(written.is_ok());
    }
    assert_eq!(store.expired(1_000, 300).await.unwrap(), 300);
    let counted = store.count(RECORDS, &Query::partition("p")).await.unwrap();
    assert_eq!(counted, 200);
    assert_eq!(store.expired(1_000, 300).await.unwrap(), 300);
    assert_eq!(store.expired(1_000, 300).await.unwrap(), 100);
}

/// The writes are queued in this order, so the expiry is postponed before the removal decides.
#[tokio::test]
async fn an_item_whose_life_is_prolonged_meanwhile_stays() {
    let folder = Folder::new();
    let store = folder.open();
    for n in 0..200 {
        done(
            &store,
            put(RECORDS, key(&n.to_string()), json!({ "expires_at": 1 })),
        )
        .await;
    }
    let longer = Changes::default().set("expires_at", &1_000).unwrap();
    let prolonged = async {
        let writes = (0..200).map(|n| store.write(update(RECORDS, key(&n.to_string()), longer.clone())));
        futures::future::join_all(writes).await
    };
    let (removed, _) = futures::join!(store.expired(100, 1_000), prolonged);
    let counted = store.count(RECORDS, &Query::partition("p")).await.unwrap();
    let (items, _) = all(&store, RECORDS, &Query::partition("p"), 1_000).await;
    assert!(items.iter().all(|item| item.get("expires_at").unwrap() == 1_000));
    // An update after the removal creates the item again.
    assert_eq!(counted, 200);
    assert!(removed.unwrap() <= 200);
}
