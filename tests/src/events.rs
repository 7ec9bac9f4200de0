//! Manages channels, subscriptions and deliveries of a project of the test's own.

use std::ops::Deref;
use std::time::Instant;

use reqwest::Method;
use serde_json::{Value, json};

use crate::client::Request;
use crate::receiver::{Received, Receiver};
use crate::runs::{PAUSE, WITHIN};
use crate::scope::{Persona, Scope};
use crate::service::Service;

/// Service, a scope of its own, and a receiver.
pub struct Events {
    pub service: Service,
    pub scope: Scope,
    pub token: String,
    pub receiver: Receiver,
}

#[derive(Clone, Debug)]
pub struct Channel {
    /// Answer to its creation.
    pub created: Value,
    /// URL that events are posted to.
    pub url: String,
}

impl Channel {
    pub fn id(&self) -> &str {
        self.created["id"].as_str().unwrap_or_default()
    }

    pub fn token(&self) -> &str {
        self.created["ingest_token"].as_str().unwrap_or_default()
    }

    pub fn secret(&self) -> &str {
        self.created["signing_secret"].as_str().unwrap_or_default()
    }
}

impl Deref for Events {
    type Target = Service;

    fn deref(&self) -> &Service {
        &self.service
    }
}

impl Events {
    /// Starts a service.
    pub async fn start() -> Self {
        Self::start_in(Service::start().await).await
    }

    /// Starts a new local service.
    pub async fn start_local() -> Self {
        Self::start_local_with(&[]).await
    }

    /// Starts a new local service with these variables in its environment.
    pub async fn start_local_with(variables: &[(&str, &str)]) -> Self {
        Self::start_in(Service::start_local_with(variables).await).await
    }

    async fn start_in(service: Service) -> Self {
        let scope = service.scope();
        Self {
            token: scope.token(Persona::Developer),
            service,
            scope,
            receiver: Receiver::start().await,
        }
    }

    /// Returns the ingest URL of a channel of the project.
    pub fn ingest_url(&self, channel: &str) -> String {
        let Scope { account, project, .. } = &self.scope;
        let ingest = self.service.ingest_url();
        format!("{ingest}/webhooks/events/{account}/{project}/{channel}")
    }

    pub async fn channel(&self, body: &Value) -> Channel {
        let created = self.post(&self.token, "/events/channels", body).await;
        let created = created.expect_status(201).body;
        let url = self.ingest_url(created["id"].as_str().expect("a channel has an id"));
        Channel { created, url }
    }

    /// Creates a channel with only a token.
    pub async fn plain_channel(&self) -> Channel {
        self.channel(&json!({ "name": "Plain", "source": "tests" })).await
    }

    /// Posts an event to a channel with its token.
    pub fn ingest(&self, channel: &Channel, body: &Value) -> Request {
        self.request(Method::POST, &channel.url)
            .token(channel.token())
            .json(body)
    }

    /// Posts an event that must be accepted. Returns its id.
    pub async fn event(&self, channel: &Channel, body: &Value) -> String {
        let event = self.ingest(channel, body).await.expect_status(202).body;
        event["event_id"].as_str().expect("an event has an id").to_owned()
    }

    pub async fn subscribe(&self, body: &Value) -> Value {
        let created = self.post(&self.token, "/events/subscriptions", body).await;
        created.expect_status(201).body
    }

    /// Subscribes a path of the receiver to all external events.
    pub async fn webhook(&self, path: &str) -> Value {
        self.subscribe(&self.webhook_body(path)).await
    }

    /// Returns the body of such a subscription.
    pub fn webhook_body(&self, path: &str) -> Value {
        json!({
            "name": format!("To {path}"),
            "run_as_role": "executor",
            "filter": { "event_category": ["external"] },
            "target": { "type": "webhook", "url": format!("{}{path}", self.receiver.origin) },
        })
    }

    /// Returns the first page of a search of deliveries.
    pub async fn deliveries(&self, search: &Value) -> Vec<Value> {
        let answer = self.post(&self.token, "/events/deliveries/search", search).await;
        let page = answer.expect_status(200).body;
        page["deliveries"].as_array().expect("a list").clone()
    }

    /// Waits until the one delivery of an event has one of these statuses. Returns the delivery.
    pub async fn delivery_of(&self, event_id: &str, statuses: &[&str]) -> Value {
        let search = json!({ "event_id": event_id });
        let deadline = Instant::now() + WITHIN;
        loop {
            let deliveries = self.deliveries(&search).await;
            if let [delivery] = deliveries.as_slice()
                && statuses.iter().any(|status| delivery["status"] == *status)
            {
                return delivery.clone();
            }
            assert!(Instant::now() < deadline, "{event_id} has {deliveries:?}");
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits until a path of the receiver got `count` requests. Returns them.
    pub async fn received(&self, path: &str, count: usize) -> Vec<Received> {
        let deadline = Instant::now() + WITHIN;
        loop {
            let received = self.receiver.received_at(path);
            if received.len() >= count {
                return received;
            }
            assert!(
                Instant::now() < deadline,
                "{path} has {} of {count}",
                received.len()
            );
            tokio::time::sleep(PAUSE).await;
        }
    }
}
