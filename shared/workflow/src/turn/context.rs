//! What the code of a workflow works with.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use platform::UtcTime;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::calls::{ActivityCall, ChildCall, Pending};
use super::core::{Core, Ending, ROOT, Scope};
use super::signals::{Canceled, Signals};
use super::{DeliveryReport, NewUpdate};
use crate::event::EventKind;
use crate::failure::{Failure, NextRun};
use crate::payload::Payload;
use crate::stub::{ActivityType, WorkflowType};

/// Beginning of the names of markers that hold results of local work.
const LOCAL_MARKER: &str = "local:";

/// Result of work within a turn.
#[derive(Clone, Debug)]
pub struct Local<T> {
    /// The result.
    pub value: T,
    /// Whether to record it: for work that takes long, or that could end differently the next time.
    pub keep: bool,
}

/// What the code of a workflow works with: everything that takes time, and everything that must come out the same when the code is
/// replayed. It stands for one *scope*: what is begun with it is cancelled together.
///
/// The code must be deterministic. It must not ask the machine for the time, for chance or for anything outside; activities do.
/// It must not wait for anything but what this gives: a future of another library never wakes it. Of the combinators of the
/// `futures` crate, `join`, `join_all`, `select`, `select_all` and `select_biased!` are deterministic; `select!` is not.
#[derive(Clone)]
pub struct Context {
    pub(super) core: Rc<RefCell<Core>>,
    pub(super) scope: usize,
}

impl Context {
    pub(super) fn new(core: Rc<RefCell<Core>>) -> Self {
        Self { core, scope: ROOT }
    }

    /// The run's workflow id.
    pub fn workflow_id(&self) -> String {
        self.core.borrow().started.workflow_id.clone()
    }

    /// The run's id.
    pub fn run_id(&self) -> String {
        self.core.borrow().started.run_id.clone()
    }

    /// The time of the event that the code has seen last.
    pub fn now(&self) -> UtcTime {
        self.core.borrow().now
    }

    /// A new id, the same when the code is replayed.
    pub fn new_id(&self) -> String {
        self.core.borrow_mut().derived_id()
    }

    /// Whether the code does again what it did before. For logs alone: what the code asks for must not depend on it.
    pub fn is_replaying(&self) -> bool {
        self.core.borrow().is_replaying()
    }

    /// An activity: code that may touch the world. It begins when the call is started or awaited.
    pub fn activity<T>(&self, name: &str, input: &(impl Serialize + ?Sized)) -> ActivityCall<T> {
        ActivityCall::new(self.clone(), name, Payload::of(input))
    }

    /// The same with a typed name: input and result are checked by the compiler.
    pub fn run<I: Serialize, O>(&self, activity: ActivityType<I, O>, input: &I) -> ActivityCall<O> {
        self.activity(activity.name(), input)
    }

    /// A run of another type, whose result this one waits for. It begins when the call is started or awaited.
    pub fn child<T>(&self, workflow_type: &str, input: &(impl Serialize + ?Sized)) -> ChildCall<T> {
        ChildCall::new(self.clone(), workflow_type, Payload::of(input))
    }

    /// The same with a typed name: input and result are checked by the compiler.
    pub fn run_child<I: Serialize, O>(&self, workflow_type: WorkflowType<I, O>, input: &I) -> ChildCall<O> {
        self.child(workflow_type.name(), input)
    }

    /// A timer; it begins at once.
    pub fn timer(&self, duration: Duration) -> Pending<()> {
        let fire_after_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let mut core = self.core.borrow_mut();
        core.timers += 1;
        let kind = EventKind::TimerStarted {
            timer_id: core.timers.to_string(),
            fire_after_ms,
        };
        let what = format!("timer of {fire_after_ms} ms");
        let operation = core.begin(self.scope, kind, what, Ending::Timer);
        drop(core);
        Pending::new(self, operation)
    }

    /// The signals of a name, in the order in which they came.
    pub fn signals(&self, name: &str) -> Signals {
        Signals::new(self.clone(), name)
    }

    /// A scope in this one: cancelled with it, or by itself.
    pub fn scope(&self) -> Self {
        self.new_scope(Some(self.scope))
    }

    /// A scope of its own, which is not cancelled with this one: for what has to be put in order after a cancellation.
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

    /// Cancels the scope: its activities and timers end at once as cancelled, its child runs are asked to stop.
    pub fn cancel(&self) {
        self.core.borrow_mut().cancel(self.scope);
    }

    /// Whether the scope is cancelled.
    pub fn is_canceled(&self) -> bool {
        let core = self.core.borrow();
        core.scopes.get(self.scope).is_some_and(|scope| scope.canceled)
    }

    /// Waits until the scope is cancelled.
    pub fn canceled(&self) -> Canceled {
        Canceled::new(self.clone())
    }

    /// Whether the code takes the new way of a change that must not touch runs which went the old one: true for a run that comes
    /// here for the first time with the new code, and for its replays; false for a run that was here before the change.
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

    /// Takes the place of [`patched`](Self::patched) when no run is left that went the old way: histories with the mark still fit,
    /// and new ones get none. It may go when no run with the mark is left.
    pub fn deprecate_patch(&self, name: &str) {
        let mut core = self.core.borrow_mut();
        let is_new = core.decided_patches.insert(name.to_owned(), true).is_none();
        if is_new && core.patches.contains(name) {
            core.ask(patch_marker(name), None);
        }
    }

    /// Publishes an update message to whoever follows the run.
    pub fn publish(&self, kind: &str, message: &str, details: Value) {
        self.publish_update(NewUpdate {
            kind: kind.to_owned(),
            message: message.to_owned(),
            details: Some(details).filter(|details| !details.is_null()),
            workstream_id: None,
        });
    }

    /// Publishes an update message, in all its parts.
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

    /// Tells of the delivery that the run carries out: it shows there from the next write on.
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

    /// When the run began.
    pub fn started_at(&self) -> UtcTime {
        self.core.borrow().started_at
    }

    /// Answers the queries of a name from now on. What it shares with the code it holds in an `Rc`.
    pub fn answer<T: Serialize>(&self, query: &str, handler: impl Fn() -> T + 'static) {
        let handler = Rc::new(move || Payload::of(&handler()));
        self.core.borrow_mut().queries.insert(query.to_owned(), handler);
    }

    /// What the query `__state` answers from now on.
    pub fn expose<T: Serialize>(&self, handler: impl Fn() -> T + 'static) {
        self.answer("__state", handler);
    }

    /// The program that the run executes, for a type that interprets programs.
    pub fn program(&self) -> Option<String> {
        self.core.borrow().started.program.clone()
    }

    /// Does work within the turn. A result to keep is recorded in the history, so replays read it instead of
    /// doing the work again; any other work must give the same result each time.
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
                Payload::of(&value)?
            }
        };
        let value = result.read();
        let result = Some(result);
        self.core
            .borrow_mut()
            .ask(EventKind::MarkerRecorded { name, result }, None);
        value
    }

    /// What to return for the run to go on as a new one, with an empty history. Signals that were not read go with it, and so
    /// does a request to stop.
    pub fn continue_as_new(&self, input: &(impl Serialize + ?Sized)) -> Failure {
        continuing(input, None)
    }

    /// The failure to return so that the run continues as a run of another type, under the same workflow id,
    /// with the same delivery.
    pub fn continue_as(
        &self,
        workflow_type: &str,
        program: Option<String>,
        input: &(impl Serialize + ?Sized),
    ) -> Failure {
        continuing(input, Some((workflow_type.to_owned(), program)))
    }

    /// Events of the history so far: a run that lives long goes on as a new one before there are too many.
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
    match Payload::of(input) {
        Ok(input) => {
            let mut failure = Failure::new("ContinueAsNew", "The run goes on as a new one.");
            failure.continue_as_new = Some(Box::new(NextRun { input, other }));
            failure
        }
        Err(failure) => failure,
    }
}
