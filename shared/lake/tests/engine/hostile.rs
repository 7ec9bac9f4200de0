//! Runs statements of a hostile tenant: each is refused or reveals nothing, and the store stays unchanged.

use crate::fixture::{Store, limits};

const CORPUS: &str = include_str!("../fixtures/hostile.sql");

#[tokio::test]
async fn each_hostile_statement_is_refused_or_tells_nothing() {
    let mut store = Store::with_orders(limits()).await;
    each_is_harmless(&store).await;
    store.copy().await;
    each_is_harmless(&store).await;
}

async fn each_is_harmless(store: &Store) {
    let own = store.directory.path().to_str().unwrap().to_owned();
    let mut statements = 0;
    for line in CORPUS.lines().filter(|line| !line.starts_with("--")) {
        let (mark, sql) = line.split_at(1);
        statements += 1;
        let told = match store.query(sql).await {
            Ok(answer) if mark == "?" => answer.to_string(),
            Ok(answer) => panic!("{sql}: ran: {answer}"),
            Err(error) => {
                assert_eq!(error.status(), 400, "{sql}: {error}");
                format!("{} {}", error.message(), error.details().unwrap_or(""))
            }
        };
        for secret in [
            own.as_str(),
            ".parquet",
            ".duckdb",
            "native1",
            "LD_LIBRARY",
            "root:",
            "memory_limit",
            "SET ",
        ] {
            assert!(
                !told.contains(secret) || sql.contains(secret),
                "{sql}: tells {told}"
            );
        }
        store.probe().await;
    }
    assert!(statements > 100, "{statements}");
}
