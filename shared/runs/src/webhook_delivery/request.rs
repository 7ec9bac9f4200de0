//! Builds the request of a delivery: its body and its headers, signed where the subscription requires it.

use std::sync::Arc;

use events::delivery::{DeliveryRef, body};
use events::envelope::Envelope;
use events::signature::{delivery_signature, standard_signature};
use events::subscription::{StoredSubscription, WebhookTarget};
use platform::outbound::{HeaderMap, HeaderName, HeaderValue};
use platform::sealing::{Place, Sealer};
use platform::{Error, Result, Tenant, UtcTime};

/// Request of a delivery.
pub struct Request {
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Request {
    /// Builds a request without timestamps and signatures.
    pub fn unsigned(webhook: &WebhookTarget, event: &Envelope, delivery: &DeliveryRef) -> Result<Self> {
        let body = body(event, delivery)?;
        let mut headers = HeaderMap::new();
        set(&mut headers, "content-type", "application/json")?;
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
        Ok(Self { headers, body })
    }
}

/// Start time of the run, which is signed, and time of the request.
#[derive(Clone, Copy)]
pub(super) struct Times {
    pub started_at: UtcTime,
    pub now: UtcTime,
}

pub(super) async fn request(
    sealer: &Arc<dyn Sealer>,
    tenant: &Tenant,
    subscription: &StoredSubscription,
    webhook: &WebhookTarget,
    (event, delivery): (&Envelope, &DeliveryRef),
    times: Times,
) -> Result<Request> {
    let Request { mut headers, body } = Request::unsigned(webhook, event, delivery)?;
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
