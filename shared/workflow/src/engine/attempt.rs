//! Runs one attempt of an activity, with its time limits and its heartbeat.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Instant;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use futures::future::{Either, select};
use platform::auth::RunPrincipal;
use platform::trace::{Kind, Span, TraceContext};
use platform::{Result, Tenant, UtcTime, metrics};

use super::Engine;
use crate::draft::AttemptOutcome;
use crate::event::{EventKind, TimeoutKind};
use crate::failure::Failure;
use crate::limits;
use crate::payload::Payload;
use crate::pending::{HEARTBEAT_WRITES, PendingActivity};
use crate::registry::{ActivityContext, Heartbeat};
use crate::turn::panic_text;

#[derive(Clone, Debug)]
pub(crate) struct Finished {
    pub activity_id: String,
    /// From 1.
    pub attempt: u32,
    pub started_at: UtcTime,
    pub outcome: AttemptOutcome,
}

pub(super) struct Attempt {
    pub tenant: Tenant,
    pub workflow_id: String,
    pub run_id: String,
    pub workflow_type: String,
    pub principal: Option<RunPrincipal>,
    pub private_to: Option<String>,
    pub lineage: Vec<String>,
    /// Position of the run in its trace.
    pub position: Option<TraceContext>,
    pub activity: PendingActivity,
    pub input: Payload,
    /// True once the command that scheduled the activity is stored.
    pub is_stored: Arc<AtomicBool>,
}

fn span_of(attempt: &Attempt) -> Span {
    let activity = &attempt.activity;
    let span = Span::start_below(attempt.position.as_ref(), Kind::Internal, || {
        format!("activity {}", activity.name)
    });
    if span.is_recorded() {
        span.set("millrace.activity.id", &activity.activity_id);
        span.set("millrace.activity.name", &activity.name);
        span.set("millrace.activity.attempt", activity.attempt);
        span.set("millrace.run.id", &attempt.run_id);
    }
    span
}

fn end_span(span: &Span, outcome: &AttemptOutcome) {
    if !span.is_recorded() {
        return;
    }
    let name = outcome_name(outcome);
    span.set("millrace.activity.outcome", name);
    match outcome {
        AttemptOutcome::Completed(_) => {}
        AttemptOutcome::Failed(failure) => span.fail(&failure.kind),
        AttemptOutcome::TimedOut(_) => span.fail(name),
    }
}

/// Returns the name of an outcome in traces and metrics.
fn outcome_name(outcome: &AttemptOutcome) -> &'static str {
    match outcome {
        AttemptOutcome::Completed(_) => "completed",
        AttemptOutcome::Failed(_) => "failed",
        AttemptOutcome::TimedOut(_) => "timed_out",
    }
}

impl Engine {
    pub(super) fn carry_out(&self, attempt: Attempt) -> BoxFuture<'static, Finished> {
        let engine = self.clone();
        Box::pin(async move {
            let (activity_id, number) = (attempt.activity.activity_id.clone(), attempt.activity.attempt);
            let started_at = engine.services.clock.now();
            let (span, began) = (span_of(&attempt), Instant::now());
            let name = attempt.activity.name.clone();
            let outcome = span.within(engine.outcome(attempt)).await;
            metrics::activity_attempted(&name, outcome_name(&outcome), began.elapsed());
            end_span(&span, &outcome);
            Finished {
                activity_id,
                attempt: number,
                started_at,
                outcome,
            }
        })
    }

    async fn outcome(&self, attempt: Attempt) -> AttemptOutcome {
        let Attempt {
            tenant,
            workflow_id,
            run_id,
            workflow_type,
            principal,
            private_to,
            lineage,
            position: _,
            mut activity,
            mut input,
            is_stored,
        } = attempt;
        let Some(code) = self.services.registry.find_activity(&activity.name).cloned() else {
            let message = format!("No activity '{}' is registered.", activity.name);
            return AttemptOutcome::Failed(Failure::new("UnknownActivity", message));
        };
        if let Err(error) = self.fetch(&mut input).await {
            return AttemptOutcome::Failed(error.into());
        }
        if let Some(heartbeat) = &mut activity.heartbeat
            && let Err(error) = self.fetch(heartbeat).await
        {
            return AttemptOutcome::Failed(error.into());
        }
        let heard_at = Arc::new(AtomicI64::new(self.services.clock.now().as_millis()));
        let context = ActivityContext {
            heartbeat: self.heartbeat(&tenant, &run_id, &activity, &heard_at, is_stored),
            publish: self.publisher(&tenant, &run_id),
            tenant,
            workflow_id,
            run_id,
            workflow_type,
            activity_id: activity.activity_id.clone(),
            attempt: activity.attempt,
            scheduled_at: activity.scheduled_at,
            last_heartbeat: activity.heartbeat.clone(),
            principal,
            private_to,
            lineage,
            api: self.services.api.clone(),
            engine: Some(self.clone()),
        };
        // A panic before the first await happens inside this block too.
        let running = AssertUnwindSafe(async move { code(context, input).await }).catch_unwind();
        let mut running = Box::pin(running);
        // Uses the start time in the state, because another worker may start the next attempt from then on.
        let began_at = activity.started_at.unwrap_or_else(|| self.services.clock.now());
        let closes_at = began_at.plus_ms(activity.options.start_to_close_ms());
        let (closes_at, closes_by) = match activity.deadline() {
            Some(deadline) if deadline < closes_at => (deadline, TimeoutKind::ScheduleToClose),
            _ => (closes_at, TimeoutKind::StartToClose),
        };
        loop {
            let now = self.services.clock.now();
            let silent_at = activity.options.heartbeat_ms.and_then(|limit| {
                let heard_at = UtcTime::from_millis(heard_at.load(Ordering::Relaxed))?;
                Some(heard_at.plus_ms(limit))
            });
            let (limit, kind) = match silent_at {
                Some(silent_at) if silent_at < closes_at => (silent_at, TimeoutKind::Heartbeat),
                _ => (closes_at, closes_by),
            };
            if limit <= now {
                return AttemptOutcome::TimedOut(kind);
            }
            let sleep = self.services.sleep.sleep(limit.millis_since(now));
            match select(running, sleep).await {
                Either::Left((Ok(Ok(result)), _)) => return AttemptOutcome::Completed(result),
                Either::Left((Ok(Err(failure)), _)) => {
                    let source = failure.source.clone().unwrap_or_else(|| activity.name.clone());
                    return AttemptOutcome::Failed(failure.with_source(source));
                }
                Either::Left((Err(panic), _)) => {
                    let failure = Failure::new("Panic", panic_text(panic.as_ref()));
                    return AttemptOutcome::Failed(failure.with_source(&activity.name));
                }
                Either::Right(((), left)) => running = left,
            }
        }
    }

    /// Returns the input of an activity, from the state's tail or from the stored events.
    pub(super) async fn input_of(
        &self,
        tenant: &Tenant,
        state: &crate::state::RunState,
        scheduled: u64,
    ) -> Result<Payload> {
        let event = match state.tail.iter().find(|event| event.id == scheduled) {
            Some(event) => Some(event.clone()),
            None => {
                self.services
                    .store
                    .event(tenant, &state.run_id, scheduled)
                    .await?
            }
        };
        match event.map(|event| event.kind) {
            Some(EventKind::ActivityTaskScheduled { input, .. }) => Ok(input),
            _ => Err(platform::Error::internal(format!(
                "event {scheduled} of run {} asks for no activity",
                state.run_id
            ))),
        }
    }

    fn heartbeat(
        &self,
        tenant: &Tenant,
        run_id: &str,
        activity: &PendingActivity,
        heard_at: &Arc<AtomicI64>,
        is_stored: Arc<AtomicBool>,
    ) -> Heartbeat {
        let (engine, tenant, run_id) = (self.clone(), tenant.clone(), run_id.to_owned());
        let (activity_id, attempt) = (activity.activity_id.clone(), activity.attempt);
        let limit = activity.options.heartbeat_ms;
        let (heard_at, written_at) = (Arc::clone(heard_at), Arc::new(AtomicI64::new(0)));
        Arc::new(move |mut details| {
            let (engine, tenant, run_id) = (engine.clone(), tenant.clone(), run_id.clone());
            let (heard_at, written_at) = (Arc::clone(&heard_at), Arc::clone(&written_at));
            let (activity_id, is_stored) = (activity_id.clone(), Arc::clone(&is_stored));
            Box::pin(async move {
                let now = engine.services.clock.now();
                heard_at.store(now.as_millis(), Ordering::Relaxed);
                let pause = limit.unwrap_or(crate::options::DEFAULT_START_TO_CLOSE_MS) / HEARTBEAT_WRITES;
                let last = UtcTime::from_millis(written_at.load(Ordering::Relaxed)).unwrap_or(UtcTime::EPOCH);
                if now < last.plus_ms(pause) {
                    return Ok(());
                }
                written_at.store(now.as_millis(), Ordering::Relaxed);
                engine
                    .keep_if_larger(&tenant, &run_id, &mut details, limits::MAX_HEARTBEAT_BYTES)
                    .await?;
                engine
                    .change(&tenant, &run_id, |draft| {
                        draft.state.has_objects |= details.stored().is_some();
                        let is_closed = draft.state.is_closed();
                        let waits = draft.state.activity_mut(&activity_id);
                        match waits.filter(|activity| activity.attempt == attempt) {
                            Some(activity) if activity.started_at.is_some() => {
                                activity.heard_at = Some(now);
                                activity.heartbeat = Some(details.clone());
                                draft.changed = true;
                                Ok(())
                            }
                            Some(_) => Ok(()),
                            // Before its command is stored, the state does not have the activity.
                            None if !is_stored.load(Ordering::SeqCst) && !is_closed => Ok(()),
                            None => Err(platform::Error::conflict(
                                "The run does not wait for this attempt any longer.",
                            )),
                        }
                    })
                    .await
                    .map(drop)
                    .map_err(|error| match error.kind() {
                        platform::ErrorKind::Conflict => Failure::canceled(),
                        _ => error.into(),
                    })
            })
        })
    }
}
