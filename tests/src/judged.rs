//! Runs a service whose subscriptions have semantic conditions, with a stand-in model whose answers the test
//! sets.

use serde_json::{Value, json};

use crate::events::{Channel, Events};
use crate::model::ModelServer;

/// Service with a model, and a channel whose events go to subscriptions by their action.
pub struct Judged {
    pub events: Events,
    pub model: ModelServer,
    pub channel: Channel,
}

impl Judged {
    /// Starts a service.
    pub async fn start_local() -> Self {
        let model = ModelServer::start().await;
        let events = Events::start_local_with(&model.variables()).await;
        Self {
            channel: events.plain_channel().await,
            events,
            model,
        }
    }

    /// Subscribes a webhook with a condition to an action, which is also the webhook's path.
    pub async fn subscribe(&self, action: &str, condition: Value) -> Value {
        subscribe(&self.events, action, condition).await
    }

    /// Posts an event. Returns its id.
    pub async fn send(&self, body: &Value) -> String {
        self.events.event(&self.channel, body).await
    }

    /// Posts an event of an action and waits until its delivery has this status. Returns the delivery.
    pub async fn delivered(&self, action: &str, status: &str) -> Value {
        let event = self.send(&json!({ "action": action })).await;
        self.events.delivery_of(&event, &[status]).await
    }

    /// Retries a delivery with the operator command.
    pub fn retry(&self, delivery: &Value) -> crate::program::Finished {
        let id = delivery["id"].as_str().unwrap_or_default();
        self.events.scope.ops(&["delivery", "retry", id])
    }

    /// Loads interactions from a file.
    pub fn load(&self, interactions: &Value) {
        let file = self.events.folder().join("interactions.json");
        std::fs::write(&file, interactions.to_string()).expect("the folder of the test is writable");
        let file = file.to_string_lossy();
        self.events
            .scope
            .ops(&["interaction", "load", &file])
            .expect_success();
    }
}

/// Subscribes a webhook with a condition to an action, which is also the webhook's path.
pub async fn subscribe(events: &Events, action: &str, condition: Value) -> Value {
    let mut body = events.webhook_body(&format!("/{action}"));
    body["filter"] = json!({ "action": [action], "semantic_condition": condition });
    events.subscribe(&body).await
}

/// Returns a condition with every choice set.
pub fn condition(evaluator: &str, mode: &str, on_error: &str) -> Value {
    json!({ "instruction": "It is urgent.", "mode": mode, "on_error": on_error, "evaluator": { "type": evaluator } })
}

/// Returns a condition with the defaults.
pub fn plain() -> Value {
    json!({ "instruction": "It is urgent." })
}
