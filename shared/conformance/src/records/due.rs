//! Checks the sparse index of unfinished work.

use platform::UtcTime;
use platform::records::store::Action;
use platform::records::{Changes, Key, Query, Written};
use serde_json::json;

use crate::Subject;
use crate::subject::{fresh, texts};

/// Checks unfinished work by its due time, in both kinds of tables.
pub async fn due(subject: &Subject) {
    for table in [&subject.tables.records, &subject.tables.listed] {
        work_is_shown_when_it_is_due(subject, table).await;
    }
}

fn at(second: u64) -> UtcTime {
    UtcTime::EPOCH.plus_ms(1_800_000_000_000 + second * 1_000)
}

async fn work_is_shown_when_it_is_due(subject: &Subject, table: &str) {
    // The program uses fixed names of shards; here each run of the suite has its own.
    let shard: &'static str = fresh("due").leak();
    let pk = fresh("due");
    let key = |sk: &str, second: u64| Key::new(&pk, sk).with_due(shard, at(second));
    for (sk, second) in [("late", 30), ("soon", 10), ("later", 20)] {
        subject
            .put_into(table, &key(sk, second), &json!({ "text": sk }))
            .await;
    }
    subject.put_into(table, &Key::new(&pk, "done"), &json!({})).await;
    for (second, expected) in [
        (9, vec![]),
        (10, vec!["soon"]),
        (29, vec!["soon", "later"]),
        (40, vec!["soon", "later", "late"]),
    ] {
        shows(subject, table, &Query::due(shard, at(second)), &expected).await;
    }
    // One is finished, and one is postponed.
    let done = Changes::default().not_due();
    let postponed = Changes::default().place("due", shard.to_owned(), at(60).to_string());
    for (sk, changes) in [("soon", done), ("later", postponed)] {
        let step = crate::subject::step(table, &Key::new(&pk, sk), Action::Update(changes), None);
        assert_eq!(subject.store.write(step).await.unwrap(), Written::Done);
    }
    shows(subject, table, &Query::due(shard, at(40)), &["late"]).await;
    shows(subject, table, &Query::due(shard, at(60)), &["late", "later"]).await;
}

async fn shows(subject: &Subject, table: &str, query: &Query, expected: &[&str]) {
    for most in [1, 100] {
        let read = async || {
            let items = subject.walk(table, query, most).await;
            texts(&items, "sk")
                .iter()
                .map(|&sk| sk.to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(subject.eventually(expected, read).await, expected, "{query:?}");
    }
}
