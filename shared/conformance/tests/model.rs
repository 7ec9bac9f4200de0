//! Runs the suite over the adapter in memory, plain and with lagging indexes.
#![cfg(test)]

use std::sync::Arc;

use conformance::faults::{Faults, Faulty, Rates};
use conformance::model::Model;
use conformance::{Subject, Tables};

mod plain {
    use super::*;

    async fn world() -> (Subject, ()) {
        let tables = Tables::named();
        (Subject::new(Arc::new(Model::new(&tables)), tables), ())
    }

    conformance::records_suite!(world);
}

mod late {
    use super::*;

    async fn world() -> (Subject, Faults) {
        let tables = Tables::named();
        let (store, faults) = Faulty::new(Model::new(&tables), &tables, 7);
        let late = Rates {
            late: 70,
            ..Rates::default()
        };
        faults.on(late);
        let settling = faults.clone();
        let subject = Subject::new(Arc::new(store), tables).settled_by(move || settling.settle());
        (subject, faults)
    }

    conformance::records_suite!(world);
}
