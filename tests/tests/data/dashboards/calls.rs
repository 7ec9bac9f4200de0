//! Calls the operations of dashboards for their tests.

use serde_json::Value;
use tests::{Answer, Request, Store};

/// Adds an empty table of sales to a store.
pub async fn with_sales(store: Store) -> Store {
    let columns = ["day DATE", "region STRING", "amount DECIMAL(12,2)", "extra JSON"];
    store.table("sales", &columns).await;
    store
}

pub async fn create(store: &Store, body: &Value) -> Answer {
    store.post("/dashboards", body).await
}

pub fn put(store: &Store, id: &str, body: &Value) -> Request {
    let path = store.path(&format!("/dashboards/{id}"));
    store.service.put(&store.token, &path, body)
}

pub async fn read(store: &Store, id: &str) -> Answer {
    store.get(&format!("/dashboards/{id}")).await
}
