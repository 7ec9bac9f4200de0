//! Defines the context of workflow code.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use platform::UtcTime;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::calls::{ActivityCall, ChildCall, Pending};
use super::core::{Core, OperationKind, ROOT, Scope};
use super::replay::{DeliveryReport, NewUpdate};
use super::signals::{Canceled, Signals};
use crate::event::EventKind;
use crate::failure::{Failure, NextRun};
use crate::payload::Payload;
use crate::stub::{ActivityType, WorkflowType};

/// Prefix of the names of markers that hold results of local work.
const LOCAL_MARKER: &str = "local:";

/// Result of work within a turn.
#[derive(Clone, Debug)]
pub struct Local<T> {
    pub value: T,
    /// Whether to record the result: for work that is slow, or that could give another result in a replay.
    pub keep: bool,
}

/// Everything that workflow code may use: whatever takes time, and whatever must be the same in a replay. A
/// context belongs to one *scope*, whose operations are cancelled together.
///
/// The code must be deterministic. It must not read the clock, random numbers or anything outside; activities
/// do that. It must await only futures of this context: a future of another library never wakes it. Of the
/// combinators of the `futures` crate, `join`, `join_all`, `select`, `select_all` and `select_biased!` are
/// deterministic; `select!` is not.
#[derive(Clone)]
pub struct Context {
    pub(super) core: Rc<RefCell<Core>>,
    pub(super) scope: usize,
}

impl Context {
    pub(super) fn new(core: Rc<RefCell<Core>>) -> Self {
        Self { core, scope: ROOT }
    }

    pub fn workflow_id(&self) -> String {
        self.core.borrow().started.workflow_id.clone()
    }

    pub fn run_id(&self) -> String {
        self.core.borrow().started.run_id.clone()
    }

    /// Returns the time of the last event that the code has seen.
    pub fn now(&self) -> UtcTime {
        self.core.borrow().now
    }

    /// Returns a new id, the same in every replay.
    pub fn new_id(&self) -> String {
        self.core.borrow_mut().derived_id()
    }

    /// Whether the code repeats earlier commands. For logs only: commands must not depend on it.
    pub fn is_replaying(&self) -> bool {
        self.core.borrow().is_replaying()
    }

    /// Requests an activity, whose code may access the outside. It starts when the call is started or
    /// awaited.
    pub fn activity<T>(&self, name: &str, input: &(impl Serialize + ?Sized)) -> ActivityCall<T> {
        ActivityCall::new(self.clone(), name, Payload::from_value(input))
    }

    /// Requests an activity by its typed name, so that the compiler checks input and result.
    pub fn run<I: Serialize, O>(&self, activity: ActivityType<I, O>, input: &I) -> ActivityCall<O> {
        self.activity(activity.name(), input)
    }

    /// Requests a child run, whose result this run can await. It starts when the call is started or awaited.
    pub fn child<T>(&self, workflow_type: &str, input: &(impl Serialize + ?Sized)) -> ChildCall<T> {
        ChildCall::new(self.clone(), workflow_type, Payload::from_value(input))
    }

    /// Requests a child run by its typed name, so that the compiler checks input and result.
    pub fn run_child<I: Serialize, O>(&self, workflow_type: WorkflowType<I, O>, input: &I) -> ChildCall<O> {
        self.child(workflow_type.name(), input)
    }

    /// Starts a timer at once.
    pub fn timer(&self, duration: Duration) -> Pending<()> {
        let fire_after_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let mut core = self.core.borrow_mut();
        core.timers += 1;
        let kind = EventKind::TimerStarted {
            timer_id: core.timers.to_string(),
            fire_after_ms,
        };
        let what = format!("timer of {fire_after_ms} ms");
        let operation = core.begin(self.scope, kind, what, OperationKind::Timer);
        drop(core);
        Pending::new(self, operation)
    }

    /// Returns the signals with a name, in the order of their arrival.
    pub fn signals(&self, name: &str) -> Signals {
        Signals::new(self.clone(), name)
    }

    /// Returns a scope inside this one: cancelled with it, or alone.
    pub fn scope(&self) -> Self {
        self.new_scope(Some(self.scope))
    }

    /// Returns a scope that is not cancelled with this one, for clean-up after a cancellation.
    pub fn shielded(&self) -> Self {
        self.new_scope(None)
    }

    fn new_scope(&self, parent: Option<usize>) -> Self {
        let mut core = self.core.borrow_mut();
        let scope = core.scopes.len();
        let mut canceled = false;
        if let Some(parent) = parent.and_then(|parent| core.scopes.get_mut(parent)) {
            parent.children.push(scope);
            canceled = parent.canceled;
        }
        core.scopes.push(Scope {
            canceled,
            ..Scope::default()
        });
        drop(core);
        Self {
            core: Rc::clone(&self.core),
            scope,
        }
    }

    /// Cancels the scope: its activities and timers end at once as cancelled, and its child runs are asked to
    /// cancel.
    pub fn cancel(&self) {
        self.core.borrow_mut().cancel(self.scope);
    }

    pub fn is_canceled(&self) -> bool {
        let core = self.core.borrow();
        core.scopes.get(self.scope).is_some_and(|scope| scope.canceled)
    }

    pub fn canceled(&self) -> Canceled {
        Canceled::new(self.clone())
    }

    /// Whether this run takes the new branch of a change that must not affect earlier runs: true for a run
    /// that first gets here with the new code, and in its replays; false for a run that got here before the
    /// change.
    pub fn patched(&self, name: &str) -> bool {
        let mut core = self.core.borrow_mut();
        if let Some(decided) = core.decided_patches.get(name) {
            return *decided;
        }
        let patched = !core.is_replaying() || core.patches.contains(name);
        core.decided_patches.insert(name.to_owned(), patched);
        if patched {
            core.ask(patch_marker(name), None);
        }
        patched
    }

    /// Replaces [`patched`](Self::patched) once no run is left that took the old branch: histories with the
    /// marker still match, and new ones get none. Remove it when no run with the marker is left.
    pub fn deprecate_patch(&self, name: &str) {
        let mut core = self.core.borrow_mut();
        let is_new = core.decided_patches.insert(name.to_owned(), true).is_none();
        if is_new && core.patches.contains(name) {
            core.ask(patch_marker(name), None);
        }
    }

    /// Publishes an update to the followers of the run.
    pub fn publish(&self, kind: &str, message: &str, details: Value) {
        self.publish_update(NewUpdate {
            kind: kind.to_owned(),
            message: message.to_owned(),
            details: Some(details).filter(|details| !details.is_null()),
            workstream_id: None,
        });
    }

    /// Publishes an update with all of its fields.
    pub fn publish_update(&self, update: NewUpdate) {
        let mut core = self.core.borrow_mut();
        if core.is_over() {
            return;
        }
        core.check_abort();
        if !core.is_replaying() {
            core.updates.push(update);
        }
    }

    /// Reports on the delivery that the run carries out; visible there after the next commit.
    pub fn report_delivery(&self, report: DeliveryReport) {
        let mut core = self.core.borrow_mut();
        if core.is_over() {
            return;
        }
        core.check_abort();
        if !core.is_replaying() {
            core.reports.push(report);
        }
    }

    pub fn started_at(&self) -> UtcTime {
        self.core.borrow().started_at
    }

    /// Answers queries with this name from now on. The handler shares state with the code through an `Rc`.
    pub fn answer<T: Serialize>(&self, query: &str, handler: impl Fn() -> T + 'static) {
        let handler = Rc::new(move || Payload::from_value(&handler()));
        self.core.borrow_mut().queries.insert(query.to_owned(), handler);
    }

    /// Answers the query `__state` from now on.
    pub fn expose<T: Serialize>(&self, handler: impl Fn() -> T + 'static) {
        self.answer("__state", handler);
    }

    /// Returns the program of the run, for a type that interprets programs.
    pub fn program(&self) -> Option<String> {
        self.core.borrow().started.program.clone()
    }

    /// Does work within the turn. A result to keep is recorded in the history, so replays read it instead of
    /// repeating the work; any other work must give the same result each time.
    pub fn local<T: Serialize + DeserializeOwned>(
        &self,
        work: impl FnOnce() -> Local<T>,
    ) -> Result<T, Failure> {
        let (name, recorded) = {
            let mut core = self.core.borrow_mut();
            core.check_abort();
            core.locals += 1;
            let name = format!("{LOCAL_MARKER}{}", core.locals);
            let recorded = core.results.get(&name).cloned();
            (name, recorded)
        };
        let result = match recorded {
            Some(result) => result,
            None => {
                let Local { value, keep } = work();
                if !keep || self.is_replaying() {
                    return Ok(value);
                }
                Payload::from_value(&value)?
            }
        };
        let value = result.read();
        let result = Some(result);
        self.core
            .borrow_mut()
            .ask(EventKind::MarkerRecorded { name, result }, None);
        value
    }

    /// Returns the failure to return so that the run continues as a new run with an empty history. The new
    /// run takes over unread signals and a request to cancel.
    pub fn continue_as_new(&self, input: &(impl Serialize + ?Sized)) -> Failure {
        continuing(input, None)
    }

    /// Returns the failure to return so that the run continues as a run of another type, with the same
    /// workflow id and the same delivery.
    pub fn continue_as(
        &self,
        workflow_type: &str,
        program: Option<String>,
        input: &(impl Serialize + ?Sized),
    ) -> Failure {
        continuing(input, Some((workflow_type.to_owned(), program)))
    }

    /// Returns the number of events so far. A long-lived run continues as a new one before the history
    /// becomes too long.
    pub fn history_length(&self) -> u64 {
        self.core.borrow().current
    }
}

fn patch_marker(name: &str) -> EventKind {
    EventKind::MarkerRecorded {
        name: name.to_owned(),
        result: None,
    }
}

fn continuing(input: &(impl Serialize + ?Sized), other: Option<(String, Option<String>)>) -> Failure {
    match Payload::from_value(input) {
        Ok(input) => {
            let mut failure = Failure::new("ContinueAsNew", "The run goes on as a new one.");
            failure.continue_as_new = Some(Box::new(NextRun { input, other }));
            failure
        }
        Err(failure) => failure,
    }
}
