//! `/webhooks/events/{account_id}/{project_id}/{channel_id}`: takes the requests of a sender. 202 once the
//! events of a request are written.
//!
//! The order is: size, handshake, credentials, events.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{OriginalUri, Path, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::MethodRouter;
use events::channel::StoredChannel;
use events::envelope::{Category, Envelope, RawObject};
use events::publish::Member;
use events::records::refusals::RefusedRequest;
use events::sender::body::{self, too_large};
use events::sender::{Fields, Refusal, RefusalReason};
use events::system_event::{SystemAction, SystemEvent};
use events::{sender, transform};
use platform::http::body as read_body;
use platform::http::openapi::problem;
use platform::{Error, ErrorKind, Result, Tenant, UtcTime, ids, metrics, trace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tracing::Span;

use crate::credentials::NotAdmitted;
use crate::{Ingest, credentials, handshakes};

/// First bytes of a refused body that are kept.
const MAX_EXCERPT_BYTES: usize = 200;

/// The channel in the path.
#[derive(Deserialize, JsonSchema)]
pub struct IngestPath {
    /// Account of the channel.
    account_id: String,
    /// Project of the channel.
    project_id: String,
    /// The channel's id.
    channel_id: String,
}

/// An event as an external system sends it. A channel with a `transform` takes any JSON object instead. The
/// whole body is kept under `details.payload` of the event.
#[derive(JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
#[expect(dead_code, reason = "A body is read field by field; this is its schema.")]
pub struct IngestEvent {
    /// What happened. Default: the channel's `transform`, then its `default_action`, then `received`.
    action: Option<String>,
    /// Kind of the resource that it happened to. Default: as for `action`, with `external_event` at last.
    resource_type: Option<String>,
    /// Id of that resource in the sender's system. Default: the event's own id.
    resource_id: Option<String>,
    /// A key by which the sender repeats an event: the channel answers the same key with the same `event_id`,
    /// and does not compare the bodies.
    idempotency_key: Option<String>,
    /// When it happened. Default: when the event arrives.
    timestamp: Option<UtcTime>,
    /// Data of the event, any JSON.
    payload: Option<Value>,
    /// Merged into the event's `details`.
    details: Option<Map<String, Value>>,
}

/// The event that was accepted.
#[derive(Serialize, JsonSchema)]
pub struct IngestedEvent {
    /// Id of the event: the same one for a repeated `idempotency_key`. The first one of an array.
    event_id: String,
    /// Ids of the events of an array, in its order; left out for one event.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    event_ids: Vec<String>,
    /// What the body said without effect, such as a time that is not understood; left out where there is
    /// nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

pub fn route() -> ApiMethodRouter<Ingest> {
    // Other methods may be handshakes.
    ApiMethodRouter::from(MethodRouter::new().fallback(handler)).merge(post_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("ingestEvent")
        .tag("ingest")
        .summary("Push an event in through a channel")
        .description(
            "Publishes one event of the category `external`, which subscriptions match like any other. The credentials are \
             the channel's own: its token as bearer token, in the header `x-service-ingest-token` or in the query parameter \
             `token`; or, for a channel with a `signature`, the signature of the raw body alone. The event is written \
             before the answer; its deliveries follow.\n\n\
             Limits: a body of 256 KiB unless the operator set another limit, at most 100 levels of nesting, and the \
             channel's rate.\n\n\
             A request that is a handshake of the channel makes no event, and gets the answer that its sender wants: also a GET, HEAD \
             or OPTIONS. A channel with an `accepted_status` answers with it instead of 202.",
        )
        .input::<platform::http::Json<IngestEvent>>()
        .security_requirement("ingestToken")
        .security_requirement("ingestTokenHeader")
        .security_requirement("ingestTokenQuery")
        .response_with::<202, axum::Json<IngestedEvent>, _>(|response| {
            response.description("The event is written, or was written before under the same `idempotency_key`.")
        })
        .with(problem(
            ErrorKind::Unauthenticated,
            "The channel does not exist, or its token or signature is missing or wrong.",
            "The channel does not exist, or the token or signature is missing or wrong.",
        ))
        .with(problem(
            ErrorKind::Forbidden,
            "The channel is disabled.",
            "The channel is disabled; nothing that is sent to it is taken.",
        ))
        .with(problem(
            ErrorKind::TooManyRequests,
            "The channel has taken as many events as it may in ten seconds. `retry-after` says when it takes more.",
            "The channel takes 1000 events in 10 seconds and has taken them; repeat this one in 4 seconds.",
        ))
}

async fn handler(
    State(ingest): State<Ingest>,
    path: Result<Path<IngestPath>, PathRejection>,
    request: Request<Body>,
) -> Result<Response> {
    let (parts, content) = request.into_parts();
    let limits = parts.extensions.clone();
    let mut whole = Request::new(content);
    *whole.extensions_mut() = limits;
    let bytes = read_body(whole)
        .await
        .inspect_err(|_| metrics::ingest_refused("body_unread"))?;
    let url = url(&ingest, &parts);
    let request = sender::Request {
        method: parts.method.as_str(),
        url: &url,
        headers: &parts.headers,
        body: &bytes,
    };
    // A path that cannot be decoded names no channel.
    let path = path.ok().map(|Path(path)| path);
    receive(&ingest, path.as_ref(), request).await
}

/// Returns the URL of a request as its sender has it.
fn url(ingest: &Ingest, parts: &Parts) -> String {
    match &ingest.base_url {
        Some(base) => format!("{}{}", base.trim_end_matches('/'), parts.uri),
        None => {
            let host = parts
                .headers
                .get(header::HOST)
                .and_then(|host| host.to_str().ok());
            let original = parts.extensions.get::<OriginalUri>();
            let uri = original.map_or(&parts.uri, |OriginalUri(uri)| uri);
            let path = uri.path_and_query().map_or("/", |path| path.as_str());
            format!("https://{}{path}", host.unwrap_or_default())
        }
    }
}

async fn receive(
    ingest: &Ingest,
    path: Option<&IngestPath>,
    request: sender::Request<'_>,
) -> Result<Response> {
    let now = ingest.clock.now();
    let tenant = path.and_then(|path| Tenant::new(&path.account_id, &path.project_id).ok());
    let channel = match (&tenant, path) {
        (Some(tenant), Some(path)) => find(ingest, tenant, &path.channel_id).await?,
        _ => None,
    };
    let max_body_kb = channel.as_ref().and_then(|channel| channel.max_body_kb);
    let limit = max_body_kb.map_or(ingest.max_body_bytes, |kb| kb as usize * 1_024);
    let arrays = channel.as_ref().map(|channel| channel.arrays).unwrap_or_default();
    let is_small = request.body.len() <= limit;
    let result = match is_small {
        true => body::Body::read(request, limit, arrays),
        false => Err(too_large(limit)),
    };
    let (body, fault) = match result {
        Ok(body) => (Some(body), None),
        Err(fault) => (None, Some(fault)),
    };
    let fields = Fields {
        request,
        body: body.as_ref().map_or(&Value::Null, |body| &body.whole),
    };
    let (Some(tenant), Some(channel)) = (tenant, channel) else {
        refuse_unknown(ingest, path, fields, now).await;
        return match request.method {
            "POST" => Err(crate::refused()),
            _ => Ok(no_handshake()),
        };
    };
    let channel_request = ChannelRequest {
        ingest,
        tenant: &tenant,
        channel: &channel,
        fields,
        now,
    };
    let span = Span::current();
    span.record("account", tenant.account());
    span.record("project", tenant.project());
    trace::set("millrace.account", tenant.account());
    trace::set("millrace.project", tenant.project());
    if !is_small {
        return Err(channel_request
            .refuse(RefusalReason::BodyTooLarge, too_large(limit))
            .await);
    }
    if let Some(handshake) = channel.handshakes.iter().find(|handshake| handshake.is(fields)) {
        return handshakes::answer(&channel_request, handshake).await;
    }
    if request.method != "POST" {
        return Ok(no_handshake());
    }
    channel_request.admit().await?;
    if !channel.enabled {
        let refusal = Error::new(
            ErrorKind::Forbidden,
            "The channel is disabled; nothing that is sent to it is taken.",
        );
        return Err(channel_request.refuse(RefusalReason::Disabled, refusal).await);
    }
    let body = match (&body, fault) {
        (Some(body), _) => body,
        (None, fault) => {
            let fault = fault.unwrap_or_else(|| too_large(limit));
            return Err(channel_request.refuse(RefusalReason::BodyInvalid, fault).await);
        }
    };
    let count = body.items.len() as u64;
    if let Err(refusal) = ingest.rates.admit(&tenant, &channel.id, count).await {
        return Err(channel_request.refuse(RefusalReason::RateLimited, refusal).await);
    }
    let accepted = channel_request.take(body).await?;
    Ok(match channel.accepted_status.map(StatusCode::from_u16) {
        Some(Ok(StatusCode::NO_CONTENT)) => StatusCode::NO_CONTENT.into_response(),
        status => {
            let status = status.and_then(Result::ok).unwrap_or(StatusCode::ACCEPTED);
            (status, axum::Json(accepted)).into_response()
        }
    })
}

/// Finds the channel of a path; None for one that is no id.
async fn find(ingest: &Ingest, tenant: &Tenant, id: &str) -> Result<Option<StoredChannel>> {
    if !ids::is_id(id) {
        return Ok(None);
    }
    let record = ingest.channels.find(tenant, id).await?;
    record
        .map(|record| StoredChannel::from_record(&record))
        .transpose()
}

/// Refuses a request to a missing channel with the work that a refusal by a channel takes: a faster response
/// would reveal that the channel is missing.
async fn refuse_unknown(ingest: &Ingest, path: Option<&IngestPath>, fields: Fields<'_>, now: UtcTime) {
    credentials::check_nothing(fields);
    metrics::ingest_refused("unknown_channel");
    let name = path.map(|path| format!("{}/{}/{}", path.account_id, path.project_id, path.channel_id));
    let request = RefusedRequest {
        at: now,
        reason: RefusalReason::TokenWrong,
        detail: String::new(),
        body: None,
    };
    ingest
        .refusal_log
        .add_nowhere(&name.unwrap_or_default(), request)
        .await;
}

/// Answers another method than POST that is no handshake.
fn no_handshake() -> Response {
    let refusal = Error::new(
        ErrorKind::MethodNotAllowed,
        "The channel takes events by POST, and no handshake by this method.",
    );
    let mut answer = refusal.into_response();
    let allow = HeaderValue::from_static("POST");
    answer.headers_mut().insert(header::ALLOW, allow);
    answer
}

pub(crate) struct ChannelRequest<'a> {
    pub ingest: &'a Ingest,
    pub tenant: &'a Tenant,
    pub channel: &'a StoredChannel,
    pub fields: Fields<'a>,
    pub now: UtcTime,
}

impl ChannelRequest<'_> {
    /// Checks the credentials. Every fault gets the same 401; the owner of the channel sees which it was.
    pub async fn admit(&self) -> Result<()> {
        match credentials::check(self).await {
            Ok(()) => Ok(()),
            Err(NotAdmitted::Failed(error)) => Err(error),
            Err(NotAdmitted::Refused(refusal)) => {
                self.record(refusal).await;
                Err(crate::refused())
            }
        }
    }

    /// Records a refusal, and returns its answer.
    pub async fn refuse(&self, reason: RefusalReason, answer: Error) -> Error {
        self.record(Refusal::new(reason, answer.message())).await;
        answer
    }

    pub async fn record(&self, refusal: Refusal) {
        let body = self.fields.request.body;
        let excerpt = body.get(..body.len().min(MAX_EXCERPT_BYTES)).unwrap_or_default();
        let keeps_excerpt = self.channel.keep_refused_bodies && !excerpt.is_empty();
        let request = RefusedRequest {
            at: self.now,
            reason: refusal.reason,
            detail: refusal.detail,
            body: keeps_excerpt.then(|| String::from_utf8_lossy(excerpt).into_owned()),
        };
        metrics::ingest_refused(refusal.reason.as_str());
        let is_due = self
            .ingest
            .refusal_log
            .add(self.tenant, &self.channel.id, request)
            .await;
        if is_due && let Err(cause) = self.report(refusal.reason).await {
            tracing::warn!(channel_id = self.channel.id, %cause, "the event about a refusing channel is not published");
        }
    }

    /// Tells the project by an event that the channel refuses what is sent.
    async fn report(&self, reason: RefusalReason) -> Result<()> {
        let event = SystemEvent::new(SystemAction::ChannelRefusing, &self.channel.id)
            .with("channel_name", &self.channel.name)?
            .with("source", &self.channel.source)?
            .with("reason", &reason)?;
        let publisher = &self.ingest.publisher;
        publisher.publish_system(self.tenant, event, self.now).await
    }

    /// Makes the events of a body and publishes them. The id is that of the earlier event with the same
    /// idempotency key, where there is one.
    async fn take(&self, body: &body::Body) -> Result<IngestedEvent> {
        let mut members = Vec::with_capacity(body.items.len());
        let mut warnings = Vec::new();
        for item in &body.items {
            let incoming = transform::read(self.fields.request, item, self.channel.defaults())?;
            for warning in incoming.warnings {
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
            let event_id = ids::new_id(self.now);
            let envelope = Envelope {
                event_category: Category::External,
                action: incoming.action,
                resource_type: incoming.resource_type,
                resource_id: incoming.resource_id.unwrap_or_else(|| event_id.clone()),
                account_id: self.tenant.account().to_owned(),
                project_id: self.tenant.project().to_owned(),
                tenant_id: None,
                timestamp: incoming.timestamp.unwrap_or(self.now),
                source: format!("external:{}", self.channel.source),
                resource_data: RawObject::new(),
                details: incoming.details,
                meters: Vec::new(),
                event_id,
                traceparent: None,
                tracestate: None,
            };
            members.push(Member {
                envelope,
                idempotency_key: incoming.idempotency_key,
            });
        }
        let event_ids = self
            .ingest
            .publisher
            .publish_together(self.tenant, &self.channel.id, members, self.now)
            .await?;
        let event_id = event_ids.first().cloned().unwrap_or_default();
        Ok(IngestedEvent {
            event_id,
            event_ids: if body.is_divided { event_ids } else { Vec::new() },
            warnings,
        })
    }
}
