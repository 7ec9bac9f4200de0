//! Checks the expiry of items.

use platform::records::schema::EXPIRES_AT;
use platform::records::store::{Action, Item};
use platform::records::{Condition, Key, Written};
use serde_json::json;

use crate::Subject;
use crate::subject::fresh;

/// An expired item may still exist or not; a condition can treat both alike.
pub async fn expiry(subject: &Subject) {
    // A thousand years after the Unix epoch: by a real clock nothing in this test has expired.
    let now = 31_556_952_000;
    let key = Key::new(fresh("expiry"), "a");
    let lease =
        |expires_at: i64| Action::Put(Item::from_record(&key, &json!({ EXPIRES_AT: expires_at })).unwrap());
    for (by, until, expected) in [
        (now, now + 10, Written::Done),
        (now + 9, now + 20, Written::Refused { step: 0 }),
        (now + 10, now + 20, Written::Refused { step: 0 }),
        (now + 11, now + 20, Written::Done),
        (now + 12, now + 30, Written::Refused { step: 0 }),
    ] {
        let written = subject
            .write(&key, lease(until), Condition::AbsentOrExpired(by))
            .await;
        assert_eq!(written.unwrap(), expected, "by {by}");
    }
    let found = subject.find(&key).await.unwrap();
    assert_eq!(found.get(EXPIRES_AT), Some(&json!(now + 20)));

    // Expired by any clock.
    let key = Key::new(fresh("expiry"), "a");
    let item = subject.put(&key, &json!({ EXPIRES_AT: 1 })).await;
    let found = subject.find(&key).await;
    assert!(found.is_none() || found == Some(item), "an expired item changes");
    let taken = subject
        .write(&key, Action::Delete, Condition::AbsentOrExpired(2))
        .await;
    assert_eq!(taken.unwrap(), Written::Done);
}
