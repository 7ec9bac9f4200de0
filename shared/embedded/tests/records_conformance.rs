//! Runs the conformance suite over records in SQLite.
#![cfg(test)]

use std::sync::Arc;

use conformance::faults::{Faults, Faulty, Rates};
use conformance::model::Model;
use conformance::{Subject, Tables};
use embedded::sqlite::SqliteRecords;
use platform::records::store::RecordStore;
use tempfile::TempDir;

fn records(tables: &Tables) -> (SqliteRecords, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let records = SqliteRecords::open(&folder.path().join("records.sqlite"), &tables.kinds()).unwrap();
    (records, folder)
}

mod plain {
    use super::*;

    async fn world() -> (Subject, TempDir) {
        let tables = Tables::named();
        let (records, folder) = records(&tables);
        (Subject::new(Arc::new(records), tables), folder)
    }

    conformance::records_suite!(world);
}

mod late {
    use super::*;

    async fn world() -> (Subject, (Faults, TempDir)) {
        let tables = Tables::named();
        let (records, folder) = records(&tables);
        let (store, faults) = Faulty::new(records, &tables, 7);
        faults.on(Rates {
            late: 70,
            ..Rates::default()
        });
        let settling = faults.clone();
        let subject = Subject::new(Arc::new(store), tables).settled_by(move || settling.settle());
        (subject, (faults, folder))
    }

    // Topics that read indexes.
    conformance::records_suite!(world: counts, due, index_pages, keys, listed, pages, transactions, updates);
}

#[test]
fn random_operations_are_answered_as_by_the_model() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let tables = Tables::named();
    let (records, _folder) = records(&tables);
    let records: Arc<dyn RecordStore> = Arc::new(records);
    let model: Arc<dyn RecordStore> = Arc::new(Model::new(&tables));
    conformance::operations::answer_alike(&runtime, [&tables, &tables], [&records, &model], 150);
}
