//! Tests API keys: a key that another process writes is neither missing nor taken.

use std::sync::Arc;

use conformance::Tables;
use conformance::faults::{Faulty, Rates};
use conformance::model::Model;
use identity::api_key::ApiKey;
use identity::records::api_keys::ApiKeys;
use platform::records::Table;
use platform::{ErrorKind, UtcTime};

use crate::tenant;

#[tokio::test(start_paused = true)]
async fn a_contended_key_is_neither_missing_nor_taken() {
    let tables = Tables::named();
    let (store, faults) = Faulty::new(Model::new(&tables), &tables, 1);
    let keys = ApiKeys::new(Table::new(Arc::new(store), &tables.records));
    let key = ApiKey {
        id: "k1".to_owned(),
        name: "Nightly".to_owned(),
        account_id: "acme".to_owned(),
        project_id: "demo".to_owned(),
        roles: Vec::new(),
        secret_sha256: String::new(),
        hint: "abcd".to_owned(),
        created_at: UtcTime::EPOCH,
        created_by: None,
        expires_at: None,
        last_used_at: None,
        previous: None,
    };
    keys.insert(&tenant(), &key).await.unwrap();
    faults.on(Rates {
        contended: 100,
        ..Rates::default()
    });
    let error = keys.remove(&tenant(), "k1").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let other = ApiKey {
        id: "k2".to_owned(),
        ..key
    };
    let error = keys.insert(&tenant(), &other).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    faults.off();
    keys.remove(&tenant(), "k1").await.unwrap();
    keys.insert(&tenant(), &other).await.unwrap();
}
