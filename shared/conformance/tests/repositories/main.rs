//! Repositories over a store that makes faults, with the retries that their callers do: afterwards every
//! record is read back without faults.
#![cfg(test)]

mod prompts;
mod stores;

use std::sync::Arc;

use conformance::Tables;
use conformance::faults::{Faults, Faulty, Rates};
use conformance::model::Model;
use platform::records::Table;
use platform::{ErrorKind, Result, Tenant};

/// Callers that write at the same time.
const CALLERS: u64 = 4;
/// Changes that each of them makes.
const CHANGES: u64 = 25;

/// A table of records under faults.
fn troubled(seed: u64) -> (Table, Faults) {
    let tables = Tables::named();
    let (store, faults) = Faulty::new(Model::new(&tables), &tables, seed);
    faults.on(Rates {
        throttled: 5,
        contended: 5,
        lost: 10,
        // Late indexes would let writes happen one at a time, and these repositories read none.
        ..Rates::default()
    });
    (Table::new(Arc::new(store), &tables.records), faults)
}

/// Ends the faults, and checks that there were some of each kind.
fn calm(faults: &Faults) {
    faults.off();
    faults.settle();
    let counts = faults.counts();
    assert!(
        counts.throttled > 0 && counts.contended > 0 && counts.lost > 0,
        "{counts:?}"
    );
}

/// Repeats a read, or a write that may be done twice, until the store is available.
async fn available<T>(call: impl AsyncFn() -> Result<T>) -> Result<T> {
    loop {
        match call().await {
            Err(error) if error.kind() == ErrorKind::Unavailable => {}
            answer => return answer,
        }
    }
}

/// Inserts a record under a new id: after a lost answer the conflict with it is the caller's own.
async fn inserted(insert: impl AsyncFn() -> Result<()>) {
    match available(insert).await {
        Err(error) if error.kind() == ErrorKind::Conflict => {}
        other => other.unwrap(),
    }
}

fn tenant() -> Tenant {
    Tenant::new("acme", "demo").unwrap()
}
