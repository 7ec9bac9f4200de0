//! Drives a run: makes its turns, runs its attempts and executes its outbox, until nothing is left to do now.
//!
//! An attempt may start before the write that records its start, if its command follows from stored events.
//! If the process dies then, the next drive replays these events, requests the same command and repeats the
//! attempt under the same number. So a quick activity costs one write, its end included, and a slow one is
//! recorded while it runs. Whatever follows from the end of an attempt starts only after that end is stored.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use platform::races::{RacePolicy, Races};
use platform::{Error, Result, Tenant, UtcTime};
use tracing::{info, warn};

use super::Engine;
use super::advance::Known;
use super::attempt::{Attempt, Finished};
use super::attempts::{AttemptId, Attempts, Claim};
use super::effects::Done;
use super::sharing::Place;
use crate::draft::Draft;
use crate::limits;
use crate::state::{Effect, RunState};

/// Most hints that a drive sends for attempts that it does not start itself.
const MAX_HINTS: usize = 8;
/// Failures of the record store in a row after which a drive gives up its attempts.
const MAX_FAILURES: u32 = 8;
/// Pause after the first failure, in milliseconds; doubled after each.
const FAILURE_PAUSE_MS: u64 = 100;

impl Engine {
    /// Drives a run as far as possible. Every error is transient: the queue delivers the hint again.
    pub async fn drive(&self, tenant: &Tenant, run_id: &str) -> Result<()> {
        let Some(place) = self.place_to_drive(tenant, run_id).await else {
            return Ok(());
        };
        let mut drive = Drive {
            engine: self.clone(),
            place,
            tenant: tenant.clone(),
            started_at: self.services.clock.now(),
            worker: format!("{}/{}", self.services.worker, self.new_commit_id()),
            failures: 0,
            races: new_races(),
            attempts: Attempts::default(),
            done: Vec::new(),
        };
        loop {
            let result = drive.load_and_drive(run_id).await;
            drive.attempts.drop_claims();
            match result {
                Ok(Next::Leave) => return Ok(()),
                Ok(Next::Reload) => drive.lose().await?,
                Err(cause) if drive.may_retry(&cause) => {
                    warn!(
                        account = drive.tenant.account(),
                        project = drive.tenant.project(),
                        run_id,
                        %cause,
                        failures = drive.failures,
                        "driving a run failed; retrying while its attempts continue"
                    );
                    let pause = self.services.sleep.sleep(FAILURE_PAUSE_MS << drive.failures);
                    drive.attempts.beside(pause).await;
                    drive.failures += 1;
                }
                Err(cause) => return Err(cause),
            }
        }
    }

    /// Sends hints for the attempts that this drive did not start.
    async fn hand_over(&self, tenant: &Tenant, state: &RunState) {
        let draft = Draft::from_state(state.clone(), self.services.clock.now());
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
            self.hint_at(tenant, state, 0).await;
        }
    }
}

#[derive(PartialEq)]
enum Next {
    /// Another writer changed the run: load it again.
    Reload,
    /// Nothing is left to do here.
    Leave,
}

struct Drive {
    engine: Engine,
    place: Place,
    tenant: Tenant,
    started_at: UtcTime,
    /// Name of this drive in the run's state, unique within the process.
    worker: String,
    /// Failures of the record store in a row.
    failures: u32,
    /// Races that were lost since the last write.
    races: Races,
    attempts: Attempts,
    /// Effects that are executed but not stored as executed.
    done: Vec<Done>,
}

/// The changes of one pass of the loop, before they are written.
struct Step {
    draft: Draft,
    /// First state of the run that this run continues as.
    next_run: Option<Draft>,
    /// An effect failed; it is retried later.
    effects_failed: bool,
}

fn new_races() -> Races {
    Races::new(&RacePolicy::RUN, "a run")
}

impl Drive {
    /// Pauses after a lost race while the attempts continue. 503 after too many without any attempt, so that
    /// a run whose records contradict each other does not keep a worker busy.
    async fn lose(&mut self) -> Result<()> {
        let pause_ms = match self.races.longest_pause_ms() {
            Ok(pause_ms) => pause_ms,
            Err(cause) if self.attempts.is_empty() => return Err(cause),
            Err(_) => FAILURE_PAUSE_MS,
        };
        let pause = self.engine.services.sleep.sleep(pause_ms);
        self.attempts.beside(pause).await;
        Ok(())
    }

    async fn load_and_drive(&mut self, run_id: &str) -> Result<Next> {
        let engine = self.engine.clone();
        let found = engine.services.store.find(&self.tenant, run_id);
        let Some(state) = self.attempts.beside(found).await? else {
            engine.remove(&self.tenant, run_id).await?;
            info!(
                account = self.tenant.account(),
                project = self.tenant.project(),
                run_id,
                "the run of a hint is removed"
            );
            return Ok(Next::Leave);
        };
        self.attempts.compare(&state);
        self.start_claimed(&state, true);
        let mut known = Known {
            state,
            history: Arc::default(),
        };
        loop {
            self.attempts.collect();
            if known.state.is_closed() {
                return self.finish_closed(known).await;
            }
            let step = self.apply(&mut known).await?;
            let effects_failed = step.effects_failed;
            if step.draft.changed && !self.commit(&mut known, step).await? {
                return Ok(Next::Reload);
            }
            if known.state.is_closed() || (!known.state.outbox.is_empty() && !effects_failed) {
                continue;
            }
            if !self.wait().await {
                self.engine.hand_over(&self.tenant, &known.state).await;
                return Ok(Next::Leave);
            }
        }
    }

    /// Applies due timers, results and executed effects to the run, makes its turns, executes its outbox and
    /// claims attempts.
    async fn apply(&mut self, known: &mut Known) -> Result<Step> {
        let mut draft = Draft::from_state(known.state.clone(), self.engine.services.clock.now());
        draft.pass_time();
        for done in &self.done {
            done.note(&mut draft);
        }
        let outstanding = self.outstanding_effects(&known.state);
        let mut finished = self.attempts.results();
        let follows_from_stored = finished.is_empty() && draft.state.last_event == known.state.last_event;
        let mut next_run = self.advance(known, &mut draft, &mut finished).await?;
        self.claim_attempts(&mut draft).await?;
        let mut effects_failed = false;
        if follows_from_stored && self.may_start_before_the_write() {
            self.start_claimed(&draft.state, false);
            let timeout = self.engine.services.sleep.sleep(limits::EAGER_MS);
            effects_failed = self.perform(&known.state, &outstanding, &mut draft).await;
            self.attempts.all_ended(timeout).await;
            self.attempts.collect();
            draft.now = self.engine.services.clock.now();
            next_run = self
                .advance(known, &mut draft, &mut self.attempts.results())
                .await?;
            self.claim_attempts(&mut draft).await?;
        } else if !outstanding.is_empty() {
            effects_failed = self.perform(&known.state, &outstanding, &mut draft).await;
            next_run = self.advance(known, &mut draft, &mut finished).await?.or(next_run);
            self.claim_attempts(&mut draft).await?;
        }
        // The write makes the run due again, so that the sweeper retries the effects.
        draft.changed |= effects_failed;
        Ok(Step {
            draft,
            next_run,
            effects_failed,
        })
    }

    /// Writes a step and starts the attempts that it claims. False if another writer was faster.
    async fn commit(&mut self, known: &mut Known, step: Step) -> Result<bool> {
        let write = self.engine.write_drafts(&self.tenant, step.draft, step.next_run);
        match self.attempts.beside(write).await {
            Ok(Some(state)) => known.state = state,
            Ok(None) => return Ok(false),
            Err(cause) => {
                self.attempts.doubt_claims(known.state.version);
                return Err(cause);
            }
        }
        self.failures = 0;
        self.races = new_races();
        self.done.clear();
        self.attempts.confirm();
        self.start_claimed(&known.state, true);
        Ok(true)
    }

    /// Waits for the end of an attempt. False if none runs.
    async fn wait(&mut self) -> bool {
        if self.attempts.have_arrived() {
            return true;
        }
        let resting = self.place.rest();
        let ended = self.attempts.one_ended().await;
        drop(resting);
        ended
    }

    /// Executes the rest of the outbox of a closed run, and removes the run if its retention has ended.
    async fn finish_closed(&mut self, known: Known) -> Result<Next> {
        self.attempts.cancel();
        let mut draft = Draft::from_state(known.state.clone(), self.engine.services.clock.now());
        let outstanding = self.outstanding_effects(&known.state);
        for done in &self.done {
            done.note(&mut draft);
        }
        self.perform(&known.state, &outstanding, &mut draft).await;
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

    async fn advance(
        &mut self,
        known: &mut Known,
        draft: &mut Draft,
        finished: &mut Vec<Finished>,
    ) -> Result<Option<Draft>> {
        let (engine, tenant) = (self.engine.clone(), self.tenant.clone());
        let advance = engine.advance(&tenant, known, draft, finished);
        self.attempts.beside(advance).await
    }

    /// Executes effects and records them in the draft. Returns whether any failed.
    async fn perform(&mut self, state: &RunState, effects: &[Effect], draft: &mut Draft) -> bool {
        let perform = self.engine.perform(&self.tenant, state, effects);
        let done = self.attempts.beside(perform).await;
        let some_failed = done.len() < effects.len();
        for done in &done {
            done.note(draft);
        }
        self.done.extend(done);
        some_failed
    }

    /// Effects of the stored outbox that this drive has not executed.
    fn outstanding_effects(&self, state: &RunState) -> Vec<Effect> {
        let is_done = |effect: &Effect| self.done.iter().any(|done| done.effect == *effect);
        let outstanding = state.outbox.iter().filter(|effect| !is_done(effect));
        outstanding.cloned().collect()
    }

    /// Claims the attempts that can start, as many as one invocation runs.
    async fn claim_attempts(&mut self, draft: &mut Draft) -> Result<()> {
        if draft.state.is_closed() {
            return Ok(());
        }
        let is_late = draft.now.millis_since(self.started_at) > limits::DRIVE_MS;
        let all = draft.state.activities.keys().copied();
        let startable: Vec<_> = all.filter(|scheduled| draft.can_begin(*scheduled)).collect();
        for scheduled in startable {
            let Some(activity) = draft.state.activities.get(&scheduled) else {
                continue;
            };
            let id = AttemptId {
                activity_id: activity.activity_id.clone(),
                attempt: activity.attempt,
            };
            let is_held = self.attempts.is_held(&id);
            if !is_held && (is_late || self.attempts.held_count() >= limits::MAX_ATTEMPTS_AT_ONCE) {
                continue;
            }
            // The draft of a reloaded run may not have the start of an attempt that is held.
            draft.begin_attempt(scheduled, &self.worker);
            if !is_held && let Some(activity) = draft.state.activities.get(&scheduled) {
                let input = self.engine.input_of(&self.tenant, &draft.state, scheduled);
                let claim = Claim {
                    activity: activity.clone(),
                    input: self.attempts.beside(input).await?,
                };
                self.attempts.claim(id, claim);
            }
        }
        Ok(())
    }

    /// Returns whether the claimed attempts may start before the write that records their start: no other
    /// attempt runs, and none of the claimed ones is limited to one attempt, because after a crash the next
    /// drive repeats an attempt that was not recorded, without counting it.
    fn may_start_before_the_write(&self) -> bool {
        let mut claims = self.attempts.claims().peekable();
        !self.attempts.are_running()
            && claims.peek().is_some()
            && claims.all(|claim| claim.activity.options.retry.maximum_attempts != 1)
    }

    fn start_claimed(&mut self, state: &RunState, state_is_stored: bool) {
        let (engine, tenant) = (&self.engine, &self.tenant);
        let start = |claim: Claim, is_stored: Arc<AtomicBool>| {
            engine.carry_out(Attempt {
                input: claim.input,
                tenant: tenant.clone(),
                workflow_id: state.workflow_id.clone(),
                run_id: state.run_id.clone(),
                workflow_type: state.workflow_type.clone(),
                principal: state.principal(tenant),
                private_to: state.about.private_to().map(str::to_owned),
                lineage: state.lineage.clone(),
                position: state.position(),
                activity: claim.activity,
                is_stored,
            })
        };
        self.attempts
            .start_claimed(state_is_stored.then_some(state), start);
    }

    fn may_retry(&self, cause: &Error) -> bool {
        self.failures < MAX_FAILURES && cause.is_transient() && !self.attempts.is_empty()
    }
}
