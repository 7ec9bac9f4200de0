//! Manages a data store of the test's own.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::client::Request;
use crate::scope::{Persona, Scope};
use crate::service::Service;
use crate::unique;

/// Internal words. An answer may contain one only where the statement itself contains it.
pub const INTERNAL_WORDS: [&str; 19] = [
    ".parquet",
    "read_parquet",
    "segments",
    "staging",
    "lake",
    "duckdb_",
    "json_serialize_sql",
    "memory_limit",
    "temp_directory",
    "allowed_paths",
    "allowed_directories",
    "enable_external_access",
    "lock_configuration",
    "max_expression_depth",
    "panicked",
    "internal error",
    "std::",
    "field_id",
    "stack trace",
];

/// Most repetitions of a query that took too long.
const MAX_REPETITIONS: usize = 5;
/// Longest wait for the end of an import.
const IMPORTED_WITHIN: Duration = Duration::from_secs(600);

/// Service, a scope of its own, and an empty data store in it.
pub struct Store {
    pub service: Service,
    pub scope: Scope,
    pub token: String,
    pub id: String,
}

impl Store {
    /// Creates an empty store in the service under test.
    pub async fn start() -> Self {
        Self::start_in(Service::start().await).await
    }

    /// Creates an empty store in a new local service.
    pub async fn start_local() -> Self {
        Self::start_in(Service::start_local().await).await
    }

    /// Creates an empty store in a new local service with these variables in its environment.
    pub async fn start_local_with(variables: &[(&str, &str)]) -> Self {
        Self::start_in(Service::start_local_with(variables).await).await
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

    /// Returns a path below the store.
    pub fn path(&self, rest: &str) -> String {
        format!("/data/{}{rest}", self.id)
    }

    /// Sends `GET` to a path below the store.
    pub fn get(&self, rest: &str) -> Request {
        self.service.get(&self.token, &self.path(rest))
    }

    /// Sends `POST` to a path below the store.
    pub fn post(&self, rest: &str, body: &Value) -> Request {
        self.service.post(&self.token, &self.path(rest), body)
    }

    /// Sends `PUT` to a path below the store.
    pub fn put(&self, rest: &str, body: &Value) -> Request {
        self.service.put(&self.token, &self.path(rest), body)
    }

    /// Sends `DELETE` to a path below the store.
    pub fn delete(&self, rest: &str) -> Request {
        self.service.delete(&self.token, &self.path(rest))
    }

    pub async fn alter(&self, table: &str, changes: &Value) -> Answer {
        self.put(&format!("/tables/{table}"), changes).await
    }

    pub async fn detail(&self) -> Value {
        self.get("").await.expect_status(200).body
    }

    /// Creates a table; its columns have the form of [`columns`].
    pub async fn table(&self, name: &str, definitions: &[&str]) {
        let table = json!({ "name": name, "columns": columns(definitions) });
        let answer = self.post("/tables", &json!({ "tables": [table] })).await;
        answer.expect_status(201);
    }

    /// Imports rows in the request into a table, with the default mode.
    pub async fn append(&self, table: &str, rows: &Value) -> Answer {
        self.post("/import", &inline(table, rows)).await
    }

    /// Imports, and returns the answer, or the record of an import that outlived its request.
    pub async fn finished_import(&self, body: &Value) -> Value {
        let answer = self.post("/import", body).await;
        match answer.status {
            202 => self.ended_import(&format!("/import/{}", answer.id())).await,
            _ => answer.expect_status(200).body,
        }
    }

    /// Returns why an import is refused: from the answer, or from the record of an import that outlived its
    /// request.
    pub async fn import_refusal(&self, body: &Value) -> String {
        let answer = self.post("/import", body).await;
        if answer.status != 202 {
            return answer.expect_error(422, "unprocessable").message().to_owned();
        }
        let record = self.ended_import(&format!("/import/{}", answer.id())).await;
        assert_eq!(record["status"], "FAILED", "{record}");
        let error = record["error"].as_str();
        error.expect("a failed import says why").to_owned()
    }

    /// Waits until an import has ended. Returns its record; `path` is below the store.
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

    /// Stores a file as an artifact.
    pub fn put_artifact(&self, path: &str, bytes: &[u8]) {
        let file = self.service.folder().join(unique("artifact"));
        std::fs::write(&file, bytes).expect("the file can be written");
        let put = self
            .scope
            .ops(&["artifact", "put", &file.to_string_lossy(), path]);
        put.expect_success();
    }

    /// Returns the number of native copies; for local services.
    pub fn copies(&self) -> usize {
        let folder = self.service.folder().join("data/cache/segments");
        let files = std::fs::read_dir(folder).expect("the cache's folder can be read");
        let is_copy = |path: &Path| path.extension().is_some_and(|ending| ending == "duckdb");
        files.flatten().filter(|file| is_copy(&file.path())).count()
    }

    /// Imports a file with these bytes into a table as CSV.
    pub async fn append_csv(&self, table: &str, bytes: &[u8]) -> Answer {
        self.put_artifact("out/rows.csv", bytes);
        self.post("/import", &artifact(table, "out/rows.csv")).await
    }

    /// Runs a query with parameters.
    pub async fn query(&self, sql: &str, params: &Value) -> Answer {
        self.post("/query", &json!({ "sql": sql, "params": params }))
            .await
    }

    /// Returns the rows of a query that succeeds, once a busy machine has the time for it.
    pub async fn rows(&self, sql: &str) -> Value {
        let mut answer = self.query(sql, &json!({})).await;
        for _ in 0..MAX_REPETITIONS {
            if answer.status != 408 {
                break;
            }
            answer = self.query(sql, &json!({})).await;
        }
        answer.expect_status(200).body["rows"].clone()
    }
}

/// Parses column definitions such as `id BIGINT primary_key` and `name STRING unique required`.
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

/// Returns the body of an import of rows into one table.
pub fn inline(table: &str, rows: &Value) -> Value {
    json!({ "tables": { table: { "source": "inline", "data": rows } } })
}

/// Returns the body of an import of an artifact into one table.
pub fn artifact(table: &str, uri: &str) -> Value {
    elsewhere(table, "artifact", uri)
}

/// Returns the body of an import of a file of any source into one table.
pub fn elsewhere(table: &str, source: &str, uri: &str) -> Value {
    json!({ "tables": { table: { "source": source, "uri": uri } } })
}
