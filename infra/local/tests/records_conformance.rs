//! The conformance suite over DynamoDB's adapter and the emulator of this process.
#![cfg(test)]

use std::sync::Arc;

use conformance::model::Model;
use conformance::{Gap, Subject, Tables};
use local::data_dir::DataDir;
use local::services::{AUDIT_TABLE, EVENTS_TABLE, RECORDS_TABLE, Services};
use platform::records::dynamodb::DynamoDb;
use platform::records::store::RecordStore;
use tempfile::TempDir;

/// Rules of DynamoDB that the emulator does not have.
const GAPS: &[Gap] = &[
    // In a transaction it looks for the key among the placeholders of names, where DynamoDB looks for it among the names.
    Gap::KeyUpdate,
    // It checks the lengths of the table's own keys alone.
    Gap::IndexKeyLength,
];

async fn world() -> (Subject, (Services, DataDir, TempDir)) {
    let folder = tempfile::tempdir().unwrap();
    let data = DataDir::open(&folder.path().join("data")).unwrap();
    let services = Services::open(&data).await.unwrap();
    let tables = Tables {
        records: RECORDS_TABLE.into(),
        others: AUDIT_TABLE.into(),
        listed: EVENTS_TABLE.into(),
    };
    let store = Arc::new(DynamoDb::new(&services.records));
    (
        Subject::new(store, tables).lacking(GAPS),
        (services, data, folder),
    )
}

conformance::records_suite!(world);

#[test]
fn random_operations_are_answered_as_by_the_model() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (subject, _world) = runtime.block_on(world());
    let tables = Tables::named();
    let model: Arc<dyn RecordStore> = Arc::new(Model::new(&tables));
    let stores = [&subject.store, &model];
    conformance::operations::answer_alike(&runtime, [&subject.tables, &tables], stores, 64);
}
