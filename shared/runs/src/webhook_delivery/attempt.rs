//! Makes one attempt of a delivery.
//!
//! Each attempt reads the subscription again, so that a disabled, deleted or changed subscription takes
//! effect at once. The receiver's response is the outcome of the attempt and never a failure of the activity;
//! the activity fails only where the platform is unavailable.

use std::sync::Arc;
use std::time::Duration;

use events::envelope::{Category, Envelope};
use events::payload;
use events::publish::publish_stored;
use events::records::deliveries::DeliveryAttempt;
use events::records::events::{EventRecord, Events};
use events::records::rates::Rates;
use events::records::subscriptions::{SubscriptionRecord, Subscriptions};
use events::subscription::{StoredSubscription, Target, WebhookTarget};
use events::system_event::SystemEvent;
use platform::auth::Principal;
use platform::bus::Bus;
use platform::config::{ConfigError, variables};
use platform::deployment::Deployment;
use platform::http::audit::{AuditLog, event as audit_event};
use platform::objects::Objects;
use platform::outbound::{self, Method, Outbound, OutboundError};
use platform::races::{RacePolicy, Races};
use platform::records;
use platform::records::audit::AuditAction;
use platform::sealing::{OpenedOnce, Sealer};
use platform::{Clock, Result, Tenant, UtcTime, ids, metrics, trace};
use tokio::time::timeout;
use tracing::{info, warn};
use url::Url;
use workflow::{ActivityContext, Failure};

use super::outcome::{Answer, AttemptInput, Next, Outcome};
use super::request::{Request, Times};
use super::verdict::{Verdict, verdict};
use crate::lanes::Turns;

/// Maximum size of the response that is kept, in bytes.
const MAX_ANSWER_BYTES: usize = 4_096;
/// Maximum wait for the body of a response after its status, which already shows the receiver's decision.
const BODY_PATIENCE: Duration = Duration::from_secs(2);
/// Age from which a timestamp is no longer signed, in milliseconds: receivers refuse one older than 15
/// minutes.
const MAX_TIMESTAMP_AGE_MS: u64 = 10 * 60 * 1_000;
/// Number of attempts for which more than the status is kept, because a record must not grow without limit.
const MAX_DETAILED_ATTEMPTS: u32 = 40;

/// Services that attempts use.
#[derive(Clone)]
pub struct Webhooks {
    pub subscriptions: Subscriptions,
    pub events: Events,
    /// Storage of large event bodies.
    pub objects: Objects,
    pub sealer: Arc<dyn Sealer>,
    pub outbound: Outbound,
    /// Receives the events about disabled subscriptions.
    pub bus: Arc<dyn Bus>,
    /// Turns of the deliveries that wait for each other.
    pub turns: Turns,
    pub rates: Rates,
    /// Audit trail for the service's own changes.
    pub audit: AuditLog,
    pub clock: Clock,
}

impl Webhooks {
    pub fn from_deployment(deployment: &Deployment) -> Result<Self, ConfigError> {
        let sealer = deployment.sealer(variables::SEALING_KEY)?;
        Ok(Self {
            subscriptions: Subscriptions::new(deployment.table(variables::RECORDS_TABLE)?),
            events: Events::new(deployment.table(variables::EVENTS_TABLE)?),
            turns: Turns::new(deployment.table(variables::EVENTS_TABLE)?, deployment.clock()),
            rates: Rates::new(deployment.table(variables::EVENTS_TABLE)?),
            objects: deployment.bucket(variables::DATA_BUCKET)?,
            sealer: Arc::new(OpenedOnce::new(sealer)),
            outbound: Outbound::from_deployment(deployment)?,
            bus: deployment.bus(variables::EVENT_BUS)?,
            audit: AuditLog::from_deployment(deployment)?,
            clock: deployment.clock(),
        })
    }
}

pub async fn attempt(
    webhooks: Webhooks,
    context: ActivityContext,
    input: AttemptInput,
) -> Result<Outcome, Failure> {
    let outcome = make(webhooks, &context.tenant, input).await?;
    match &outcome.next {
        Next::Done => metrics::delivery_attempted("delivered"),
        Next::After(_) => metrics::delivery_attempted("retrying"),
        Next::GiveUp(_) => metrics::delivery_attempted("failed"),
        Next::Unwanted(_) => metrics::delivery_attempted("skipped"),
        Next::Renew | Next::WaitForTurn(_) | Next::WaitForSlot(_) => {}
    }
    Ok(outcome)
}

async fn make(webhooks: Webhooks, tenant: &Tenant, input: AttemptInput) -> Result<Outcome, Failure> {
    let (event, subscription) = futures::future::join(
        webhooks.events.find(tenant, &input.event_id),
        webhooks
            .subscriptions
            .find(tenant, &input.delivery.subscription_id),
    )
    .await;
    let Some(record) = subscription? else {
        return Ok(unwanted("The subscription was deleted."));
    };
    let subscription = StoredSubscription::from_record(&record)?;
    if !subscription.enabled {
        return Ok(unwanted(&subscription.why_disabled()));
    }
    let Target::Webhook(webhook) = &subscription.target else {
        return Ok(unwanted("The subscription no longer delivers to a webhook."));
    };
    let Some(event) = event? else {
        return Ok(Outcome {
            attempt: None,
            next: Next::GiveUp("The event is no longer kept.".to_owned()),
        });
    };
    let started_at = webhooks.clock.now();
    if started_at.millis_since(input.started_at) > MAX_TIMESTAMP_AGE_MS {
        return Ok(Outcome {
            attempt: None,
            next: Next::Renew,
        });
    }
    if let Some(next) = wait(&webhooks, tenant, webhook, &input, started_at).await? {
        return Ok(Outcome { attempt: None, next });
    }
    let started_at = webhooks.clock.now();
    let envelope = payload::whole(&webhooks.objects, &event).await?;
    let request = match Request::unsigned(webhook, &envelope, &input.delivery) {
        Ok(request) => request,
        Err(refusal) if !refusal.is_transient() => {
            return Ok(Outcome {
                attempt: None,
                next: Next::GiveUp(refusal.message().to_owned()),
            });
        }
        Err(cause) => return Err(cause.into()),
    };
    let times = Times {
        started_at: input.started_at,
        now: started_at,
    };
    let request = if webhook.is_signed() {
        let delivery_id = &input.delivery.id;
        request
            .signed(&webhooks.sealer, tenant, &subscription, delivery_id, times)
            .await?
    } else {
        request
    };
    describe(&input, webhook);
    let answer = send(&webhooks.outbound, webhook, request).await;
    describe_answer(&answer);
    let ended_at = webhooks.clock.now();
    let retry = webhook.retry.clone().unwrap_or_default();
    let verdict = verdict(&retry, &answer, input.tried, ended_at, rand::random());
    let attempt = DeliveryAttempt {
        attempt: input.delivery.attempt,
        started_at,
        duration_ms: ended_at.millis_since(started_at),
        response_status: answer.as_ref().ok().map(|answer| answer.status),
        response_body: answer.as_ref().ok().and_then(|answer| kept(answer, &input)),
        error: verdict.error.clone(),
    };
    info!(
        account = tenant.account(),
        project = tenant.project(),
        delivery_id = input.delivery.id,
        event_id = input.event_id,
        subscription_id = subscription.id,
        attempt = attempt.attempt,
        status = attempt.response_status,
        duration_ms = attempt.duration_ms,
        error = attempt.error,
        cause = answer.as_ref().err().and_then(OutboundError::cause),
        "webhook attempt"
    );
    let Verdict { next, is_gone, .. } = verdict;
    if is_gone {
        let gone = Gone {
            url: &webhook.url,
            delivery_id: &input.delivery.id,
            event: &event,
            envelope: &envelope,
        };
        disable(&webhooks, tenant, record, &gone).await?;
    }
    Ok(Outcome {
        attempt: Some(attempt),
        next,
    })
}

/// Time before a reserved second from which an attempt waits for it, in milliseconds: hints of SQS come at
/// whole seconds.
pub(super) const EARLY_MS: u64 = 1_500;

/// Returns what the delivery must wait for before its request.
async fn wait(
    webhooks: &Webhooks,
    tenant: &Tenant,
    webhook: &WebhookTarget,
    input: &AttemptInput,
    now: UtcTime,
) -> Result<Option<Next>> {
    if let Some(lane) = &input.lane
        && let Some(pause_ms) = webhooks.turns.wait(tenant, lane, input.waits).await?
    {
        return Ok(Some(Next::WaitForTurn(pause_ms)));
    }
    let Some(rate) = webhook.rate_per_second else {
        return Ok(None);
    };
    if let Some(slot) = input.slot.filter(|slot| slot.rate == rate) {
        let lead_ms = slot.lead_ms(now);
        if lead_ms <= EARLY_MS {
            webhooks.clock.pause(Duration::from_millis(lead_ms)).await;
        }
        let now = webhooks.clock.now();
        if slot.is_now(rate, now) {
            return Ok(None);
        }
        if slot.lead_ms(now) > 0 {
            return Ok(Some(Next::WaitForSlot(slot)));
        }
    }
    let subscription = &input.delivery.subscription_id;
    let slot = webhooks.rates.reserve(tenant, subscription, rate, now).await?;
    Ok((!slot.is_now(rate, now)).then_some(Next::WaitForSlot(slot)))
}

/// Says in the attempt's span what it calls: not the path and the query of the URL, which may be secrets.
fn describe(input: &AttemptInput, webhook: &WebhookTarget) {
    if !trace::is_on() {
        return;
    }
    trace::is_call();
    trace::set("http.request.method", "POST");
    if let Ok(url) = Url::parse(&webhook.url) {
        trace::set("url.scheme", url.scheme());
        trace::set("server.address", url.host_str().unwrap_or_default());
        trace::set("server.port", url.port_or_known_default().unwrap_or_default());
    }
    if input.delivery.attempt > 1 {
        trace::set("http.request.resend_count", input.delivery.attempt - 1);
    }
    trace::set("millrace.delivery.id", &input.delivery.id);
    trace::set("millrace.event.id", &input.event_id);
    trace::set("millrace.subscription.id", &input.delivery.subscription_id);
}

fn describe_answer(answer: &std::result::Result<Answer, OutboundError>) {
    if !trace::is_on() {
        return;
    }
    match answer {
        Ok(answer) => {
            trace::set("http.response.status_code", answer.status);
            if answer.status >= 400 {
                trace::fail(&answer.status.to_string());
            }
        }
        Err(error) => trace::fail(error.kind()),
    }
}

/// Posts the request. Once a status arrives there is a response, even if its body fails.
async fn send(
    outbound: &Outbound,
    webhook: &WebhookTarget,
    mut request: Request,
) -> std::result::Result<Answer, OutboundError> {
    // No subscription sets these headers.
    if let Some(position) = trace::current() {
        position.add_to(&mut request.headers);
    }
    let request = outbound::Request {
        method: Method::POST,
        url: &webhook.url,
        headers: request.headers,
        body: request.body,
        max_bytes: MAX_ANSWER_BYTES as u64,
        deadline: webhook.timeout(),
    };
    let mut opened = outbound.send(request).await?;
    let mut body = Vec::new();
    drop(timeout(BODY_PATIENCE, opened.beginning(&mut body)).await);
    let retry_after = opened.headers.get("retry-after");
    Ok(Answer {
        status: opened.status,
        body,
        retry_after: retry_after
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned),
    })
}

/// Returns the beginning of a response body as text. None where it is empty, or after
/// [`MAX_DETAILED_ATTEMPTS`].
fn kept(answer: &Answer, input: &AttemptInput) -> Option<String> {
    let has_room = input.delivery.attempt <= MAX_DETAILED_ATTEMPTS;
    if !has_room || answer.body.is_empty() {
        return None;
    }
    // Each invalid UTF-8 byte becomes three bytes.
    let text = String::from_utf8_lossy(&answer.body);
    let end = text.floor_char_boundary(MAX_ANSWER_BYTES);
    text.get(..end).map(str::to_owned)
}

fn unwanted(why: &str) -> Outcome {
    Outcome {
        attempt: None,
        next: Next::Unwanted(why.to_owned()),
    }
}

/// Delivery whose receiver is permanently gone.
struct Gone<'a> {
    url: &'a str,
    delivery_id: &'a str,
    event: &'a EventRecord,
    envelope: &'a Envelope,
}

/// Disables a subscription whose receiver is permanently gone, unless its URL has changed meanwhile.
async fn disable(
    webhooks: &Webhooks,
    tenant: &Tenant,
    mut record: SubscriptionRecord,
    gone: &Gone<'_>,
) -> Result<()> {
    let mut races = Races::new(&RacePolicy::RECORD, "a subscription");
    loop {
        let mut subscription = StoredSubscription::from_record(&record)?;
        let is_same = matches!(&subscription.target, Target::Webhook(webhook) if webhook.url == gone.url);
        if !is_same || !subscription.enabled {
            return Ok(());
        }
        let system = Principal::system(tenant);
        let now = webhooks.clock.now();
        subscription.disable_as_gone(gone.delivery_id, system.reference(), now);
        let next = subscription.record(record.revision + 1)?;
        let report =
            SystemEvent::subscription_disabled(&subscription, gone.event, gone.envelope, gone.delivery_id)?;
        let saved = match report.map(|report| report.record(tenant, now)).transpose()? {
            None => webhooks.subscriptions.save(tenant, &record, &next).await?,
            Some(report) => save_with(webhooks, tenant, (&record, &next), report).await?,
        };
        if saved == records::Outcome::Done {
            warn!(
                subscription_id = subscription.id,
                "a subscription is disabled: its receiver is gone"
            );
            let mut audited = audit_event(AuditAction::Update, "event_subscription", &system, now);
            audited.resource_id = subscription.id;
            audited.request_id = ids::new_id(now);
            webhooks.audit.write(&audited).await;
            return Ok(());
        }
        races.lost().await?;
        match webhooks.subscriptions.find(tenant, &record.id).await? {
            Some(changed) => record = changed,
            None => return Ok(()),
        }
    }
}

/// Writes a disabled subscription with the event about it, and publishes the event.
async fn save_with(
    webhooks: &Webhooks,
    tenant: &Tenant,
    (before, next): (&SubscriptionRecord, &SubscriptionRecord),
    report: EventRecord,
) -> Result<records::Outcome> {
    webhooks.events.prepare(tenant, report.received_at).await?;
    let report = webhooks.events.insertion(tenant, report).await?;
    let subscriptions = &webhooks.subscriptions;
    let saved = subscriptions.save_with(tenant, before, next, &report).await?;
    if saved == records::Outcome::Done {
        metrics::event_accepted(Category::System.as_str());
        publish_stored(webhooks.bus.as_ref(), &report.event).await;
    }
    Ok(saved)
}
