//! The runs that wait for events: each that an event may concern is told of it by a signal.
//!
//! A signal is written before the event is marked as matched, so an event that is matched twice is told
//! twice, with the same id.

use std::collections::BTreeMap;

use events::envelope::{Category, Envelope};
use events::listening::{CloudEvent, EVENT_SIGNAL, may_fit};
use futures::stream::{self, StreamExt as _};
use platform::records::listeners::Listener;
use platform::{ErrorKind, Result, Tenant};
use tracing::warn;
use workflow::Payload;

use crate::Matcher;

/// Runs that are told at a time.
const TOLD_AT_ONCE: usize = 8;
/// Who tells runs of events, in their histories.
const MATCHER: &str = "matcher";

/// Tells the listening runs of an event. One that cannot be told holds up none of the others.
pub async fn tell(matcher: &Matcher, tenant: &Tenant, envelope: &Envelope) -> Result<()> {
    let event = CloudEvent::new(envelope);
    let attributes = event.attributes()?;
    let mut runs: BTreeMap<String, Vec<Listener>> = BTreeMap::new();
    for listener in matcher.listeners.list(tenant).await? {
        if !is_about(envelope, &listener.run_id) && may_fit(&listener, &attributes) {
            runs.entry(listener.run_id.clone()).or_default().push(listener);
        }
    }
    if runs.is_empty() {
        return Ok(());
    }
    let signal = match Payload::of(&event) {
        Ok(signal) => signal,
        Err(failure) => {
            let event_id = envelope.event_id.as_str();
            warn!(
                event_id,
                reason = failure.message,
                "listening runs are not told of an event"
            );
            return Ok(());
        }
    };
    let mut tellings = Vec::new();
    for (run_id, listeners) in &runs {
        tellings.push(tell_one(matcher, tenant, (run_id, listeners), &signal));
    }
    let told: Vec<Result<()>> = stream::iter(tellings)
        .buffer_unordered(TOLD_AT_ONCE)
        .collect()
        .await;
    told.into_iter().collect()
}

/// Whether an event tells of the beginning or the end of a run. The run itself does not wait for it.
fn is_about(envelope: &Envelope, run_id: &str) -> bool {
    let about = envelope.details.get("workflow_run_id");
    let about = about.and_then(|about| serde_json::from_str::<&str>(about.get()).ok());
    envelope.event_category == Category::Workflow && about == Some(run_id)
}

/// Tells a run, or the one that it continues as. The listeners of one that has ended are removed.
async fn tell_one(
    matcher: &Matcher,
    tenant: &Tenant,
    (run_id, listeners): (&str, &[Listener]),
    signal: &Payload,
) -> Result<()> {
    let mut run = run_id.to_owned();
    loop {
        let told = matcher.engine.signal(tenant, &run, EVENT_SIGNAL, signal, MATCHER);
        let refusal = match told.await {
            Err(refusal) if [ErrorKind::Conflict, ErrorKind::NotFound].contains(&refusal.kind()) => refusal,
            other => return other,
        };
        if let Some(next) = matcher.engine.continues_as(tenant, &run).await? {
            run = next;
            continue;
        }
        if matcher.engine.is_over(tenant, &run).await? {
            for listener in listeners {
                let (run_id, listener_id) = (&listener.run_id, &listener.listener_id);
                matcher.listeners.remove(tenant, run_id, listener_id).await?;
            }
            return Ok(());
        }
        warn!(
            run_id = run,
            reason = refusal.message(),
            "a listening run takes no more events"
        );
        return Ok(());
    }
}
