//! `POST /webhooks/events/{account_id}/{project_id}/{channel_id}`: an event from outside. 202 once it is written.

use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use events::channel::Channel;
use events::envelope::{Category, Envelope, RawObject};
use events::transform::{self, Defaults, Incoming};
use platform::http::{body, parse, strict};
use platform::records::events::IngestKey;
use platform::{Error, ErrorKind, Result, Tenant, ids};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tracing::Span;

use crate::Ingest;
use crate::credentials::{Shown, admitted};

/// Deepest nesting of a body: in an event it stands two levels deeper, and readers of JSON often end at 128.
const MAX_DEPTH: usize = 100;

/// The channel in the path.
#[derive(Deserialize)]
pub struct ChannelPath {
    account_id: String,
    project_id: String,
    channel_id: String,
}

/// The event that was taken.
#[derive(Serialize)]
pub struct Taken {
    event_id: String,
}

pub async fn handler(
    State(ingest): State<Ingest>,
    path: Result<Path<ChannelPath>, PathRejection>,
    request: Request<Body>,
) -> Result<impl IntoResponse> {
    let (headers, query) = (
        request.headers().clone(),
        request.uri().query().map(str::to_owned),
    );
    let text = body(request).await?;
    // One that cannot be decoded names no channel.
    let Path(path) = path.map_err(|_| crate::refused())?;
    let tenant = Tenant::new(&path.account_id, &path.project_id).ok();
    let channel = find(&ingest, tenant.as_ref(), &path.channel_id).await?;
    let shown = Shown {
        headers: &headers,
        query: query.as_deref(),
        body: &text,
    };
    let channel = admitted(&ingest, tenant.as_ref(), channel, shown).await?;
    let tenant = tenant.ok_or_else(crate::refused)?;
    let span = Span::current();
    span.record("account", tenant.account());
    span.record("project", tenant.project());
    if !channel.enabled {
        return Err(Error::new(
            ErrorKind::Forbidden,
            "The channel is disabled; nothing that is sent to it is taken.",
        ));
    }
    ingest.rates.admit(&tenant, &channel.id).await?;
    let event_id = take(&ingest, &tenant, &channel, &text).await?;
    Ok((StatusCode::ACCEPTED, axum::Json(Taken { event_id })))
}

/// The channel of a path; None for a path that can have none.
async fn find(ingest: &Ingest, tenant: Option<&Tenant>, id: &str) -> Result<Option<Channel>> {
    let is_id =
        (1..=ids::MAX_ID_LENGTH).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    let Some(tenant) = tenant.filter(|_| is_id) else {
        return Ok(None);
    };
    let record = ingest.channels.find(tenant, id).await?;
    record.map(|record| Channel::of(&record)).transpose()
}

/// Makes an event of a body, and publishes it; its id, or that of the one which was sent under the same key before.
async fn take(ingest: &Ingest, tenant: &Tenant, channel: &Channel, bytes: &[u8]) -> Result<String> {
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
    };
    let key = incoming.idempotency_key.as_deref().map(|key| IngestKey {
        channel_id: &channel.id,
        key,
    });
    ingest.publisher.publish(tenant, envelope, key, now).await
}

/// The parts of an event from a body. 400 for a body that is none.
pub fn incoming(bytes: &[u8], defaults: Defaults<'_>) -> Result<Incoming> {
    check_depth(bytes)?;
    let strict::Json(value) = parse(bytes)?;
    let Value::Object(fields) = value else {
        return Err(Error::invalid("The body must be a JSON object."));
    };
    let text = std::str::from_utf8(bytes).map_err(|_| Error::invalid("The body is not valid UTF-8."))?;
    transform::read(text.trim(), &fields, defaults)
}

/// 400 for JSON that nests deeper than those who read the event can follow. In a text that is no JSON it may be wrong.
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
