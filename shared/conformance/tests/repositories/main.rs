//! Tests repositories over a store with faults, with the retries of their callers: afterwards every record is
//! read without faults.
#![cfg(test)]

mod api_keys;
mod prompts;
mod secrets;
mod stores;

use std::sync::Arc;

use conformance::Tables;
use conformance::faults::{Faults, Faulty, Rates};
use conformance::model::Model;
use platform::records::Table;
use platform::{ErrorKind, Result, Tenant};

/// Number of concurrent callers.
const CALLERS: u64 = 4;
/// Number of changes per caller.
const CHANGES: u64 = 25;

/// Returns a table of records with faults.
fn troubled(seed: u64) -> (Table, Faults) {
    let tables = Tables::named();
    let (store, faults) = Faulty::new(Model::new(&tables), &tables, seed);
    faults.on(Rates {
        throttled: 5,
        contended: 5,
        lost: 10,
        // Lagging indexes would serialise the writes, and these repositories read no index.
        ..Rates::default()
    });
    (Table::new(Arc::new(store), &tables.records), faults)
}

/// Stops the faults, and checks that each kind happened.
fn calm(faults: &Faults) {
    faults.off();
    faults.settle();
    let counts = faults.counts();
    assert!(
        counts.throttled > 0 && counts.contended > 0 && counts.lost > 0,
        "{counts:?}"
    );
}

/// Retries a read, or an idempotent write, until the store is available.
async fn available<T>(call: impl AsyncFn() -> Result<T>) -> Result<T> {
    loop {
        match call().await {
            Err(error) if error.kind() == ErrorKind::Unavailable => {}
            answer => return answer,
        }
    }
}

/// Inserts a record under a new id: after a lost answer a conflict means the caller's own first attempt.
async fn inserted(insert: impl AsyncFn() -> Result<()>) {
    match available(insert).await {
        Err(error) if error.kind() == ErrorKind::Conflict => {}
        other => other.unwrap(),
    }
}

fn tenant() -> Tenant {
    Tenant::new("acme", "demo").unwrap()
}
