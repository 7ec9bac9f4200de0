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

pub struct Request {
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Request {
    /// Builds a request without timestamps and signatures. 400 where the target's template names what the
    /// event does not have.
    pub fn unsigned(webhook: &WebhookTarget, event: &Envelope, delivery: &DeliveryRef) -> Result<Self> {
        let Body { bytes, content_type } = body_of(webhook, event, delivery)?;
        let mut headers = HeaderMap::new();
        set(&mut headers, "content-type", content_type)?;
        for (name, value) in &webhook.headers {
            set(&mut headers, name, value)?;
        }
        set(&mut headers, "x-service-event-id", &event.event_id)?;
        set(&mut headers, "x-service-delivery-id", &delivery.id)?;
        let category = event.event_category.as_str();
        set(&mut headers, "x-service-event-category", category)?;
        set(&mut headers, "x-service-event-action", &event.action)?;
        Ok(Self { headers, body: bytes })
    }

    /// Adds the timestamps and the signatures by each secret of the subscription.
    pub(super) async fn signed(
        mut self,
        sealer: &Arc<dyn Sealer>,
        tenant: &Tenant,
        subscription: &StoredSubscription,
        delivery_id: &str,
        times: Times,
    ) -> Result<Self> {
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
            ours.push(delivery_signature(&secret, timestamp, delivery_id, &self.body)?);
            standard.push(standard_signature(&secret, delivery_id, sent_at, &self.body)?);
        }
        if ours.is_empty() {
            return Err(Error::internal("a subscription that signs has no secret"));
        }
        let headers = &mut self.headers;
        set(headers, "x-service-timestamp", &timestamp.to_string())?;
        set(headers, "x-service-signature", &ours.join(","))?;
        set(headers, "webhook-id", delivery_id)?;
        set(headers, "webhook-timestamp", &sent_at.to_string())?;
        set(headers, "webhook-signature", &standard.join(" "))?;
        Ok(self)
    }
}

/// Start time of the run, which is signed, and time of the request.
#[derive(Clone, Copy)]
pub(super) struct Times {
    pub started_at: UtcTime,
    pub now: UtcTime,
}

/// Body of a request, and its content type.
struct Body {
    bytes: Vec<u8>,
    content_type: &'static str,
}

/// Builds the body of a request. 400 where a template names what the event does not have.
fn body_of(webhook: &WebhookTarget, event: &Envelope, delivery: &DeliveryRef) -> Result<Body> {
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

fn set(headers: &mut HeaderMap, name: &str, value: &str) -> Result<()> {
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(Error::internal)?;
    let value = HeaderValue::from_bytes(value.as_bytes()).map_err(Error::internal)?;
    headers.insert(name, value);
    Ok(())
}
