//! Making a run go on: turns, the attempts of its activities, and what follows outside.
//!
//! An attempt begins before it is written that it does, where that is certain to be written: a command that follows from what is
//! written already is asked for by every replay. So an activity that is quick costs one write, its end included. Where it takes
//! longer, what is known is written while it goes on. What follows from its end is begun only when that is written.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::{Either, join, select};
use futures::stream::{FuturesUnordered, StreamExt as _};
use platform::queue::BoxFuture;
use platform::{Result, Tenant, UtcTime};
use tracing::{info, warn};

use super::Engine;
use super::advance::Known;
use super::attempt::{Attempt, Finished};
use super::effects::Done;
use crate::draft::Draft;
use crate::limits;
use crate::state::{Effect, RunState};

/// Hints that are sent for attempts which this invocation does not take on.
const MAX_HINTS: usize = 8;

impl Engine {
    /// Looks at a run, and makes it go on as far as it can. Errors are of the kind that passes: the hint is to come again.
    pub async fn drive(&self, tenant: &Tenant, run_id: &str) -> Result<()> {
        let mut drive = Drive {
            engine: self.clone(),
            tenant: tenant.clone(),
            began_at: self.services.clock.now(),
            running: FuturesUnordered::new(),
            running_ids: BTreeSet::new(),
            unwritten: Vec::new(),
            finished: Vec::new(),
            done: Vec::new(),
        };
        loop {
            let Some(state) = self.services.store.find(tenant, run_id).await? else {
                warn!(run_id, "hint at a run that does not exist");
                return Ok(());
            };
            if drive.go_on(state).await? == Next::Leave {
                return Ok(());
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
        info!(run_id = state.run_id, waiting, hints, "a run is handed over");
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
    tenant: Tenant,
    began_at: UtcTime,
    running: FuturesUnordered<BoxFuture<'static, Finished>>,
    /// The attempts that this invocation has begun.
    running_ids: BTreeSet<(String, u32)>,
    /// For the attempts that have begun before it was written that they were asked for: that it is now.
    unwritten: Vec<Arc<AtomicBool>>,
    /// Attempts that have ended, and of which nothing is written.
    finished: Vec<Finished>,
    /// Effects that are done, and of which nothing is written.
    done: Vec<Done>,
}

/// An attempt that this invocation begins.
struct Begun {
    /// The event that asked for the activity.
    scheduled: u64,
    /// The activity's id, and which attempt it is.
    id: (String, u32),
}

impl Drive {
    async fn go_on(&mut self, state: RunState) -> Result<Next> {
        let mut known = Known {
            state,
            history: Arc::default(),
        };
        loop {
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
            let mut next_run = self
                .engine
                .advance(&self.tenant, &mut known, &mut draft, &mut finished)
                .await?;
            let mut begun = self.begin_attempts(&mut draft);
            let mut failed_effects = false;
            if on_durable_ground && !begun.is_empty() && self.running.is_empty() && may_repeat(&draft, &begun)
            {
                self.launch(&draft, std::mem::take(&mut begun), false).await?;
                let (done, ended) = join(
                    self.engine.perform(&self.tenant, &known.state, &outstanding),
                    ended_soon(&mut self.running, &self.engine),
                )
                .await;
                failed_effects = done.len() < outstanding.len();
                self.note_effects(&mut draft, done);
                self.end(ended);
                draft.now = self.engine.services.clock.now();
                finished = self.finished.clone();
                next_run = self
                    .engine
                    .advance(&self.tenant, &mut known, &mut draft, &mut finished)
                    .await?;
                begun = self.begin_attempts(&mut draft);
            } else if !outstanding.is_empty() {
                let done = self
                    .engine
                    .perform(&self.tenant, &known.state, &outstanding)
                    .await;
                failed_effects = done.len() < outstanding.len();
                self.note_effects(&mut draft, done);
                next_run = self
                    .engine
                    .advance(&self.tenant, &mut known, &mut draft, &mut finished)
                    .await?
                    .or(next_run);
                begun.extend(self.begin_attempts(&mut draft));
            }
            // What could not be done is tried again after a while, and not before everything else.
            draft.changed |= failed_effects;
            if draft.changed {
                let before = draft.clone();
                match self.engine.write_drafts(&self.tenant, draft, next_run).await? {
                    Some(state) => known.state = state,
                    None => {
                        self.forget(&begun);
                        return Ok(Next::Reload);
                    }
                }
                self.finished.clear();
                self.done.clear();
                for written in self.unwritten.drain(..) {
                    written.store(true, Ordering::SeqCst);
                }
                self.launch(&before, begun, true).await?;
            }
            if known.state.is_closed() || (!known.state.outbox.is_empty() && !failed_effects) {
                continue;
            }
            let Some(ended) = self.running.next().await else {
                self.engine.hand_over(&known.state).await;
                return Ok(Next::Leave);
            };
            self.end(vec![ended]);
        }
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

    fn note_effects(&mut self, draft: &mut Draft, done: Vec<Done>) {
        for done in &done {
            done.note(draft);
        }
        self.done.extend(done);
    }

    fn end(&mut self, ended: Vec<Finished>) {
        for finished in ended {
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
        let done = self.engine.perform(&self.tenant, &known.state, outstanding).await;
        self.note_effects(&mut draft, done);
        for done in &self.done {
            done.note(&mut draft);
        }
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
        Ok(Next::Leave)
    }

    /// Begins the attempts that can begin, as many as one invocation takes on.
    fn begin_attempts(&mut self, draft: &mut Draft) -> Vec<Begun> {
        let mut begun = Vec::new();
        let is_late = draft.now.millis_since(self.began_at) > limits::DRIVE_MS;
        if draft.state.is_closed() {
            return begun;
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
            let worker = &self.engine.services.worker;
            if self.running_ids.contains(&id) {
                // It goes on here, though the state that was read knows nothing of it.
                draft.begin_attempt(scheduled, worker);
            } else if !is_late && self.running_ids.len() < limits::MAX_ATTEMPTS_AT_ONCE {
                draft.begin_attempt(scheduled, worker);
                self.running_ids.insert(id.clone());
                begun.push(Begun { scheduled, id });
            }
        }
        begun
    }

    /// Forgets attempts that were to begin after a write that did not happen.
    fn forget(&mut self, begun: &[Begun]) {
        for begun in begun {
            self.running_ids.remove(&begun.id);
        }
    }

    async fn launch(&mut self, draft: &Draft, begun: Vec<Begun>, is_written: bool) -> Result<()> {
        let written = Arc::new(AtomicBool::new(is_written));
        if !is_written {
            self.unwritten.push(Arc::clone(&written));
        }
        for Begun { scheduled, .. } in begun {
            let Some(activity) = draft.state.activities.get(&scheduled) else {
                continue;
            };
            let attempt = Attempt {
                input: self
                    .engine
                    .input_of(&self.tenant, &draft.state, scheduled)
                    .await?,
                tenant: self.tenant.clone(),
                workflow_id: draft.state.workflow_id.clone(),
                run_id: draft.state.run_id.clone(),
                activity: activity.clone(),
                written: Arc::clone(&written),
            };
            self.running.push(self.engine.carry_out(attempt));
        }
        Ok(())
    }
}

/// Waits for the attempts that end within a short time.
async fn ended_soon(
    running: &mut FuturesUnordered<BoxFuture<'static, Finished>>,
    engine: &Engine,
) -> Vec<Finished> {
    let mut ended = Vec::new();
    let mut soon = engine.services.sleep.sleep(limits::EAGER_MS);
    while !running.is_empty() {
        match select(running.next(), soon).await {
            Either::Left((Some(finished), left)) => {
                ended.push(finished);
                soon = left;
            }
            Either::Left((None, _)) | Either::Right(_) => break,
        }
    }
    ended
}

/// Whether attempts may begin before it is written that they do: not where one that is lost on the way must not be repeated.
fn may_repeat(draft: &Draft, begun: &[Begun]) -> bool {
    begun.iter().all(|begun| {
        let activity = draft.state.activities.get(&begun.scheduled);
        activity.is_none_or(|activity| activity.options.retry.maximum_attempts != 1)
    })
}
