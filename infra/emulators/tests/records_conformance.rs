//! Runs the conformance suite over DynamoDB's adapter and the emulator.
#![cfg(test)]

use std::sync::Arc;

use aws::DynamoDb;
use conformance::model::Model;
use conformance::{Gap, Subject, Tables};
use emulators::Emulators;
use platform::records::store::RecordStore;
use tempfile::TempDir;

/// Rules of DynamoDB that the emulator lacks.
const GAPS: &[Gap] = &[
    // Outside of transactions, the emulator looks for the key among the placeholders of names; DynamoDB looks
    // among the names.
    Gap::KeyUpdate,
    // The emulator checks only the lengths of the table's own keys.
    Gap::IndexKeyLength,
];

async fn world() -> (Subject, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let tables = Tables::named();
    let emulators = Emulators::start(folder.path(), &tables.kinds()).await.unwrap();
    let store = Arc::new(DynamoDb::new(&emulators.sdk()));
    (Subject::new(store, tables).lacking(GAPS), folder)
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
