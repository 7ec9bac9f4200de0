//! Executes the runs of a test on one shared clock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use platform::{Tenant, UtcTime};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use super::{Delivery, TestedRun, answer};
use crate::draft::{AttemptOutcome, Draft};
use crate::engine::StartRun;
use crate::engine::advance::{accept, check_length, take_turn, too_many};
use crate::engine::attempt::Finished;
use crate::engine::effects::{already_started, note_end, note_start, refused, start_of, told};
use crate::engine::start::{check, first_draft};
use crate::event::{EventKind, TimeoutKind};
use crate::failure::Failure;
use crate::registry::{ActivityContext, Registry};
use crate::state::Effect;
use crate::turn::{Replay, make_turn};
use crate::turn_failure::TurnFailure;

/// Start of a test's first run: 2026-01-01T00:00:00Z.
const BEGINNING_MS: u64 = 1_767_225_600_000;
/// Maximum number of turns of a test, which ends code that never stops.
const MAX_TURNS: u32 = 100_000;
const MAX_ATTEMPTS: u32 = 1_000;
const WORKER: &str = "test";

pub(super) struct World {
    registry: Registry,
    /// Duration of an attempt in milliseconds, by the activity's name.
    taking: BTreeMap<String, u64>,
    tenant: Tenant,
    now: UtcTime,
    runs: Vec<Live>,
    /// Indexes of the runs that may have work to do.
    open: BTreeSet<usize>,
    /// Requests from outside, the next one last.
    deliveries: Vec<(UtcTime, Delivery)>,
    answers: Vec<Result<Value, Failure>>,
    runtime: Runtime,
    turns: u32,
}

struct Live {
    draft: Draft,
    /// Attempts with the times at which they end.
    attempts: Vec<(UtcTime, Finished)>,
    waiting: Vec<String>,
}

impl World {
    pub(super) fn new(registry: Registry, taking: BTreeMap<String, u64>) -> Result<Self, TurnFailure> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| TurnFailure::stuck(error.to_string()))?;
        Ok(Self {
            registry,
            taking,
            tenant: Tenant::new("account", "project").map_err(internal)?,
            now: UtcTime::EPOCH.plus_ms(BEGINNING_MS),
            runs: Vec::new(),
            open: BTreeSet::new(),
            deliveries: Vec::new(),
            answers: Vec::new(),
            runtime,
            turns: 0,
        })
    }

    pub(super) fn start(&mut self, mut start: StartRun) -> Result<(), TurnFailure> {
        "user:test".clone_into(&mut start.about.initiated_by);
        check(&self.registry, &start).map_err(internal)?;
        let run_id = platform::ids::derived_id(self.now, &start.workflow_id);
        self.add(first_draft(&self.tenant, &run_id, &start, self.now));
        Ok(())
    }

    fn add(&mut self, draft: Draft) {
        self.open.insert(self.runs.len());
        self.runs.push(Live {
            draft,
            attempts: Vec::new(),
            waiting: Vec::new(),
        });
    }

    pub(super) fn deliver_later(&mut self, deliveries: Vec<(u64, Delivery)>) {
        let from = self.now;
        let deliveries = deliveries.into_iter();
        self.deliveries = deliveries
            .map(|(after, delivery)| (from.plus_ms(after), delivery))
            .collect();
        self.deliveries.sort_by_key(|(at, _)| *at);
        self.deliveries.reverse();
    }

    /// Executes all events up to `until`, in milliseconds from now, or until nothing is left to do.
    pub(super) fn go(&mut self, until: Option<u64>) -> Result<(), TurnFailure> {
        let end = until.map(|after| self.now.plus_ms(after));
        loop {
            self.deliver();
            let mut changed = true;
            while changed {
                changed = false;
                let mut next = self.open.first().copied();
                // A step may start further runs.
                while let Some(index) = next {
                    changed |= self.step(index)?;
                    next = self.open.range(index + 1..).next().copied();
                }
            }
            match self.next_time().filter(|at| *at > self.now) {
                Some(at) if end.is_none_or(|end| at <= end) => self.now = at,
                _ => return Ok(()),
            }
        }
    }

    fn next_time(&self) -> Option<UtcTime> {
        let open = self.open.iter().filter_map(|index| self.runs.get(*index));
        let by_itself = open.flat_map(|run| {
            let attempts = run.attempts.iter().map(|(at, _)| *at);
            attempts.chain(run.draft.next_time())
        });
        by_itself.chain(self.deliveries.last().map(|(at, _)| *at)).min()
    }

    /// Delivers all due requests to the first run, or to the run that continues it.
    fn deliver(&mut self) {
        while let Some((_, delivery)) = self.deliveries.pop_if(|(at, _)| *at <= self.now) {
            let first = self.runs.first().map(|run| run.draft.state.workflow_id.clone());
            let Some(draft) = first.and_then(|id| self.current(&id)) else {
                continue;
            };
            let goes_on = !draft.state.is_closed();
            match delivery {
                Delivery::Signal { name, input } if goes_on => {
                    draft.append(EventKind::WorkflowExecutionSignaled {
                        name,
                        input,
                        identity: String::new(),
                    });
                }
                Delivery::Cancel { reason } => request_cancel(draft, Some(reason), ""),
                Delivery::Query { name } => {
                    let (history, processed) = (draft.state.tail.clone(), draft.state.processed);
                    let answer = answer(&self.registry, &history, processed, &name);
                    self.answers.push(answer);
                }
                Delivery::Signal { .. } => {}
            }
        }
    }

    /// Returns the current run of a workflow id, with its clock set to now.
    fn current(&mut self, workflow_id: &str) -> Option<&mut Draft> {
        let mut runs = self.runs.iter_mut().rev().map(|run| &mut run.draft);
        let draft = runs.find(|draft| draft.state.workflow_id == workflow_id)?;
        draft.now = self.now;
        Some(draft)
    }

    /// Advances a run as far as it can. Returns whether anything changed.
    fn step(&mut self, index: usize) -> Result<bool, TurnFailure> {
        let Some(run) = self.runs.get_mut(index) else {
            return Ok(false);
        };
        let draft = &mut run.draft;
        (draft.now, draft.changed) = (self.now, false);
        let ended = run.attempts.extract_if(.., |(at, _)| *at <= self.now);
        let mut ended: Vec<_> = ended.map(|(_, finished)| finished).collect();
        draft.pass_time();
        accept(draft, &mut ended, WORKER);
        let mut next_run = None;
        if draft.state.needs_turn() {
            let state = &draft.state;
            let code = self.registry.find_workflow(&state.workflow_type);
            let code = code.ok_or_else(|| TurnFailure::unknown_type(&state.workflow_type))?;
            let replay = Replay {
                history: &state.tail,
                processed: state.processed,
                query: None,
                abort: None,
            };
            let turn = make_turn(code, replay)?;
            self.turns += 1;
            if self.turns > MAX_TURNS {
                let what = format!("{MAX_TURNS} turns were made; `until` ends a test of code that goes on.");
                return Err(TurnFailure::stuck(what));
            }
            if let Some(failure) = too_many(draft, &turn.events) {
                return Err(failure);
            }
            run.waiting.clone_from(&turn.waiting);
            let history = draft.state.tail.clone();
            next_run = take_turn(&self.tenant, draft, &history, turn, &self.registry).map_err(internal)?;
            check_length(draft);
        }
        let mut can_begin: Vec<_> = draft.state.activities.keys().copied().collect();
        can_begin.retain(|scheduled| draft.can_begin(*scheduled));
        let effects = std::mem::take(&mut draft.state.outbox);
        let changed = draft.changed || !effects.is_empty() || !can_begin.is_empty();
        if draft.state.is_closed() {
            // The effects of its end are carried out below; after that nothing changes a closed run.
            self.open.remove(&index);
        }
        if let Some(next_run) = next_run {
            self.add(next_run);
        }
        for scheduled in can_begin {
            self.attempt(index, scheduled)?;
        }
        for effect in effects {
            self.perform(index, effect);
        }
        Ok(changed)
    }

    /// Executes an attempt at once; its outcome is delivered when the attempt's duration is over.
    fn attempt(&mut self, index: usize, scheduled: u64) -> Result<(), TurnFailure> {
        let Some(run) = self.runs.get_mut(index) else {
            return Ok(());
        };
        let draft = &mut run.draft;
        draft.begin_attempt(scheduled, WORKER);
        let principal = draft.state.principal(&self.tenant);
        let asked = draft.state.tail.iter().find(|event| event.id == scheduled);
        let (Some(activity), Some(EventKind::ActivityTaskScheduled { input, .. })) = (
            draft.state.activities.get_mut(&scheduled),
            asked.map(|event| &event.kind),
        ) else {
            return Ok(());
        };
        let name = &activity.name;
        let code = self.registry.find_activity(name).cloned().ok_or_else(|| {
            TurnFailure::stuck(format!(
                "No activity '{name}' is registered, and none stands in for it."
            ))
        })?;
        if let Some(last) = activity
            .last_failure
            .as_ref()
            .filter(|_| activity.attempt > MAX_ATTEMPTS)
        {
            let what = format!("The activity '{name}' failed {MAX_ATTEMPTS} times, the last time so: {last}");
            return Err(TurnFailure::stuck(what));
        }
        let said = Arc::new(Mutex::new(None));
        let hearing = Arc::clone(&said);
        let published = Arc::new(Mutex::new(Vec::new()));
        let publishing = Arc::clone(&published);
        let context = ActivityContext {
            tenant: self.tenant.clone(),
            workflow_id: draft.state.workflow_id.clone(),
            run_id: draft.state.run_id.clone(),
            workflow_type: draft.state.workflow_type.clone(),
            activity_id: activity.activity_id.clone(),
            attempt: activity.attempt,
            scheduled_at: activity.scheduled_at,
            last_heartbeat: activity.heartbeat.clone(),
            principal,
            private_to: draft.state.about.private_to().map(str::to_owned),
            lineage: draft.state.lineage.clone(),
            api: None,
            engine: None,
            heartbeat: Arc::new(move |details| {
                *hearing.lock() = Some(details);
                Box::pin(async { Ok(()) })
            }),
            publish: Arc::new(move |update| {
                publishing.lock().push(update);
                Box::pin(async { Ok(()) })
            }),
        };
        let outcome = match self.runtime.block_on(code(context, input.clone())) {
            Ok(result) => AttemptOutcome::Completed(result),
            Err(failure) => {
                let source = failure.source.clone().unwrap_or_else(|| name.clone());
                AttemptOutcome::Failed(failure.with_source(source))
            }
        };
        let published = std::mem::take(&mut *published.lock());
        draft.updates.extend(published);
        let said = said.lock().take();
        let taking = self.taking.get(name).copied().unwrap_or_default();
        let ends_at = self.now.plus_ms(taking);
        // An activity that sends any heartbeat is assumed to send it often enough.
        let limit = match &said {
            None => activity.attempt_deadline(),
            Some(_) => {
                let closes = self.now.plus_ms(activity.options.start_to_close_ms());
                Some((closes, TimeoutKind::StartToClose))
            }
        };
        activity.heartbeat = said.or(activity.heartbeat.take());
        let (at, outcome) = match limit.filter(|(at, _)| *at < ends_at) {
            Some((at, timeout)) => (at, AttemptOutcome::TimedOut(timeout)),
            None => (ends_at, outcome),
        };
        let finished = Finished {
            activity_id: activity.activity_id.clone(),
            attempt: activity.attempt,
            started_at: self.now,
            outcome,
        };
        run.attempts.push((at, finished));
        Ok(())
    }

    fn perform(&mut self, index: usize, effect: Effect) {
        match effect {
            Effect::StartChild(initiated) => self.start_child(index, initiated),
            Effect::CancelChild(child) => {
                if let Some(run) = self.current(&child.workflow_id) {
                    request_cancel(run, None, "parent");
                }
            }
            Effect::TerminateChild(child) => {
                if let Some(run) = self
                    .current(&child.workflow_id)
                    .filter(|run| !run.state.is_closed())
                {
                    run.append(EventKind::WorkflowExecutionTerminated {
                        reason: Some("The run that started it has ended.".to_owned()),
                        identity: "parent".to_owned(),
                    });
                }
            }
            Effect::TellParent => {
                let child = self.runs.get(index).and_then(|run| told(&run.draft.state));
                let Some((parent, outcome)) = child.map(|(parent, outcome)| (parent.clone(), outcome)) else {
                    return;
                };
                let mut runs = self.runs.iter_mut().map(|run| &mut run.draft);
                if let Some(draft) = runs.find(|draft| draft.state.run_id == parent.run_id) {
                    draft.now = self.now;
                    note_end(draft, parent.initiated_event_id, &outcome);
                }
            }
        }
    }

    fn start_child(&mut self, index: usize, initiated: u64) {
        let Some(parent) = self.runs.get(index).map(|run| &run.draft.state) else {
            return;
        };
        let asked = parent.tail.iter().find(|event| event.id == initiated);
        let Some(start) = asked.and_then(|event| start_of(parent, initiated, &event.kind)) else {
            return;
        };
        let taken = self
            .current(&start.workflow_id)
            .is_some_and(|run| !run.state.is_closed());
        let event = match (check(&self.registry, &start), &start.run_id) {
            (Err(error), _) => {
                let message = error.message().to_owned();
                refused(initiated, &start, error.kind().code(), message)
            }
            (Ok(()), Some(run_id)) if !taken => {
                self.add(first_draft(&self.tenant, run_id, &start, self.now));
                EventKind::ChildWorkflowExecutionStarted {
                    initiated_event_id: initiated,
                }
            }
            (Ok(()), _) => already_started(initiated, &start),
        };
        if let Some(parent) = self.runs.get_mut(index) {
            note_start(&mut parent.draft, &event);
        }
    }

    pub(super) fn end(self) -> (Registry, Vec<TestedRun>, Vec<Result<Value, Failure>>) {
        let runs = self.runs.into_iter().map(|Live { draft, waiting, .. }| {
            let state = draft.state;
            TestedRun {
                workflow_type: state.workflow_type,
                workflow_id: state.workflow_id,
                run_id: state.run_id,
                waiting,
                status: state.status,
                history: state.tail,
                updates: draft.updates,
                processed: state.processed,
            }
        });
        (self.registry, runs.collect(), self.answers)
    }
}

fn request_cancel(draft: &mut Draft, reason: Option<String>, identity: &str) {
    if !draft.state.is_closed() && !draft.state.cancel_requested {
        draft.append(EventKind::WorkflowExecutionCancelRequested {
            reason,
            identity: identity.to_owned(),
        });
    }
}

fn internal(error: platform::Error) -> TurnFailure {
    TurnFailure::stuck(error.message())
}
