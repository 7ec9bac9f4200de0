//! Making a run go on: turns, the attempts of its activities, and what follows outside.
//!
//! An attempt begins before it is written that it does, where that is certain to be written: a command that follows from what is
//! written already is asked for by every replay. So an activity that is quick costs one write, its end included. Where it takes
//! longer, what is known is written while it goes on. What follows from its end is begun only when that is written.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::stream::{FuturesUnordered, StreamExt as _};
use platform::queue::BoxFuture;
use platform::{Error, Result, Tenant, UtcTime};
use tracing::{info, warn};

use super::Engine;
use super::advance::Known;
use super::attempt::{Attempt, Finished};
use super::beside::{beside, ended_soon};
use super::effects::Done;
use super::sharing::Place;
use crate::draft::Draft;
use crate::limits;
use crate::payload::Payload;
use crate::pending::PendingActivity;
use crate::state::{Effect, RunState};

/// Hints that are sent for attempts which this invocation does not take on.
const MAX_HINTS: usize = 8;
/// Times in a row that the records may fail an invocation which holds attempts, before these are given up with it.
const MAX_FAILURES: u32 = 8;
/// The pause after the first of them, in milliseconds; doubled after each.
const FAILURE_PAUSE_MS: u64 = 100;

impl Engine {
    /// Looks at a run, and makes it go on as far as it can. Errors are of the kind that passes: the hint is to come again.
    pub async fn drive(&self, tenant: &Tenant, run_id: &str) -> Result<()> {
        let Some(place) = self.place_to_drive(tenant, run_id).await else {
            return Ok(());
        };
        let mut drive = Drive {
            engine: self.clone(),
            place,
            tenant: tenant.clone(),
            began_at: self.services.clock.now(),
            running: FuturesUnordered::new(),
            running_ids: BTreeSet::new(),
            unwritten: Vec::new(),
            worker: format!("{}/{}", self.services.worker, self.new_commit_id()),
            failures: 0,
            begun: Vec::new(),
            unsure: Vec::new(),
            ended: Vec::new(),
            finished: Vec::new(),
            done: Vec::new(),
        };
        loop {
            let went = drive.look(run_id).await;
            drive.forget_begun();
            match went {
                Ok(Next::Leave) => return Ok(()),
                Ok(Next::Reload) => {}
                Err(cause) if drive.may_try_again(&cause) => {
                    warn!(
                        account = drive.tenant.account(),
                        project = drive.tenant.project(),
                        run_id,
                        %cause,
                        failures = drive.failures,
                        "a run is tried again; its attempts go on"
                    );
                    let pause = self.services.sleep.sleep(FAILURE_PAUSE_MS << drive.failures);
                    beside(&mut drive.running, &mut drive.ended, pause).await;
                    drive.failures += 1;
                }
                Err(cause) => return Err(cause),
            }
        }
    }

    /// Leaves to others what this invocation does not take on.
    async fn hand_over(&self, state: &RunState) {
        let draft = Draft::of(state.clone(), self.services.clock.now());
        if !draft.is_open() {
            return;
        }
        let waiting = state
            .activities
            .keys()
            .filter(|scheduled| draft.can_begin(**scheduled))
            .count();
        let hints = waiting.div_ceil(limits::MAX_ATTEMPTS_AT_ONCE).clamp(1, MAX_HINTS);
        info!(
            account = state.account,
            project = state.project,
            run_id = state.run_id,
            waiting,
            hints,
            "a run is handed over"
        );
        for _ in 0..hints {
            self.hint_at(state, 0).await;
        }
    }
}

/// What comes after a run was driven as far as its state was known.
#[derive(PartialEq)]
enum Next {
    /// Read it again: somebody else has written it.
    Reload,
    /// Nothing is left to do here.
    Leave,
}

struct Drive {
    engine: Engine,
    place: Place,
    tenant: Tenant,
    began_at: UtcTime,
    running: FuturesUnordered<BoxFuture<'static, Finished>>,
    /// The attempts that this invocation has begun.
    running_ids: BTreeSet<(String, u32)>,
    /// What this invocation is called in the state, among those of its process.
    worker: String,
    /// Times in a row that the records have failed.
    failures: u32,
    /// For the attempts that have begun before it was written that they were asked for, by activity: that it is now.
    unwritten: Vec<(String, Arc<AtomicBool>)>,
    /// Attempts that begin as soon as it is written that they do.
    begun: Vec<Begun>,
    /// Attempts that were to begin with a write of which it is not known whether it happened, each with the version that this was
    /// to change.
    unsure: Vec<(u64, Begun)>,
    /// Attempts that have ended while something else was done.
    ended: Vec<Finished>,
    /// Attempts that have ended, and of which nothing is written.
    finished: Vec<Finished>,
    /// Effects that are done, and of which nothing is written.
    done: Vec<Done>,
}

/// An attempt that this invocation begins.
#[derive(Clone)]
struct Begun {
    /// The activity's id, and which attempt it is.
    id: (String, u32),
    /// The activity, as it is once the attempt has begun.
    activity: PendingActivity,
    /// What the attempt is called with.
    input: Payload,
}

impl Drive {
    /// Reads the run, and makes it go on.
    async fn look(&mut self, run_id: &str) -> Result<Next> {
        let engine = self.engine.clone();
        let found = engine.services.store.find(&self.tenant, run_id);
        let Some(state) = beside(&mut self.running, &mut self.ended, found).await? else {
            engine.remove(&self.tenant, run_id).await?;
            info!(
                account = self.tenant.account(),
                project = self.tenant.project(),
                run_id,
                "hint at a run that is removed"
            );
            return Ok(Next::Leave);
        };
        self.go_on(state).await
    }

    async fn advance(
        &mut self,
        known: &mut Known,
        draft: &mut Draft,
        finished: &mut Vec<Finished>,
    ) -> Result<Option<Draft>> {
        let (engine, tenant) = (self.engine.clone(), self.tenant.clone());
        let advance = engine.advance(&tenant, known, draft, finished);
        beside(&mut self.running, &mut self.ended, advance).await
    }

    fn may_try_again(&self, cause: &Error) -> bool {
        self.failures < MAX_FAILURES && cause.is_transient() && self.holds_attempts()
    }

    fn holds_attempts(&self) -> bool {
        let nothing = self.running.is_empty() && self.ended.is_empty() && self.finished.is_empty();
        !(nothing && self.unsure.is_empty())
    }

    async fn go_on(&mut self, state: RunState) -> Result<Next> {
        let mut known = Known {
            state,
            history: Arc::default(),
        };
        self.note_written(&known.state);
        self.launch_unsure(&known.state);
        loop {
            self.note_ended();
            let mut draft = Draft::of(known.state.clone(), self.engine.services.clock.now());
            let outstanding = self.outstanding_effects(&known.state);
            if known.state.is_closed() {
                return self.finish_closed(known, draft, &outstanding).await;
            }
            draft.pass_time();
            for done in &self.done {
                done.note(&mut draft);
            }
            let mut finished = self.finished.clone();
            let on_durable_ground = finished.is_empty() && draft.state.last_event == known.state.last_event;
            let mut next_run = self.advance(&mut known, &mut draft, &mut finished).await?;
            self.begin_attempts(&mut draft).await?;
            let mut failed_effects = false;
            if on_durable_ground
                && self.running.is_empty()
                && may_repeat(&self.begun)
                && !self.begun.is_empty()
            {
                self.launch(&draft.state, false);
                let soon = self.engine.services.sleep.sleep(limits::EAGER_MS);
                failed_effects = self.perform(&known.state, &outstanding, &mut draft).await;
                ended_soon(&mut self.running, &mut self.ended, soon).await;
                self.note_ended();
                draft.now = self.engine.services.clock.now();
                finished = self.finished.clone();
                next_run = self.advance(&mut known, &mut draft, &mut finished).await?;
                self.begin_attempts(&mut draft).await?;
            } else if !outstanding.is_empty() {
                failed_effects = self.perform(&known.state, &outstanding, &mut draft).await;
                let advanced = self.advance(&mut known, &mut draft, &mut finished).await?;
                next_run = advanced.or(next_run);
                self.begin_attempts(&mut draft).await?;
            }
            // What could not be done is tried again after a while, and not before everything else.
            draft.changed |= failed_effects;
            if draft.changed {
                let write = self.engine.write_drafts(&self.tenant, draft, next_run);
                match beside(&mut self.running, &mut self.ended, write).await {
                    Ok(Some(state)) => known.state = state,
                    Ok(None) => return Ok(Next::Reload),
                    Err(cause) => {
                        let version = known.state.version;
                        let begun = self.begun.iter().cloned();
                        self.unsure.extend(begun.map(|begun| (version, begun)));
                        return Err(cause);
                    }
                }
                self.failures = 0;
                self.finished.clear();
                self.done.clear();
                // All of them, those as well that the same write has cancelled.
                for (_, written) in self.unwritten.drain(..) {
                    written.store(true, Ordering::SeqCst);
                }
                // What this write has changed, no earlier one changes any more.
                self.unsure.clear();
                self.launch(&known.state, true);
            }
            if known.state.is_closed() || (!known.state.outbox.is_empty() && !failed_effects) {
                continue;
            }
            if self.ended.is_empty() {
                let resting = self.place.rest();
                let ended = self.running.next().await;
                drop(resting);
                let Some(ended) = ended else {
                    self.engine.hand_over(&known.state).await;
                    return Ok(Next::Leave);
                };
                self.ended.push(ended);
            }
        }
    }

    /// Does what can be done of the effects, and notes it; whether any is left for later.
    async fn perform(&mut self, state: &RunState, effects: &[Effect], draft: &mut Draft) -> bool {
        let perform = self.engine.perform(&self.tenant, state, effects);
        let done = beside(&mut self.running, &mut self.ended, perform).await;
        let some_failed = done.len() < effects.len();
        for done in &done {
            done.note(draft);
        }
        self.done.extend(done);
        some_failed
    }

    /// The effects that are written and that nobody here has done.
    fn outstanding_effects(&self, state: &RunState) -> Vec<Effect> {
        let done = |effect: &Effect| self.done.iter().any(|done| done.effect == *effect);
        state
            .outbox
            .iter()
            .filter(|effect| !done(effect))
            .cloned()
            .collect()
    }

    /// Takes in the attempts that have ended meanwhile.
    fn note_ended(&mut self) {
        for finished in self.ended.drain(..) {
            self.running_ids
                .remove(&(finished.activity_id.clone(), finished.attempt));
            self.finished.push(finished);
        }
    }

    /// A run that has ended: only what follows from that is left.
    async fn finish_closed(
        &mut self,
        known: Known,
        mut draft: Draft,
        outstanding: &[Effect],
    ) -> Result<Next> {
        // Attempts that nobody waits for any longer end here.
        self.running = FuturesUnordered::new();
        self.finished.clear();
        for done in &self.done {
            done.note(&mut draft);
        }
        self.perform(&known.state, outstanding, &mut draft).await;
        draft.changed |= !draft.state.outbox.is_empty();
        if draft.changed
            && self
                .engine
                .write_drafts(&self.tenant, draft, None)
                .await?
                .is_none()
        {
            return Ok(Next::Reload);
        }
        self.engine.remove_ended(&self.tenant, &known.state).await?;
        Ok(Next::Leave)
    }

    /// Begins the attempts that can begin, as many as one invocation takes on.
    async fn begin_attempts(&mut self, draft: &mut Draft) -> Result<()> {
        let is_late = draft.now.millis_since(self.began_at) > limits::DRIVE_MS;
        if draft.state.is_closed() {
            return Ok(());
        }
        let can_begin: Vec<_> = draft
            .state
            .activities
            .keys()
            .copied()
            .filter(|scheduled| draft.can_begin(*scheduled))
            .collect();
        for scheduled in can_begin {
            let Some(activity) = draft.state.activities.get(&scheduled) else {
                continue;
            };
            let id = (activity.activity_id.clone(), activity.attempt);
            let goes_on_here = self.running_ids.contains(&id);
            if !goes_on_here && (is_late || self.running_ids.len() >= limits::MAX_ATTEMPTS_AT_ONCE) {
                continue;
            }
            // One that goes on here may be one that the state which was read knows nothing of.
            draft.begin_attempt(scheduled, &self.worker);
            if !goes_on_here && let Some(activity) = draft.state.activities.get(&scheduled) {
                let input = self.engine.input_of(&self.tenant, &draft.state, scheduled);
                let begun = Begun {
                    id: id.clone(),
                    activity: activity.clone(),
                    input: beside(&mut self.running, &mut self.ended, input).await?,
                };
                self.running_ids.insert(id);
                self.begun.push(begun);
            }
        }
        Ok(())
    }

    /// Forgets the attempts that were to begin with a write which did not happen.
    fn forget_begun(&mut self) {
        for begun in self.begun.drain(..) {
            self.running_ids.remove(&begun.id);
        }
    }

    /// Launches the attempts that have begun. Of those that a state has, the ones that it still waits for.
    fn launch(&mut self, state: &RunState, is_written: bool) {
        for begun in std::mem::take(&mut self.begun) {
            if is_written && !begun.is_in(state) {
                self.running_ids.remove(&begun.id);
                continue;
            }
            let written = Arc::new(AtomicBool::new(is_written));
            if !is_written {
                self.unwritten.push((begun.id.0, Arc::clone(&written)));
            }
            self.running.push(self.engine.carry_out(Attempt {
                input: begun.input,
                tenant: self.tenant.clone(),
                workflow_id: state.workflow_id.clone(),
                run_id: state.run_id.clone(),
                workflow_type: state.workflow_type.clone(),
                principal: state.principal(&self.tenant),
                lineage: state.lineage.clone(),
                activity: begun.activity,
                written,
            }));
        }
    }

    /// Tells the attempts that have begun before it was written that they were asked for that it is.
    fn note_written(&mut self, state: &RunState) {
        self.unwritten.retain(|(activity_id, written)| {
            let is_written = state.activity(activity_id).is_some();
            written.store(is_written, Ordering::SeqCst);
            !is_written
        });
    }

    /// Launches the attempts that were to begin with a write whose answer did not come, where it has happened after all. As long as
    /// the run has the version that was to be changed, it may still happen.
    fn launch_unsure(&mut self, state: &RunState) {
        for (version, begun) in std::mem::take(&mut self.unsure) {
            if begun.is_in(state) {
                self.running_ids.insert(begun.id.clone());
                self.begun.push(begun);
            } else if state.version == version {
                self.unsure.push((version, begun));
            }
        }
        self.launch(state, true);
    }
}

impl Begun {
    /// Whether a state says that this attempt has begun, here.
    fn is_in(&self, state: &RunState) -> bool {
        state.activity(&self.id.0).is_some_and(|(_, activity)| {
            activity.attempt == self.id.1
                && activity.worker == self.activity.worker
                && activity.started_at == self.activity.started_at
        })
    }
}

/// Whether attempts may begin before it is written that they do: not where one that is lost on the way must not be repeated.
fn may_repeat(begun: &[Begun]) -> bool {
    begun
        .iter()
        .all(|begun| begun.activity.options.retry.maximum_attempts != 1)
}
