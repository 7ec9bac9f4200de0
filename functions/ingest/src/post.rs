//! `POST /webhooks/events/{account_id}/{project_id}/{channel_id}`: accepts an external event. 202 once the
//! event is written.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use events::channel::StoredChannel;
use events::envelope::{Category, Envelope, RawObject};
use events::records::events::IngestKey;
use events::transform::{self, Defaults, Incoming};
use platform::http::openapi::problem;
use platform::http::{body, parse, strict};
use platform::{Error, ErrorKind, Result, Tenant, UtcTime, ids, metrics, trace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tracing::Span;

use crate::Ingest;
use crate::credentials::{Shown, admitted};

/// Deepest nesting of a body. The event nests it two levels deeper, and many JSON parsers stop at 128.
const MAX_DEPTH: usize = 100;

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
    /// Id of the event: the same one for a repeated `idempotency_key`.
    event_id: String,
    /// What the body said without effect, such as a time that is not understood; left out where there is
    /// nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

pub fn route() -> ApiMethodRouter<Ingest> {
    post_with(handler, doc)
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
             channel's rate.",
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
) -> Result<(StatusCode, axum::Json<IngestedEvent>)> {
    let accepted = accept(&ingest, path, request).await;
    if let Err(refusal) = &accepted
        && refusal.status() < 500
    {
        metrics::ingest_refused(refusal.kind());
    }
    Ok((StatusCode::ACCEPTED, axum::Json(accepted?)))
}

async fn accept(
    ingest: &Ingest,
    path: Result<Path<IngestPath>, PathRejection>,
    request: Request<Body>,
) -> Result<IngestedEvent> {
    let (headers, query) = (
        request.headers().clone(),
        request.uri().query().map(str::to_owned),
    );
    let text = body(request).await?;
    // A path that cannot be decoded names no channel.
    let Path(path) = path.map_err(|_| crate::refused())?;
    let tenant = Tenant::new(&path.account_id, &path.project_id).ok();
    let channel = find(ingest, tenant.as_ref(), &path.channel_id).await?;
    let shown = Shown {
        headers: &headers,
        query: query.as_deref(),
        body: &text,
    };
    let channel = admitted(ingest, tenant.as_ref(), channel, shown).await?;
    let tenant = tenant.ok_or_else(crate::refused)?;
    let span = Span::current();
    span.record("account", tenant.account());
    span.record("project", tenant.project());
    trace::set("millrace.account", tenant.account());
    trace::set("millrace.project", tenant.project());
    if !channel.enabled {
        return Err(Error::new(
            ErrorKind::Forbidden,
            "The channel is disabled; nothing that is sent to it is taken.",
        ));
    }
    ingest.rates.admit(&tenant, &channel.id).await?;
    take(ingest, &tenant, &channel, &text).await
}

/// Finds the channel of a path; None for a path that names no valid tenant or id.
async fn find(ingest: &Ingest, tenant: Option<&Tenant>, id: &str) -> Result<Option<StoredChannel>> {
    let Some(tenant) = tenant.filter(|_| ids::is_id(id)) else {
        return Ok(None);
    };
    let record = ingest.channels.find(tenant, id).await?;
    record
        .map(|record| StoredChannel::from_record(&record))
        .transpose()
}

/// Makes an event of a body and publishes it. The id is that of the earlier event with the same idempotency
/// key, where there is one.
async fn take(
    ingest: &Ingest,
    tenant: &Tenant,
    channel: &StoredChannel,
    bytes: &[u8],
) -> Result<IngestedEvent> {
    let incoming = incoming(bytes, channel.defaults())?;
    let now = ingest.clock.now();
    let event_id = ids::new_id(now);
    let envelope = Envelope {
        event_category: Category::External,
        action: incoming.action,
        resource_type: incoming.resource_type,
        resource_id: incoming.resource_id.unwrap_or_else(|| event_id.clone()),
        account_id: tenant.account().to_owned(),
        project_id: tenant.project().to_owned(),
        tenant_id: None,
        timestamp: incoming.timestamp.unwrap_or(now),
        source: format!("external:{}", channel.source),
        resource_data: RawObject::new(),
        details: incoming.details,
        meters: Vec::new(),
        event_id,
        traceparent: None,
        tracestate: None,
    };
    let key = incoming.idempotency_key.as_deref().map(|key| IngestKey {
        channel_id: &channel.id,
        key,
    });
    let event_id = ingest.publisher.publish(tenant, envelope, key, now).await?;
    Ok(IngestedEvent {
        event_id,
        warnings: incoming.warnings,
    })
}

/// Parses the parts of an event from a body. 400 for an invalid body.
pub fn incoming(bytes: &[u8], defaults: Defaults<'_>) -> Result<Incoming> {
    check_depth(bytes)?;
    let strict::Json(value) = parse(bytes)?;
    let Value::Object(fields) = value else {
        return Err(Error::invalid("The body must be a JSON object."));
    };
    let text = std::str::from_utf8(bytes).map_err(|_| Error::invalid("The body is not valid UTF-8."))?;
    transform::read(text.trim_start_matches('\u{feff}').trim(), &fields, defaults)
}

/// Refuses with 400 JSON that nests deeper than readers of the event can parse. The result is arbitrary for
/// text that is not JSON; the parser refuses that later.
fn check_depth(bytes: &[u8]) -> Result<()> {
    let (mut depth, mut in_text, mut is_escaped) = (0_usize, false, false);
    for byte in bytes {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_text => is_escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(Error::invalid(format!(
                "The body nests deeper than {MAX_DEPTH} levels."
            )));
        }
    }
    Ok(())
}
