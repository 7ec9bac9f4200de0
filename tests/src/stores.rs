//! A data store of a test's own.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::client::Request;
use crate::scope::{Persona, Scope};
use crate::service::Service;
use crate::unique;

/// How long an import may take until it is over.
const IMPORTED_WITHIN: Duration = Duration::from_secs(120);

/// A service, a scope of its own, and an empty data store in it.
pub struct Store {
    /// The service.
    pub service: Service,
    /// The account and project.
    pub scope: Scope,
    /// The token of the [`Persona::Developer`].
    pub token: String,
    /// The store's id.
    pub id: String,
}

impl Store {
    /// An empty store in the service that is tested.
    pub async fn start() -> Self {
        Self::start_in(Service::start().await).await
    }

    /// An empty store in a project of the test's own. None where [`Service::start_own`] skips.
    pub async fn start_own() -> Option<Self> {
        Some(Self::start_in(Service::start_own().await?).await)
    }

    /// An empty store in a new local service. None where [`Service::start_local`] skips.
    pub async fn start_local() -> Option<Self> {
        Some(Self::start_in(Service::start_local().await?).await)
    }

    /// The same with variables in the environment of the service.
    pub async fn start_local_with(variables: &[(&str, &str)]) -> Option<Self> {
        Some(Self::start_in(Service::start_local_with(variables).await?).await)
    }

    async fn start_in(service: Service) -> Self {
        let scope = service.scope();
        let token = scope.token(Persona::Developer);
        let created = service.post(&token, "/data", &json!({ "name": unique("store") }));
        let id = created.await.expect_status(201).id();
        Self {
            service,
            scope,
            token,
            id,
        }
    }

    /// A path below the store.
    pub fn path(&self, rest: &str) -> String {
        format!("/data/{}{rest}", self.id)
    }

    /// `GET` below the store.
    pub fn get(&self, rest: &str) -> Request {
        self.service.get(&self.token, &self.path(rest))
    }

    /// `POST` below the store.
    pub fn post(&self, rest: &str, body: &Value) -> Request {
        self.service.post(&self.token, &self.path(rest), body)
    }

    /// `PUT` below the store.
    pub fn put(&self, rest: &str, body: &Value) -> Request {
        self.service.put(&self.token, &self.path(rest), body)
    }

    /// `DELETE` below the store.
    pub fn delete(&self, rest: &str) -> Request {
        self.service.delete(&self.token, &self.path(rest))
    }

    /// Changes a table.
    pub async fn alter(&self, table: &str, changes: &Value) -> Answer {
        self.put(&format!("/tables/{table}"), changes).await
    }

    /// The store as it is now.
    pub async fn detail(&self) -> Value {
        self.get("").await.expect_status(200).body
    }

    /// Makes a table; its columns are those of [`columns`].
    pub async fn table(&self, name: &str, definitions: &[&str]) {
        let table = json!({ "name": name, "columns": columns(definitions) });
        let made = self.post("/tables", &json!({ "tables": [table] })).await;
        made.expect_status(201);
    }

    /// Imports rows of the request into a table, with the mode that is the default.
    pub async fn append(&self, table: &str, rows: &Value) -> Answer {
        self.post("/import", &inline(table, rows)).await
    }

    /// The record of an import, by its path below the store, when it is over.
    pub async fn ended_import(&self, path: &str) -> Value {
        let deadline = Instant::now() + IMPORTED_WITHIN;
        loop {
            let record = self.get(path).await.expect_status(200).body;
            let status = &record["status"];
            if status != "PENDING" && status != "RUNNING" {
                return record;
            }
            assert!(record.get("completed_at").is_none(), "{record}");
            assert!(
                Instant::now() < deadline,
                "the import is not over after {IMPORTED_WITHIN:?}: {record}"
            );
        }
    }

    /// Puts a file where imports find it; after [`Store::start_own`].
    pub fn put_artifact(&self, path: &str, bytes: &[u8]) {
        let file = self.service.folder().join(unique("artifact"));
        std::fs::write(&file, bytes).expect("the file can be written");
        let put = self
            .scope
            .ops(&["artifact", "put", &file.to_string_lossy(), path]);
        put.expect_success();
    }

    /// How many tables have a copy that queries read faster, for local services.
    pub fn copies(&self) -> usize {
        let folder = self.service.folder().join("data/cache/segments");
        let files = std::fs::read_dir(folder).expect("the cache's folder can be read");
        let is_copy = |path: &Path| path.extension().is_some_and(|ending| ending == "duckdb");
        files.flatten().filter(|file| is_copy(&file.path())).count()
    }

    /// Imports a file with these bytes into a table as CSV; after [`Store::start_own`].
    pub async fn append_csv(&self, table: &str, bytes: &[u8]) -> Answer {
        self.put_artifact("out/rows.csv", bytes);
        self.post("/import", &artifact(table, "out/rows.csv")).await
    }

    /// Asks with parameters.
    pub async fn query(&self, sql: &str, params: &Value) -> Answer {
        self.post("/query", &json!({ "sql": sql, "params": params }))
            .await
    }

    /// The rows of a query that succeeds.
    pub async fn rows(&self, sql: &str) -> Value {
        let answer = self.query(sql, &json!({})).await.expect_status(200);
        answer.body["rows"].clone()
    }
}

/// Column definitions of words: `id BIGINT primary_key`, `name STRING unique required`.
pub fn columns(definitions: &[&str]) -> Value {
    let column = |definition: &&str| {
        let mut words = definition.split_whitespace();
        let mut column = json!({ "name": words.next(), "type": words.next() });
        for word in words {
            match word {
                "required" => column["nullable"] = false.into(),
                flag => column[flag] = true.into(),
            }
        }
        column
    };
    definitions.iter().map(column).collect()
}

/// The body of an import of rows into one table.
pub fn inline(table: &str, rows: &Value) -> Value {
    json!({ "tables": { table: { "source": "inline", "data": rows } } })
}

/// The body of an import of an artifact into one table.
pub fn artifact(table: &str, uri: &str) -> Value {
    elsewhere(table, "artifact", uri)
}

/// The body of an import of a file of any source into one table.
pub fn elsewhere(table: &str, source: &str, uri: &str) -> Value {
    json!({ "tables": { table: { "source": source, "uri": uri } } })
}
