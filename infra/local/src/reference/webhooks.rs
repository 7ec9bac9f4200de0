//! Describes the request of a delivery in the OpenAPI document: its headers, its body, an example of each
//! event, and the meaning of each answer.

use events::delivery;
use platform::config::ConfigError;
use serde_json::{Map, Value, json};

use super::document::Webhooks;

macro_rules! files {
    ($($name:ident)*) => {
        [$((stringify!($name), include_str!(concat!("events/", stringify!($name), ".json")))),*]
    };
}

/// Names of the examples, and their envelopes. A test publishes each event and compares the delivery with its
/// file.
static EVENTS: [(&str, &str); 13] = files! {
    billing_inference_completed
    content_create
    content_document_processed
    content_revision_created
    content_update
    external_received
    security_permission_granted
    system_maintenance_started
    workflow_canceled
    workflow_completed
    workflow_failed
    workflow_started
    workflow_terminated
};

/// Name, whether every delivery has it, description, example.
const HEADERS: [(&str, bool, &str, &str); 9] = [
    (
        "X-Service-Event-Id",
        true,
        "Id of the event.",
        "0197f3c2-8a41-7d0e-9b1c-000000000110",
    ),
    (
        "X-Service-Delivery-Id",
        true,
        "Delivery intent id, the same in every attempt: receivers deduplicate by it.",
        "0197f3c2-8a41-7d0e-9b1c-000000000020",
    ),
    (
        "X-Service-Event-Category",
        true,
        "Category of the event.",
        "external",
    ),
    ("X-Service-Event-Action", true, "Action of the event.", "received"),
    (
        "X-Service-Timestamp",
        false,
        "Unix time in seconds that the signature covers. Signed deliveries have it. Refuse one that is more than 15 minutes away.",
        "1767225600",
    ),
    (
        "X-Service-Signature",
        false,
        "`v1=` and the HMAC-SHA256, in hexadecimal, of `<timestamp>.<delivery id>.<raw body>`. The key is the whole signing secret. \
         For 24 hours after a rotation there are two, joined by a comma. Signed deliveries have it.",
        "v1=a3a5207f3c0d482c75c1efe7341bb5c9a3023835c4a88b373ec7ab579d6021df",
    ),
    (
        "webhook-id",
        false,
        "The delivery intent id, as Standard Webhooks names it. Signed deliveries have it.",
        "0197f3c2-8a41-7d0e-9b1c-000000000020",
    ),
    (
        "webhook-timestamp",
        false,
        "Unix time of the attempt in seconds, which `webhook-signature` covers. Signed deliveries have it.",
        "1767225600",
    ),
    (
        "webhook-signature",
        false,
        "`v1,` and the signature of Standard Webhooks in base64. Two after a rotation, joined by a space. Signed deliveries have it.",
        "v1,JAyCSuCGvc6oe9zO2KYi6iiCUdkyI8PFd2rnSlIj6us=",
    ),
];

const DESCRIPTION: &str = "The service sends this request to the `url` of a subscription's webhook target for each event that the \
    subscription matches, at least once. Verify the signature over the raw body before you parse it, and deduplicate by the delivery \
    id. After a network error, no answer in time, 408, 425, 429 or a status from 500 on, the service tries again, ten times within \
    about 16 hours.";

/// Returns the webhooks of the service. Fails where a file is not a valid example.
pub fn webhooks() -> Result<Webhooks, ConfigError> {
    let parameters: Vec<_> = HEADERS
        .iter()
        .map(|(name, required, description, example)| {
            json!({
                "name": name,
                "in": "header",
                "required": required,
                "description": description,
                "schema": { "type": "string" },
                "example": example,
            })
        })
        .collect();
    let operation = json!({
        "operationId": "receiveEvent",
        "tags": ["subscriptions"],
        "summary": "Receive an event",
        "description": DESCRIPTION,
        "security": [],
        "parameters": parameters,
        "requestBody": {
            "required": true,
            "content": {
                "application/json": {
                    "schema": { "$ref": "#/components/schemas/WebhookBody" },
                    "examples": examples()?,
                },
            },
        },
        "responses": {
            "2XX": { "description": "The receiver accepts the event; the delivery is `succeeded`. The body is not interpreted." },
            "410": { "description": "The receiver is gone: the delivery is `failed`, and the service disables the subscription." },
            "4XX": {
                "description": "The receiver refuses the event: the delivery is `failed`. After 408, 425 and 429 the service tries \
                                again; `retry-after` makes the pause longer, up to its double.",
            },
            "5XX": { "description": "The receiver has an error of its own: the service tries again." },
        },
    });
    Ok(Webhooks {
        operations: Map::from_iter([("eventDelivery".to_owned(), operation)]),
        schemas: delivery::schemas(),
    })
}

fn examples() -> Result<Map<String, Value>, ConfigError> {
    let examples = EVENTS.iter().map(|(name, text)| {
        let event: Value = serde_json::from_str(text).map_err(|error| {
            ConfigError::new(format!("The example events/{name}.json is not valid: {error}."))
        })?;
        let field = |name: &str| event.get(name).and_then(Value::as_str).unwrap_or_default();
        let summary = format!("{} of the category {}", field("action"), field("event_category"));
        let delivery = json!({
            "id": "0197f3c2-8a41-7d0e-9b1c-000000000020",
            "subscription_id": "0197f3c2-8a41-7d0e-9b1c-000000000009",
            "attempt": 1,
        });
        let body = json!({ "event": event, "delivery": delivery });
        Ok(((*name).to_owned(), json!({ "summary": summary, "value": body })))
    });
    examples.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use events::action::RunAction;
    use events::{Category, Envelope};

    use super::*;

    #[test]
    fn every_category_and_every_action_of_the_platform_has_an_example() {
        let mut actions = BTreeSet::new();
        let mut categories = BTreeSet::new();
        for (name, text) in EVENTS {
            let event = Envelope::parse(text).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
            let prefix = event.event_category.as_str();
            let full = format!("{prefix}_{}", event.action);
            assert!(
                [full.as_str(), event.action.as_str()].contains(&name),
                "{name} is {full}"
            );
            categories.insert(event.event_category);
            actions.insert(event.action);
        }
        assert_eq!(categories, BTreeSet::from(Category::ALL));
        let own = RunAction::ALL.map(RunAction::as_str).into_iter();
        // Events of the contract that other services and senders publish.
        let others = [
            "create",
            "update",
            "revision_created",
            "document_processed",
            "received",
        ];
        for action in own.chain(others) {
            assert!(
                actions.contains(action),
                "{action} has no example in reference/events"
            );
        }
    }
}
