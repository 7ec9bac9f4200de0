//! Collects a change of a run before it is written: the new state and the events that belong to it. The rules
//! for timers, time limits and retries are here.

use events::action::RunAction;
use platform::UtcTime;

use crate::event::{Event, EventKind, TimeoutKind};
use crate::failure::Failure;
use crate::limits;
use crate::payload::Payload;
use crate::state::{Effect, FailedTurn, RunState, shortened};
use crate::turn::{DeliveryReport, NewUpdate};
use crate::turn_failure::TurnFailure;

/// Recent commit ids that a state keeps. A writer that lost its response looks for its own.
const KEPT_COMMITS: usize = 32;

#[derive(Clone, Debug)]
pub enum AttemptOutcome {
    Completed(Payload),
    Failed(Failure),
    TimedOut(TimeoutKind),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    pub id: String,
    pub action: RunAction,
}

#[derive(Clone, Debug)]
pub struct Draft {
    /// Version that it replaces; None for a new run.
    pub expected: Option<u64>,
    pub state: RunState,
    pub now: UtcTime,
    /// Id of the first new event.
    pub first_new: u64,
    pub updates: Vec<NewUpdate>,
    /// Reports of the code about the delivery that the run carries out.
    pub reports: Vec<DeliveryReport>,
    /// New events of the platform.
    pub events: Vec<NewEvent>,
    /// Events that move from the state into records of their own.
    pub chunks: Vec<Vec<Event>>,
    pub changed: bool,
}

impl Draft {
    pub fn from_state(state: RunState, now: UtcTime) -> Self {
        Self {
            expected: Some(state.version),
            first_new: state.last_event + 1,
            state,
            now,
            updates: Vec::new(),
            reports: Vec::new(),
            events: Vec::new(),
            chunks: Vec::new(),
            changed: false,
        }
    }

    pub fn new(state: RunState, now: UtcTime) -> Self {
        Self {
            expected: None,
            ..Self::from_state(state, now)
        }
    }

    pub fn new_events(&self) -> &[Event] {
        let begins = self.state.tail_begins();
        let skipped = usize::try_from(self.first_new.saturating_sub(begins)).unwrap_or(0);
        self.state.tail.get(skipped..).unwrap_or_default()
    }

    /// Appends an event and returns its id. Every event of every run is appended here.
    pub fn append(&mut self, mut kind: EventKind) -> u64 {
        if let Some(failure) = kind.failure_mut() {
            failure.shorten(limits::MAX_FAILURE_CHARACTERS);
        }
        let event = Event {
            id: self.state.last_event + 1,
            // The clock may go back; the history must not.
            time: self.now.max(self.state.last_event_at),
            kind,
        };
        let was_running = !self.state.is_closed();
        self.state.apply(&event);
        let id = event.id;
        self.state.tail.push(event);
        self.changed = true;
        if was_running && self.state.is_closed() {
            self.announce_end();
        }
        id
    }

    /// Adds an event of the platform about this run.
    pub fn announce(&mut self, action: RunAction) {
        if self.state.is_unannounced {
            return;
        }
        let event = NewEvent {
            // A run starts once and ends once, so a repeated change derives the same id.
            id: platform::ids::derived_id(
                self.state.last_event_at,
                &format!("{}#{}", self.state.run_id, action.as_str()),
            ),
            action,
        };
        self.events.push(event);
    }

    fn announce_end(&mut self) {
        use crate::status::RunStatus;
        match self.state.status {
            RunStatus::Completed => self.announce(RunAction::Completed),
            RunStatus::Failed | RunStatus::TimedOut => self.announce(RunAction::Failed),
            RunStatus::Canceled => self.announce(RunAction::Canceled),
            RunStatus::Terminated => self.announce(RunAction::Terminated),
            RunStatus::Running | RunStatus::ContinuedAsNew => {}
        }
    }

    /// Fires due timers, and ends the attempts whose time limits have passed, such as those of dead workers.
    pub fn pass_time(&mut self) {
        if self.state.is_closed() {
            return;
        }
        if self.state.times_out_at.is_some_and(|at| at <= self.now) {
            self.append(EventKind::WorkflowExecutionTimedOut {});
            return;
        }
        let mut fired: Vec<_> = self
            .state
            .timers
            .iter()
            .filter(|(_, timer)| timer.fires_at <= self.now)
            .map(|(event, timer)| (timer.fires_at, *event))
            .collect();
        fired.sort_unstable();
        for (_, started_event_id) in fired {
            self.append(EventKind::TimerFired { started_event_id });
        }
        let activities: Vec<_> = self.state.activities.keys().copied().collect();
        for scheduled in activities {
            self.pass_time_of(scheduled);
        }
    }

    fn pass_time_of(&mut self, scheduled: u64) {
        let Some(activity) = self.state.activities.get(&scheduled) else {
            return;
        };
        if activity.deadline().is_some_and(|deadline| deadline <= self.now) {
            self.end_attempt(scheduled, AttemptOutcome::TimedOut(TimeoutKind::ScheduleToClose));
            return;
        }
        // The attempt's own worker notices the timeout before this deadline.
        let given_up = activity
            .attempt_deadline()
            .filter(|(at, _)| at.plus_ms(limits::ATTEMPT_GRACE_MS) <= self.now);
        if let Some((_, timeout)) = given_up {
            self.end_attempt(scheduled, AttemptOutcome::TimedOut(timeout));
        }
    }

    /// Forgets the delayed message, because the in-memory queue that held it ended. The next write sends
    /// another.
    pub fn lose_wake(&mut self) {
        self.changed |= self.state.wake_sent_for.take().is_some();
    }

    /// Fails the attempts of other processes, which are known to have ended.
    pub fn lose_attempts(&mut self, of_others_than: &str) {
        let lost: Vec<_> = self
            .state
            .activities
            .iter()
            .filter(|(_, activity)| {
                let is_its = |worker: &String| worker.starts_with(of_others_than);
                activity.started_at.is_some() && !activity.worker.as_ref().is_some_and(is_its)
            })
            .map(|(scheduled, _)| *scheduled)
            .collect();
        for scheduled in lost {
            self.end_attempt(scheduled, AttemptOutcome::Failed(Failure::worker_lost()));
        }
    }

    /// Whether an attempt of this activity can start now.
    pub fn can_begin(&self, scheduled: u64) -> bool {
        self.state.activities.get(&scheduled).is_some_and(|activity| {
            activity.started_at.is_none() && activity.next_attempt_at.is_none_or(|at| at <= self.now)
        })
    }

    pub fn begin_attempt(&mut self, scheduled: u64, worker: &str) {
        let now = self.now;
        if let Some(activity) = self.state.activities.get_mut(&scheduled) {
            activity.started_at = Some(now);
            activity.worker = Some(worker.to_owned());
            activity.next_attempt_at = None;
            activity.heard_at = None;
            self.changed = true;
        }
    }

    /// Records the end of the current attempt: the end of the activity, or the time of the next attempt. The
    /// caller has checked that the attempt is the current one.
    pub fn end_attempt(&mut self, scheduled: u64, outcome: AttemptOutcome) {
        let Some(activity) = self.state.activities.get(&scheduled) else {
            return;
        };
        if let Some(pause) = self.pause_before_next(scheduled, &outcome) {
            let next_attempt_at = self.now.plus_ms(pause);
            if let Some(activity) = self.state.activities.get_mut(&scheduled) {
                activity.attempt += 1;
                activity.started_at = None;
                activity.worker = None;
                activity.next_attempt_at = Some(next_attempt_at);
                activity.last_failure = Some(match &outcome {
                    AttemptOutcome::TimedOut(timeout) => timeout.failure(),
                    AttemptOutcome::Failed(failure) => shortened(failure),
                    AttemptOutcome::Completed(_) => return,
                });
                self.changed = true;
            }
            return;
        }
        let (attempt, started_at, last_failure) = (
            activity.attempt,
            activity.started_at,
            activity.last_failure.clone(),
        );
        let started_event_id = match started_at {
            Some(started_at) => self.append(EventKind::ActivityTaskStarted {
                scheduled_event_id: scheduled,
                attempt,
                started_at,
                last_failure: last_failure.clone(),
            }),
            None => 0,
        };
        self.append(match outcome {
            AttemptOutcome::Completed(result) => EventKind::ActivityTaskCompleted {
                scheduled_event_id: scheduled,
                started_event_id,
                result,
            },
            AttemptOutcome::Failed(failure) => EventKind::ActivityTaskFailed {
                scheduled_event_id: scheduled,
                started_event_id,
                failure,
            },
            AttemptOutcome::TimedOut(timeout) => EventKind::ActivityTaskTimedOut {
                scheduled_event_id: scheduled,
                started_event_id,
                timeout,
                last_failure,
            },
        });
    }

    /// Returns the pause before the next attempt, in milliseconds; None if there is none.
    fn pause_before_next(&self, scheduled: u64, outcome: &AttemptOutcome) -> Option<u64> {
        let activity = self.state.activities.get(&scheduled)?;
        let policy = &activity.options.retry;
        match outcome {
            AttemptOutcome::Completed(_) | AttemptOutcome::TimedOut(TimeoutKind::ScheduleToClose) => {
                return None;
            }
            AttemptOutcome::Failed(failure)
                if failure.non_retryable || policy.non_retryable_error_types.contains(&failure.kind) =>
            {
                return None;
            }
            AttemptOutcome::Failed(_) | AttemptOutcome::TimedOut(_) => {}
        }
        let pause = policy.pause_ms(activity.attempt)?;
        let too_late = activity
            .deadline()
            .is_some_and(|deadline| self.now.plus_ms(pause) >= deadline);
        (!too_late).then_some(pause)
    }

    /// Records that a turn has applied all events so far.
    pub fn turned(&mut self) {
        self.state.processed = self.state.last_event;
        self.state.failed_turn = None;
        self.changed = true;
    }

    /// Records a failed turn and the time of its retry.
    pub fn turn_failed(&mut self, failure: TurnFailure) {
        let attempt = self
            .state
            .failed_turn
            .as_ref()
            .map_or(1, |failed| failed.attempt.saturating_add(1));
        let pause = limits::turn_pause_ms(attempt);
        self.state.failed_turn = Some(FailedTurn {
            attempt,
            failure,
            next_attempt_at: self.now.plus_ms(pause),
        });
        self.changed = true;
    }

    /// Removes executed effects from the outbox.
    pub fn done(&mut self, effects: &[Effect]) {
        for effect in effects {
            if let Some(place) = self.state.outbox.iter().position(|waiting| waiting == effect) {
                self.state.outbox.remove(place);
                self.changed = true;
            }
        }
    }

    /// Returns the next time at which the run continues by itself: a timer, a retry of an attempt or a turn,
    /// or the run's timeout.
    pub fn next_time(&self) -> Option<UtcTime> {
        if self.state.is_closed() {
            return None;
        }
        let state = &self.state;
        let timers = state.timers.values().map(|timer| timer.fires_at);
        let attempts = state
            .activities
            .values()
            .filter_map(|activity| match activity.started_at {
                Some(_) => None,
                None => activity.next_attempt_at,
            });
        let turn = state.failed_turn.as_ref().map(|failed| failed.next_attempt_at);
        timers.chain(attempts).chain(turn).chain(state.times_out_at).min()
    }

    /// Returns the next deadline of an activity. The worker notices it first; this one is for a worker that
    /// died.
    fn next_limit(&self) -> Option<UtcTime> {
        let limits = self.state.activities.values().filter_map(|activity| {
            let attempt = activity.attempt_deadline();
            let attempt = attempt.map(|(at, _)| at.plus_ms(limits::ATTEMPT_GRACE_MS));
            [attempt, activity.deadline()].into_iter().flatten().min()
        });
        limits.min()
    }

    /// Prepares the draft for the write: counts its bytes, and moves the tail of the history into records of
    /// its own if the state would become large.
    pub fn seal(&mut self, commit_id: String) -> platform::Result<()> {
        self.state.version += 1;
        self.state.commits.push(commit_id);
        if self.state.commits.len() > KEPT_COMMITS {
            self.state.commits.remove(0);
        }
        let (mut total, mut chunk_bytes, mut chunks) = (0, 0, vec![Vec::new()]);
        for event in &self.state.tail {
            let bytes = serde_json::to_vec(event)
                .map_err(platform::Error::internal)?
                .len();
            total += bytes;
            if event.id >= self.first_new {
                let mut kind = event.kind.clone();
                let stored = kind.payload_mut().and_then(|payload| payload.stored());
                self.state.history_bytes += bytes as u64 + stored.map_or(0, |stored| stored.bytes);
            }
            if chunk_bytes + bytes > limits::MAX_CHUNK_BYTES {
                chunks.push(Vec::new());
                chunk_bytes = 0;
            }
            chunk_bytes += bytes;
            if let Some(chunk) = chunks.last_mut() {
                chunk.push(event.clone());
            }
        }
        if total > limits::MAX_TAIL_BYTES {
            chunks.retain(|chunk| !chunk.is_empty());
            self.chunks = chunks;
            self.state.tail = Vec::new();
        }
        Ok(())
    }

    /// Whether a worker can continue the run now: events wait for a turn, or attempts can start.
    pub fn is_open(&self) -> bool {
        let makes_turn = self.state.needs_turn()
            && self
                .state
                .failed_turn
                .as_ref()
                .is_none_or(|failed| failed.next_attempt_at <= self.now);
        makes_turn
            || self
                .state
                .activities
                .keys()
                .any(|scheduled| self.can_begin(*scheduled))
    }

    /// Returns the time at which the sweeper finds the run if no worker drives it.
    pub fn due_at(&self) -> Option<UtcTime> {
        let open = self.is_open().then(|| self.now.plus_ms(limits::HINT_GRACE_MS));
        let outbox = (!self.state.outbox.is_empty()).then(|| self.now.plus_ms(limits::EFFECT_GRACE_MS));
        let time = self.next_time().map(|at| match self.state.wake_sent_for {
            // A delayed message arrives at that time unless it is lost.
            Some(woken) if woken == at => at.plus_ms(limits::WAKE_GRACE_MS),
            _ => at,
        });
        let lost = [open, self.next_limit()].into_iter().flatten().min();
        let lost = lost.and_then(|at| {
            let step = i64::try_from(limits::DUE_STEP_MS).ok()?;
            let late = at.as_millis().rem_euclid(step);
            UtcTime::from_millis(at.as_millis().checked_add((step - late) % step)?)
        });
        [lost, outbox, time].into_iter().flatten().min()
    }
}
