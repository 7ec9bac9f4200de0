//! Aggregates the events of a project of the test's own.

use std::time::Instant;

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::client::Request;
use crate::events::{Channel, Events};
use crate::runs::{PAUSE, WITHIN};

/// Project with an ingest channel whose senders choose every part of an event.
pub struct Aggregates {
    pub events: Events,
    pub channel: Channel,
}

impl Aggregates {
    /// Starts a service.
    pub async fn start() -> Self {
        let events = Events::start().await;
        let channel = events.plain_channel().await;
        Self { events, channel }
    }

    /// Sends events, each with these fields. They count as soon as the request returns.
    pub async fn ingest(&self, events: &[Value]) {
        for event in events {
            self.events.event(&self.channel, event).await;
        }
    }

    /// Publishes an event as another service does, under an id that is unique in the project.
    pub fn publish(&self, id: &str, fields: &Value) {
        let mut envelope = json!({
            "event_id": id, "event_category": "content", "action": "create", "resource_type": "content_object",
            "resource_id": id, "account_id": self.events.scope.account, "project_id": self.events.scope.project,
            "timestamp": "2026-03-02T12:00:00Z", "source": "cms",
        });
        if let (Some(envelope), Some(fields)) = (envelope.as_object_mut(), fields.as_object()) {
            envelope.extend(fields.clone());
        }
        let file = self.events.folder().join(format!("{id}.json"));
        std::fs::write(&file, envelope.to_string()).expect("the event can be written");
        let published = self
            .events
            .scope
            .ops(&["event", "publish", "--file", &file.to_string_lossy()]);
        published.expect_success();
    }

    /// Requests an aggregation with the developer's token.
    pub fn ask(&self, body: &Value) -> Request {
        self.ask_as(&self.events.token, body)
    }

    /// Requests an aggregation with any token.
    pub fn ask_as(&self, token: &str, body: &Value) -> Request {
        self.events.post(token, "/audit-trail/aggregate", body)
    }

    /// Returns the answer to a request that succeeds.
    pub async fn answer(&self, body: &Value) -> Value {
        self.ask(body).await.expect_status(200).body
    }

    /// Returns the rows of that answer, each as an array of its dimensions, in the request's order, and then
    /// its metrics.
    pub async fn rows(&self, body: &Value) -> Vec<Value> {
        rows(body, &self.answer(body).await)
    }

    /// Waits until the project has `count` events, because published events arrive through the bus.
    pub async fn wait_for_events(&self, count: u64) {
        let body = json!({ "from": "2026-01-01", "to": "2026-12-31", "metrics": [{ "id": "n", "operation": "count" }] });
        let deadline = Instant::now() + WITHIN;
        loop {
            let total = self.answer(&body).await["rows"][0]["metrics"]["n"].as_u64();
            if total == Some(count) {
                return;
            }
            assert!(Instant::now() < deadline, "{total:?} events instead of {count}");
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Asserts a 400 whose message names the JSON path `named`.
    pub async fn expect_refusal(&self, body: &Value, part: &str) -> Answer {
        let refused = self.ask(body).await.expect_error(400, "invalid_request");
        assert!(refused.message().contains(part), "{body}: {}", refused.message());
        refused
    }
}

/// Returns the rows of an answer, each as an array of its dimensions, in the request's order, and then its
/// metrics.
pub fn rows(body: &Value, answer: &Value) -> Vec<Value> {
    let names = |list: &str, name: &str| -> Vec<String> {
        let list = body[list].as_array().cloned().unwrap_or_default();
        let names = list.iter().filter_map(|one| one[name].as_str());
        names.map(str::to_owned).collect()
    };
    let (dimensions, metrics) = (names("groupBy", "dimension"), names("metrics", "id"));
    let rows = answer["rows"].as_array().expect("an answer has rows");
    let row = |row: &Value| -> Value {
        assert_eq!(
            row["dimensions"].as_object().map(|values| values.len()),
            Some(dimensions.len())
        );
        assert_eq!(
            row["metrics"].as_object().map(|values| values.len()),
            Some(metrics.len())
        );
        let values = dimensions.iter().map(|name| row["dimensions"][name].clone());
        let numbers = metrics.iter().map(|name| row["metrics"][name].clone());
        values.chain(numbers).collect()
    };
    rows.iter().map(row).collect()
}
