//! Builds the request of a delivery: its body and its headers, signed where the subscription requires it.

use std::sync::Arc;

use events::delivery::{DeliveryRef, body};
use events::envelope::Envelope;
use events::signature::{delivery_signature, standard_signature};
use events::subscription::{StoredSubscription, WebhookTarget};
use events::template::Filling;
use platform::outbound::{HeaderMap, HeaderName, HeaderValue};
use platform::sealing::{Place, Sealer};
use platform::{Error, Result, Tenant, UtcTime};
use serde_json::Value;

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

pub(super) struct Request {
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

/// Start time of the run, which is signed, and time of the request.
#[derive(Clone, Copy)]
pub(super) struct Times {
    pub started_at: UtcTime,
    pub now: UtcTime,
}

/// Body of a request, and its content type.
pub(super) struct Body {
    bytes: Vec<u8>,
    content_type: &'static str,
}

/// Builds the body of a request. 400 where a template names what the event does not have.
pub(super) fn body_of(webhook: &WebhookTarget, event: &Envelope, delivery: &DeliveryRef) -> Result<Body> {
    let Some(template) = &webhook.template else {
        return Ok(Body {
            bytes: body(event, delivery)?,
            content_type: JSON,
        });
    };
    let event = event.to_json()?;
    let filled = Filling::new(&event, &delivery.id).fill(template);
    let filled = filled
        .map_err(|cause| Error::invalid(format!("The field 'target.template' cannot be filled: {cause}.")))?;
    // A text that is one reference may have become another value.
    let text = template
        .as_str()
        .and_then(|_| serde_json::from_str::<Value>(&filled).ok());
    Ok(match text {
        Some(Value::String(text)) => Body {
            bytes: text.into_bytes(),
            content_type: TEXT,
        },
        _ => Body {
            bytes: filled.into_bytes(),
            content_type: JSON,
        },
    })
}

pub(super) async fn request(
    sealer: &Arc<dyn Sealer>,
    tenant: &Tenant,
    subscription: &StoredSubscription,
    webhook: &WebhookTarget,
    (event, delivery, body): (&Envelope, &DeliveryRef, Body),
    times: Times,
) -> Result<Request> {
    let mut headers = HeaderMap::new();
    set(&mut headers, "content-type", body.content_type)?;
    let body = body.bytes;
    for (name, value) in &webhook.headers {
        set(&mut headers, name, value)?;
    }
    set(&mut headers, "x-service-event-id", &event.event_id)?;
    set(&mut headers, "x-service-delivery-id", &delivery.id)?;
    set(
        &mut headers,
        "x-service-event-category",
        event.event_category.as_str(),
    )?;
    set(&mut headers, "x-service-event-action", &event.action)?;
    if !webhook.is_signed() {
        return Ok(Request { headers, body });
    }
    let timestamp = times.started_at.as_seconds();
    let sent_at = times.now.as_seconds();
    let (mut ours, mut standard) = (Vec::new(), Vec::new());
    let place = StoredSubscription::secret_place(&subscription.id);
    let place = Place { tenant, name: &place };
    for sealed in subscription
        .signing
        .iter()
        .flat_map(|signing| signing.at(times.now))
    {
        let secret = sealer.open(place, sealed).await?;
        ours.push(delivery_signature(&secret, timestamp, &delivery.id, &body)?);
        standard.push(standard_signature(&secret, &delivery.id, sent_at, &body)?);
    }
    if ours.is_empty() {
        return Err(Error::internal("a subscription that signs has no secret"));
    }
    set(&mut headers, "x-service-timestamp", &timestamp.to_string())?;
    set(&mut headers, "x-service-signature", &ours.join(","))?;
    set(&mut headers, "webhook-id", &delivery.id)?;
    set(&mut headers, "webhook-timestamp", &sent_at.to_string())?;
    set(&mut headers, "webhook-signature", &standard.join(" "))?;
    Ok(Request { headers, body })
}

fn set(headers: &mut HeaderMap, name: &str, value: &str) -> Result<()> {
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(Error::internal)?;
    let value = HeaderValue::from_bytes(value.as_bytes()).map_err(Error::internal)?;
    headers.insert(name, value);
    Ok(())
}
