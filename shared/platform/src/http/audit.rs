//! The audit record of a mutation: a layer on its route, so that refusals and failures are recorded as well.
//!
//! The record is written before the answer leaves. Where DynamoDB takes it not even after the SDK's retries, it goes to the
//! retry queue, whose consumer writes it later and whose dead-letter queue raises an alarm; where that fails too, the whole
//! record is one error line of the log. A caller without valid credentials leaves no record: no account is known.

use std::sync::Arc;

use axum::extract::{FromRequestParts as _, RawPathParams, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tracing::{Instrument as _, error, warn};

use super::authenticate::Caller;
use super::edge::RequestId;
use super::path;
use super::reply::CreatedResource;
use crate::Platform;
use crate::auth::{Principal, PrincipalKind};
use crate::clock::UtcTime;
use crate::error::Error;
use crate::ids;
use crate::queue::Queue;
use crate::records::audit::{AuditAction, AuditEvent, AuditTrail};

/// What a route does to what, for [`record`].
#[derive(Clone)]
pub struct Audited {
    platform: Platform,
    action: AuditAction,
    resource_type: &'static str,
    /// The path parameter that is the resource's id; the first one where it is None.
    parameter: Option<&'static str>,
}

/// The state of [`record`] for a route: what it does to what kind of resource.
pub fn audited(platform: &Platform, action: AuditAction, resource_type: &'static str) -> Audited {
    Audited {
        platform: platform.clone(),
        action,
        resource_type,
        parameter: None,
    }
}

impl Audited {
    /// For a resource below another one: its id is the path parameter of this name.
    #[must_use]
    pub fn identified_by(mut self, parameter: &'static str) -> Self {
        self.parameter = Some(parameter);
        self
    }
}

/// Runs the route, then writes its audit record. The resource is the one that the route made, else the
/// path's first id or the one that [`Audited::identified_by`] names; none where no id can be like that.
pub async fn record(State(audited): State<Audited>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let in_path = match RawPathParams::from_request_parts(&mut parts, &()).await {
        Ok(parameters) => parameters
            .iter()
            .find(|(name, _)| audited.parameter.is_none_or(|wanted| *name == wanted))
            .map(|(_, value)| value.to_owned())
            .filter(|value| path::is_id(value)),
        Err(_) => None,
    };
    let caller = parts.extensions.get::<Caller>().cloned();
    let request_id = parts
        .extensions
        .get::<RequestId>()
        .map(|id| id.0.clone())
        .unwrap_or_default();
    // On its own task: a caller who goes away, or a panic, leaves no mutation without its record.
    let handled = tokio::spawn(next.run(Request::from_parts(parts, body)).in_current_span());
    let finished = async move {
        let response = handled
            .await
            .unwrap_or_else(|panic| Error::internal(panic).into_response());
        if let Some(Caller(Ok(principal))) = caller {
            let mut event = event(
                audited.action,
                audited.resource_type,
                &principal,
                audited.platform.clock.now(),
            );
            event.resource_id = match response.extensions().get::<CreatedResource>() {
                Some(CreatedResource(id)) => id.clone(),
                None => in_path.unwrap_or_default(),
            };
            event.request_id = request_id;
            event.status = response.status().as_u16();
            event.success = event.status < 400;
            audited.platform.audit.write(&event).await;
        }
        response
    };
    tokio::spawn(finished.in_current_span())
        .await
        .unwrap_or_else(|panic| Error::internal(panic).into_response())
}

/// A record of something that `principal` did successfully at `now`; the resource and the request are to be filled in.
pub fn event(action: AuditAction, resource_type: &str, principal: &Principal, now: UtcTime) -> AuditEvent {
    let (principal_type, principal_id, principal_user_id) = match &principal.kind {
        PrincipalKind::User(id) => ("user", None, Some(id.clone())),
        PrincipalKind::ApiKey(id) => ("apikey", Some(id.clone()), None),
        PrincipalKind::System => ("system", None, None),
    };
    AuditEvent {
        id: ids::new_id(now),
        event_type: "audit".to_owned(),
        action,
        resource_type: resource_type.to_owned(),
        resource_id: String::new(),
        timestamp: now,
        request_id: String::new(),
        status: 200,
        success: true,
        principal_id,
        principal_type: Some(principal_type.to_owned()),
        principal_user_id,
        roles: principal.roles.clone(),
        account_id: Some(principal.account_id.clone()),
        project_id: principal.project_id.clone(),
        tenant_id: principal.tenant_id.clone(),
        account_name: principal.account_name.clone(),
        project_name: principal.project_name.clone(),
    }
}

/// Writes audit records, and never drops one in silence.
#[derive(Clone)]
pub struct AuditLog {
    trail: AuditTrail,
    retry: Arc<dyn Queue>,
}

impl AuditLog {
    /// Over the table, with the queue for records that it does not take.
    pub fn new(trail: AuditTrail, retry: Arc<dyn Queue>) -> Self {
        Self { trail, retry }
    }

    /// Writes a record, or hands it to the retry queue, or to the log.
    pub async fn write(&self, event: &AuditEvent) {
        let Err(cause) = self.trail.insert(event).await else {
            return;
        };
        let body = serde_json::to_string(event).unwrap_or_default();
        match self.retry.send(&body).await {
            Ok(()) => warn!(audit_id = event.id, %cause, "audit record queued: the table did not take it"),
            Err(queue_cause) => {
                error!(audit_record = body, %cause, %queue_cause, "audit record not written and not queued");
            }
        }
    }
}
