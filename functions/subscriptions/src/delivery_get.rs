//! `GET /events/deliveries/{delivery_id}`: returns one delivery, with the request that its receiver gets or
//! the run that it started.
//!
//! The request is built again, because deliveries do not store their bodies. Its signatures are left out:
//! they would need the secret.

use std::collections::BTreeMap;

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use events::delivery::DeliveryRef;
use events::payload;
use events::records::deliveries::{DeliveryRecord, DeliveryStatus};
use events::subscription::{StoredSubscription, Target, WebhookTarget};
use events::target::WEBHOOK;
use platform::auth::Viewer;
use platform::auth::permission::{ReadEvents, Required as _, UseRuns};
use platform::http::{Call, Path, Reply};
use platform::{Error, Result, Tenant, UtcTime};
use runs::webhook_delivery::Request;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workflow::views::Shown;

use crate::App;

/// Largest body that is shown, in bytes: it is sent twice, and a quote in it takes four bytes.
const MAX_SHOWN_BODY: usize = 500_000;

/// The delivery in the path.
#[derive(Deserialize, JsonSchema)]
pub struct DeliveryPath {
    /// Id of the delivery, as the search of deliveries answers it.
    pub delivery_id: String,
}

/// A delivery, and what it sends or starts.
#[derive(Serialize, JsonSchema)]
pub struct DeliveryDetail {
    #[serde(flatten)]
    pub delivery: DeliveryRecord,
    /// Request to the receiver of a webhook; left out for other targets, and where `request_unavailable` says
    /// why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<DeliveryRequest>,
    /// Why a webhook's request cannot be shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_unavailable: Option<String>,
    /// Run that a workflow, agent or process target started; left out where it is no longer kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<DeliveryRun>,
}

/// Request of a webhook's delivery, as the subscription makes it now, without its signatures:
/// `x-service-signature` and `webhook-signature` need the secret, so `headers` lacks them.
#[derive(Serialize, JsonSchema)]
pub struct DeliveryRequest {
    /// Number of the attempt: the last one, or the next one where none is waited for.
    #[schemars(range(min = 1))]
    pub attempt: u32,
    /// URL of the receiver.
    pub url: String,
    /// Always `POST`.
    pub method: String,
    /// Headers by name. The timestamps are those of the attempt, and left out before it is made.
    pub headers: BTreeMap<String, String>,
    /// Body, byte for byte; left out where it is larger than 500,000 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Size of the body, in bytes.
    pub body_bytes: usize,
    /// Text that `x-service-signature` signs, `<timestamp>.<delivery id>.<body>`; left out for an unsigned
    /// webhook, and where the timestamp or the body is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature_base: Option<String>,
}

/// Run that a delivery started.
#[derive(Serialize, JsonSchema)]
pub struct DeliveryRun {
    /// Workflow id of the run.
    pub workflow_id: String,
    /// Run id, as `GET /workflows/runs/{workflow_id}/{run_id}` takes it.
    pub workflow_run_id: String,
    /// Workflow type of the run.
    pub workflow_type: String,
    /// Input of the run; left out for a caller without the permission `workflow:run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Shown>,
}

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("getDelivery")
        .tag("subscriptions")
        .summary("Get a delivery")
        .description(
            "Reads one delivery with every attempt: why a receiver did not get an event, and what exactly is sent to it. For a webhook \
             `request` has the URL, the headers, the body and the text that is signed, built from the event and from the subscription as \
             it is now; for another target `run` names the run and has its input. A delivery is kept for 90 days after its end, \
             unless the operator sets another time.",
        )
        .response_with::<200, axum::Json<DeliveryDetail>, _>(|response| response.description("The delivery."))
}

async fn handler(
    call: Call<ReadEvents>,
    State(app): State<App>,
    Path(path): Path<DeliveryPath>,
) -> Result<Reply<DeliveryDetail>> {
    let tenant = call.tenant()?;
    let viewer = Viewer::from_principal(&call.principal);
    let delivery = app
        .delivery((&tenant, &viewer), &path.delivery_id, call.now)
        .await?;
    let (mut request, mut request_unavailable, mut run) = (None, None, None);
    match delivery.target_type == WEBHOOK {
        true => match request_of(&app, &tenant, &delivery).await {
            Ok(shown) => request = Some(shown),
            Err(refusal) if refusal.is_transient() => return Err(refusal),
            Err(refusal) => request_unavailable = Some(refusal.message().to_owned()),
        },
        false => run = run_of(&app, &call, &tenant, &delivery).await?,
    }
    Ok(Reply::ok(DeliveryDetail {
        delivery,
        request,
        request_unavailable,
        run,
    }))
}

impl App {
    /// Returns a delivery that the viewer may see; 404 for any other.
    pub async fn delivery(
        &self,
        (tenant, viewer): (&Tenant, &Viewer),
        id: &str,
        now: UtcTime,
    ) -> Result<DeliveryRecord> {
        let deliveries = &self.redelivery.parts.deliveries;
        let delivery = deliveries.find_unexpired(tenant, id, now).await?;
        delivery
            .filter(|delivery| viewer.sees(delivery.private_to.as_deref()))
            .ok_or_else(|| Error::not_found("delivery", id))
    }
}

async fn request_of(app: &App, tenant: &Tenant, delivery: &DeliveryRecord) -> Result<DeliveryRequest> {
    let gone = |what: String| Error::conflict(format!("{what}, so its request is not known."));
    let id = &delivery.subscription_id;
    let record = app.subscriptions.find(tenant, id).await?;
    let record = record.ok_or_else(|| gone(format!("The subscription '{id}' is deleted")))?;
    let subscription = StoredSubscription::from_record(&record)?;
    let Target::Webhook(webhook) = &subscription.target else {
        return Err(gone(format!("The subscription '{id}' no longer has a webhook")));
    };
    let parts = &app.redelivery.parts;
    let event = parts.events.find(tenant, &delivery.event_id).await?;
    let event = event.ok_or_else(|| gone(format!("The event '{}' is no longer kept", delivery.event_id)))?;
    let envelope = payload::whole(&parts.objects, &event).await?;
    let times = RequestTimes::of(app, tenant, delivery).await?;
    let reference = DeliveryRef {
        id: delivery.id.clone(),
        subscription_id: id.clone(),
        attempt: times.attempt,
    };
    shown(
        webhook,
        &times,
        Request::unsigned(webhook, &envelope, &reference)?,
        &delivery.id,
    )
}

/// Attempt that a request belongs to.
struct RequestTimes {
    attempt: u32,
    /// Time that is signed: the start of the attempt's run; None where it is not known.
    signed_at: Option<UtcTime>,
    /// Time of the request; None before it.
    at: Option<UtcTime>,
}

impl RequestTimes {
    async fn of(app: &App, tenant: &Tenant, delivery: &DeliveryRecord) -> Result<Self> {
        let run = match &delivery.workflow_run_id {
            Some(run) => app.run(tenant, run).await?,
            None => None,
        };
        let run_started = run.map(|run| run.started_at);
        let is_made = delivery.status.is_final() || delivery.status == DeliveryStatus::Retrying;
        Ok(match delivery.attempts.last().filter(|_| is_made) {
            Some(last) => Self {
                attempt: last.attempt,
                // A later run did not make the attempt.
                signed_at: run_started.filter(|started| *started <= last.started_at),
                at: Some(last.started_at),
            },
            None => Self {
                attempt: delivery.attempt_count + 1,
                signed_at: run_started.filter(|_| !delivery.status.is_final()),
                at: None,
            },
        })
    }
}

fn shown(
    webhook: &WebhookTarget,
    times: &RequestTimes,
    request: Request,
    delivery_id: &str,
) -> Result<DeliveryRequest> {
    let names = request.headers.iter();
    let mut headers: BTreeMap<String, String> = names
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str().to_owned(), value)
        })
        .collect();
    let body_bytes = request.body.len();
    let body = (body_bytes <= MAX_SHOWN_BODY)
        .then(|| String::from_utf8(request.body))
        .transpose()
        .map_err(Error::internal)?;
    let mut signature_base = None;
    if webhook.is_signed() {
        headers.insert("webhook-id".to_owned(), delivery_id.to_owned());
        if let Some(at) = times.at {
            headers.insert("webhook-timestamp".to_owned(), at.as_seconds().to_string());
        }
        if let Some(signed_at) = times.signed_at {
            let timestamp = signed_at.as_seconds().to_string();
            signature_base = body
                .as_ref()
                .map(|body| format!("{timestamp}.{delivery_id}.{body}"));
            headers.insert("x-service-timestamp".to_owned(), timestamp);
        }
    }
    Ok(DeliveryRequest {
        attempt: times.attempt,
        url: webhook.url.clone(),
        method: "POST".to_owned(),
        headers,
        body,
        body_bytes,
        signature_base,
    })
}

async fn run_of(
    app: &App,
    call: &Call<ReadEvents>,
    tenant: &Tenant,
    delivery: &DeliveryRecord,
) -> Result<Option<DeliveryRun>> {
    let Some(run_id) = &delivery.workflow_run_id else {
        return Ok(None);
    };
    let Some(state) = app.run(tenant, run_id).await? else {
        return Ok(None);
    };
    let run = app.redelivery.engine.describe(tenant, &state, None).await?;
    Ok(Some(DeliveryRun {
        workflow_id: run.workflow_id,
        workflow_run_id: run.run_id,
        workflow_type: run.workflow_type,
        data: call
            .principal
            .require(UseRuns::ANY_OF)
            .is_ok()
            .then_some(run.input),
    }))
}
