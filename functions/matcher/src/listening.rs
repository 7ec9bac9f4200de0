//! Signals the runs that listen for an event.
//!
//! Signals are written before the event is marked as matched, so matching an event twice signals a run twice,
//! with the same event id.

use std::collections::BTreeMap;

use events::envelope::{Category, Envelope};
use events::listening::{CloudEvent, EVENT_SIGNAL};
use events::records::listeners::Listener;
use futures::stream::{self, StreamExt as _};
use platform::{ErrorKind, Result, Tenant};
use tracing::warn;
use workflow::Payload;

use crate::Matcher;

/// Runs that are signalled concurrently.
const SIGNALLED_AT_ONCE: usize = 8;
/// Sender of the signals, as the runs' histories show it.
const MATCHER: &str = "matcher";

/// Signals the runs that listen for an event. A run that cannot be signalled does not stop the others. An
/// event of a private run is for runs that are private to the same owner.
pub async fn signal_listeners(
    matcher: &Matcher,
    tenant: &Tenant,
    envelope: &Envelope,
    private_to: Option<&str>,
) -> Result<()> {
    let event = CloudEvent::new(envelope);
    let permit = matcher.listener_filters.permit(tenant.account()).await?;
    let mut listeners = matcher.listeners.list(tenant).await?;
    listeners.retain(|listener| !is_about(envelope, &listener.run_id));
    let fitting = matcher
        .listener_filters
        .fitting(permit, listeners, event.attributes()?)
        .await?;
    let mut runs: BTreeMap<String, Vec<Listener>> = BTreeMap::new();
    for listener in fitting {
        runs.entry(listener.run_id.clone()).or_default().push(listener);
    }
    if private_to.is_some() {
        for run_id in runs.keys().cloned().collect::<Vec<_>>() {
            if matcher.engine.private_to(tenant, &run_id).await?.as_deref() != private_to {
                runs.remove(&run_id);
            }
        }
    }
    if runs.is_empty() {
        return Ok(());
    }
    let signal = match Payload::from_value(&event) {
        Ok(signal) => signal,
        Err(failure) => {
            let event_id = envelope.event_id.as_str();
            warn!(
                event_id,
                reason = failure.message,
                "listening runs get no signal of an event"
            );
            return Ok(());
        }
    };
    let mut signals = Vec::new();
    for (run_id, listeners) in &runs {
        signals.push(signal_run(matcher, tenant, (run_id, listeners), &signal));
    }
    let signalled: Vec<Result<()>> = stream::iter(signals)
        .buffer_unordered(SIGNALLED_AT_ONCE)
        .collect()
        .await;
    signalled.into_iter().collect()
}

/// True if the event reports the start or end of this run. The run does not listen for its own events.
fn is_about(envelope: &Envelope, run_id: &str) -> bool {
    let about = envelope.details.get("workflow_run_id");
    let about = about.and_then(|about| serde_json::from_str::<&str>(about.get()).ok());
    envelope.event_category == Category::Workflow && about == Some(run_id)
}

/// Signals a run, or the run that continues it. Removes the listeners of an ended run.
async fn signal_run(
    matcher: &Matcher,
    tenant: &Tenant,
    (run_id, listeners): (&str, &[Listener]),
    signal: &Payload,
) -> Result<()> {
    let mut run = run_id.to_owned();
    loop {
        let signalled = matcher.engine.signal(tenant, &run, EVENT_SIGNAL, signal, MATCHER);
        let refusal = match signalled.await {
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
