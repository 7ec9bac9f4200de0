//! Writes the audit record of a mutation, as a layer on its route, so that refusals and failures are recorded
//! too.
//!
//! The record is written before the answer is sent. If DynamoDB rejects it even after the SDK's retries, it
//! goes to the retry queue, whose consumer writes it later and whose dead-letter queue raises an alarm; if
//! that fails too, the whole record is logged as one error line. A call without valid credentials leaves no
//! record, because its account is unknown.

use std::sync::{Arc, OnceLock};

use aide::axum::routing::ApiMethodRouter;
use axum::extract::{FromRequestParts as _, RawPathParams, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use tokio::time::{Instant, timeout_at};
use tracing::{Instrument as _, error, warn};

use super::authenticate::Caller;
use super::deadline::{Deadline, too_slow};
use super::edge::RequestId;
use super::reply::CreatedResource;
use crate::Platform;
use crate::archive_hints::ArchiveHints;
use crate::auth::{Principal, PrincipalKind};
use crate::clock::{Clock, UtcTime};
use crate::config::{ConfigError, variables};
use crate::deployment::Deployment;
use crate::error::Error;
use crate::ids;
use crate::metrics;
use crate::queue::Queue;
use crate::records::audit::{AuditAction, AuditEvent, AuditTrail};

/// Owner of the private run that a mutation concerns: the handler names it, and the record is for the same
/// readers as the run. A request extension.
#[derive(Clone, Debug, Default)]
pub struct Audience(Arc<OnceLock<String>>);

impl Audience {
    /// Names the owner; None for what everyone in the project sees.
    pub fn private_to(&self, owner: Option<&str>) {
        if let Some(owner) = owner {
            self.0.get_or_init(|| owner.to_owned());
        }
    }

    /// Whether an owner was named.
    pub fn is_known(&self) -> bool {
        self.0.get().is_some()
    }

    fn owner(&self) -> Option<String> {
        self.0.get().cloned()
    }
}

/// Action and resource of a route, for [`record`].
#[derive(Clone)]
pub struct Audited {
    audit: AuditLog,
    clock: Clock,
    action: AuditAction,
    resource_type: &'static str,
    /// Path parameter with the resource's id; None means the first parameter.
    parameter: Option<&'static str>,
}

/// Creates the state of [`record`] for a route.
pub fn audited(platform: &Platform, action: AuditAction, resource_type: &'static str) -> Audited {
    Audited {
        audit: platform.audit.clone(),
        clock: platform.clock.clone(),
        action,
        resource_type,
        parameter: None,
    }
}

impl Audited {
    /// Sets the path parameter with the resource's id, for a resource below another one.
    #[must_use]
    pub fn identified_by(mut self, parameter: &'static str) -> Self {
        self.parameter = Some(parameter);
        self
    }

    /// Adds the record to a route.
    pub fn on<S>(self, route: ApiMethodRouter<S>) -> ApiMethodRouter<S>
    where
        S: Clone + Send + Sync + 'static,
    {
        route.route_layer(from_fn_with_state(self, record))
    }
}

/// Runs the route, then writes its audit record. The resource is the one that the route created, else the
/// path parameter that [`Audited::identified_by`] names, else the first one; none where that value cannot be
/// an id.
pub async fn record(State(audited): State<Audited>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let in_path = match RawPathParams::from_request_parts(&mut parts, &()).await {
        Ok(parameters) => parameters
            .iter()
            .find(|(name, _)| audited.parameter.is_none_or(|wanted| *name == wanted))
            .map(|(_, value)| value.to_owned())
            .filter(|value| ids::is_id(value)),
        Err(_) => None,
    };
    let caller = parts.extensions.get::<Caller>().cloned();
    let request_id = parts
        .extensions
        .get::<RequestId>()
        .map(|id| id.0.clone())
        .unwrap_or_default();
    let audience = Audience::default();
    parts.extensions.insert(audience.clone());
    // Runs in its own task, so that a disconnected caller or a panic does not lose the record of a mutation.
    let deadline = parts.extensions.get::<Deadline>().cloned();
    let work_ends = deadline.as_ref().map(Deadline::take_over);
    let mut handled = tokio::spawn(next.run(Request::from_parts(parts, body)).in_current_span());
    let finished = async move {
        let ended = match work_ends {
            Some(work_ends) => timeout_at(work_ends, &mut handled).await.ok(),
            None => Some((&mut handled).await),
        };
        let response = match ended {
            Some(Ok(response)) => response,
            Some(Err(panic)) => Error::internal(panic).into_response(),
            None => {
                handled.abort();
                too_slow().into_response()
            }
        };
        if let Some(Caller(Ok(principal))) = caller {
            let mut event = event(
                audited.action,
                audited.resource_type,
                &principal,
                audited.clock.now(),
            );
            event.resource_id = match response.extensions().get::<CreatedResource>() {
                Some(CreatedResource(id)) => id.clone(),
                None => in_path.unwrap_or_default(),
            };
            event.request_id = request_id;
            event.status = response.status().as_u16();
            event.success = event.status < 400;
            event.private_to = audience.owner();
            let record_ends = deadline.as_ref().map(Deadline::record_ends);
            audited.audit.write_by(&event, record_ends).await;
        }
        response
    };
    tokio::spawn(finished.in_current_span())
        .await
        .unwrap_or_else(|panic| Error::internal(panic).into_response())
}

/// Builds a record of a successful action of `principal` at `now`; the caller must fill in the resource and
/// the request.
pub fn event(action: AuditAction, resource_type: &str, principal: &Principal, now: UtcTime) -> AuditEvent {
    let (principal_type, principal_id, principal_user_id) = match &principal.kind {
        PrincipalKind::User(id) => ("user", None, Some(id.clone())),
        PrincipalKind::ApiKey(id) => ("apikey", Some(id.clone()), None),
        PrincipalKind::Run(id) => ("run", Some(id.clone()), None),
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
        private_to: None,
    }
}

/// Writes audit records, and reports every failure.
#[derive(Clone)]
pub struct AuditLog {
    trail: AuditTrail,
    retry: Arc<dyn Queue>,
    hints: Option<ArchiveHints>,
}

impl AuditLog {
    pub fn from_deployment(deployment: &Deployment) -> Result<Self, ConfigError> {
        let trail = AuditTrail::new(deployment.table(variables::AUDIT_TABLE)?);
        let retry = deployment.queue(variables::AUDIT_RETRY_QUEUE)?;
        Ok(Self::new(trail, retry).hinting(ArchiveHints::from_deployment(deployment)?))
    }

    /// Writes to the table, and to the queue where the table fails.
    pub fn new(trail: AuditTrail, retry: Arc<dyn Queue>) -> Self {
        Self {
            trail,
            retry,
            hints: None,
        }
    }

    /// Also sends hints about the logs of the records.
    #[must_use]
    pub fn hinting(mut self, hints: ArchiveHints) -> Self {
        self.hints = Some(hints);
        self
    }

    /// Writes a record to the table, else to the retry queue, else to the log.
    pub async fn write(&self, event: &AuditEvent) {
        self.write_by(event, None).await;
    }

    /// As [`write`](Self::write); stops waiting for the table at `table_ends`.
    async fn write_by(&self, event: &AuditEvent, table_ends: Option<Instant>) {
        let insert = self.trail.insert(event);
        let inserted = match table_ends {
            Some(ends) => timeout_at(ends, insert)
                .await
                .unwrap_or_else(|_| Err(Error::unavailable("the table took too long"))),
            None => insert.await,
        };
        let Err(cause) = inserted else {
            if let Some(hints) = &self.hints {
                hints.new_record(&event.log(), event.timestamp).await;
            }
            return;
        };
        let body = serde_json::to_string(event).unwrap_or_default();
        match self.retry.send(&body).await {
            Ok(()) => warn!(audit_id = event.id, %cause, "audit record queued: the table did not take it"),
            Err(queue_cause) => {
                metrics::audit_record_lost();
                error!(audit_record = body, %cause, %queue_cause, "audit record not written and not queued");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::Mutex;
    use std::time::Duration;

    use async_trait::async_trait;
    use axum::Router;
    use axum::body::Body;
    use axum::http::StatusCode;
    use axum::routing::post;
    use tower::ServiceExt as _;

    use super::*;
    use crate::queue::Delivery;
    use crate::records::Table;
    use crate::records::store::{Item, Key, Page, Position, Query, RecordStore, Step, Written};
    use crate::tenant::Tenant;

    #[derive(Default)]
    struct Kept(Mutex<Vec<String>>);

    #[async_trait]
    impl Queue for Kept {
        async fn send_as(&self, body: &str, _: Delivery<'_>) -> crate::Result<()> {
            self.0.lock().unwrap().push(body.to_owned());
            Ok(())
        }
    }

    /// A record store that never answers.
    struct Silent;

    #[async_trait]
    impl RecordStore for Silent {
        async fn find(&self, _: &str, _: &Key) -> crate::Result<Option<Item>> {
            pending().await
        }

        async fn find_many(&self, _: &str, _: &[Key]) -> crate::Result<Vec<Option<Item>>> {
            pending().await
        }

        async fn write(&self, _: Step) -> crate::Result<Written> {
            pending().await
        }

        async fn transact(&self, _: Vec<Step>) -> crate::Result<Written> {
            pending().await
        }

        async fn add(&self, _: &str, _: &Key, _: &str, _: u64, _: i64) -> crate::Result<u64> {
            pending().await
        }

        async fn page(&self, _: &str, _: &Query, _: usize, _: Option<Position>) -> crate::Result<Page> {
            pending().await
        }

        async fn count(&self, _: &str, _: &Query) -> crate::Result<u64> {
            pending().await
        }

        async fn scan(&self, _: &str, _: Option<Position>) -> crate::Result<Page> {
            pending().await
        }
    }

    /// Invariant: a mutation leaves its record even if its handler and the table hang until Lambda ends the
    /// function.
    #[tokio::test]
    async fn a_mutation_that_takes_too_long_leaves_its_record() {
        let queue = Arc::new(Kept::default());
        let audited = Audited {
            audit: AuditLog::new(
                AuditTrail::new(Table::new(Arc::new(Silent), "audit")),
                queue.clone(),
            ),
            clock: Clock::System,
            action: AuditAction::Update,
            resource_type: "prompt",
            parameter: None,
        };
        let function_ends = Instant::now() + Duration::from_millis(2_200);
        let principal = Principal::system(&Tenant::new("acme", "shop").unwrap());
        let routes = Router::new()
            .route("/prompts/{id}", post(pending::<StatusCode>))
            .route_layer(from_fn_with_state(audited, record));
        let mut request = Request::post("/prompts/pt_1").body(Body::empty()).unwrap();
        let deadline = Deadline::at(function_ends);
        request.extensions_mut().insert(deadline.clone());
        request.extensions_mut().insert(RequestId("r-1".to_owned()));
        request.extensions_mut().insert(Caller(Ok(Arc::new(principal))));

        let answered = async { routes.oneshot(request).await.unwrap() };
        let response = deadline.limit(answered).await;

        assert!(Instant::now() < function_ends);
        assert_eq!(response.status(), StatusCode::REQUEST_TIMEOUT);
        let kept = queue.0.lock().unwrap();
        let event: AuditEvent = serde_json::from_str(&kept[0]).unwrap();
        assert_eq!((event.status, event.success), (408, false));
        assert_eq!(
            (event.resource_id.as_str(), event.request_id.as_str()),
            ("pt_1", "r-1")
        );
    }
}
