//! Manages dashboards of a data store of the test's own.

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::client::Request;
use crate::stores::Store;

/// Returns a minimal dashboard; its query needs no table.
pub fn dashboard(name: &str) -> Value {
    json!({
        "name": name,
        "query": "SELECT DATE '2024-01-01' AS day, 2 AS total",
        "spec": {
            "mark": "bar",
            "encoding": {
                "x": { "field": "day", "type": "temporal" },
                "y": { "field": "total", "type": "quantitative" }
            }
        }
    })
}

/// Returns a minimal dashboard with other fields.
pub fn dashboard_with(fields: &Value) -> Value {
    let mut body = dashboard("Changed");
    for (key, value) in fields.as_object().into_iter().flatten() {
        body[key] = value.clone();
    }
    body
}

pub struct Dashboard {
    pub store: Store,
    pub id: String,
}

impl Dashboard {
    /// Creates a dashboard in a new, empty store.
    pub async fn start() -> Self {
        Self::start_in(Store::start().await).await
    }

    /// Creates a dashboard in a new, empty store of a local service.
    pub async fn start_local() -> Self {
        Self::start_in(Store::start_local().await).await
    }

    pub async fn start_in(store: Store) -> Self {
        let created = store.post("/dashboards", &dashboard("Sales")).await;
        let id = created.expect_status(201).id();
        Self { store, id }
    }

    /// Returns a path below the dashboard.
    pub fn path(&self, rest: &str) -> String {
        self.store.path(&format!("/dashboards/{}{rest}", self.id))
    }

    /// Sends `GET` to a path below the dashboard.
    pub fn get(&self, rest: &str) -> Request {
        self.store.service.get(&self.store.token, &self.path(rest))
    }

    /// Sends `PUT` to a path below the dashboard.
    pub fn put_to(&self, rest: &str, body: &Value) -> Request {
        self.store.service.put(&self.store.token, &self.path(rest), body)
    }

    /// Updates the dashboard.
    pub fn put(&self, body: &Value) -> Request {
        self.put_to("", body)
    }

    /// Archives the dashboard.
    pub fn delete(&self) -> Request {
        self.store.service.delete(&self.store.token, &self.path(""))
    }

    pub async fn read(&self) -> Answer {
        self.get("").await.expect_status(200)
    }

    /// Updates the description.
    pub async fn describe(&self, text: &str) -> Answer {
        self.put(&json!({ "description": text })).await.expect_status(200)
    }

    pub async fn versions(&self) -> Answer {
        self.get("/versions").await.expect_status(200)
    }

    /// Takes a snapshot.
    pub fn snapshot(&self, body: &Value) -> Request {
        let path = self.path("/versions");
        self.store.service.post(&self.store.token, &path, body)
    }

    /// Returns the id of the version with this number.
    pub async fn version(&self, number: u64) -> String {
        let versions = self.versions().await.body;
        let version = versions
            .as_array()
            .into_iter()
            .flatten()
            .find(|version| version["version_number"] == number);
        let id = version.and_then(|version| version["id"].as_str());
        id.expect("there is a version of this number").to_owned()
    }

    pub fn promote(&self, version: &str) -> Request {
        let path = self.path(&format!("/versions/{version}/promote"));
        let request = self.store.service.request(reqwest::Method::POST, &path);
        request.token(&self.store.token)
    }

    pub async fn switch(&self, enabled: bool) -> Answer {
        let request = self.put_to("/versioning", &json!({ "enabled": enabled }));
        request.await.expect_status(200)
    }
}
