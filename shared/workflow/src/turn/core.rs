//! Holds the state that a run's code and its replay share: commands, operations and their outcomes, and
//! wakers.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;

use platform::UtcTime;

use super::matching::{describe, is_ending, name_beginning};
use super::replay::{DeliveryReport, NewUpdate, Replay, Returned, Turn};
use crate::event::{Event, EventKind, Started};
use crate::failure::{Failure, NextRun};
use crate::payload::Payload;
use crate::turn_failure::TurnFailure;

/// Limit of the commands of one turn; it stops an endless loop of commands.
pub const MAX_COMMANDS: usize = 10_000;

pub(super) type QueryHandler = Rc<dyn Fn() -> Result<Payload, Failure>>;
pub(super) type Outcome = Result<Payload, Failure>;

/// A command of the code that is not matched with an event of the history.
pub(super) struct Command {
    /// Id of the last event that the code had seen.
    pub cause: u64,
    /// Event to append. An id of an event that does not exist yet is 0.
    pub kind: EventKind,
    /// Operation that the command starts or ends.
    pub operation: Option<usize>,
}

/// An activity, a timer or a child run.
pub(super) struct Operation {
    /// Event that started it; 0 until there is one.
    pub event: u64,
    /// Description for people.
    pub what: String,
    pub operation_kind: OperationKind,
    pub outcome: Option<Outcome>,
    pub waker: Option<Waker>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OperationKind {
    /// Ends at once when it is cancelled.
    Activity,
    /// Ends at once when it is cancelled.
    Timer,
    /// Ends only when the child run has ended, even after a request to cancel it.
    Child,
}

#[derive(Default)]
pub(super) struct Scope {
    pub children: Vec<usize>,
    pub operations: Vec<usize>,
    pub canceled: bool,
    pub wakers: Vec<Waker>,
}

#[derive(Default)]
pub(super) struct Channel {
    /// Unread signals, each with its place among all signals.
    pub unread: VecDeque<(u64, Payload)>,
    pub wakers: Vec<Waker>,
}

pub(super) struct Core {
    pub now: UtcTime,
    pub started_at: UtcTime,
    /// Id of the last event that the code has seen.
    pub current: u64,
    pub processed: u64,
    pub started: Rc<Started>,
    pub commands: VecDeque<Command>,
    pub operations: Vec<Operation>,
    /// Operation that an event started, by the event's id; `NONE` for other events.
    operation_of: Vec<u32>,
    pub scopes: Vec<Scope>,
    pub channels: BTreeMap<String, Channel>,
    pub signals: u64,
    /// Patches with a marker in the history.
    pub patches: BTreeSet<String>,
    /// Recorded results of local work, by marker name.
    pub results: BTreeMap<String, Payload>,
    /// Number of local works so far.
    pub locals: u64,
    pub decided_patches: BTreeMap<String, bool>,
    pub queries: BTreeMap<String, QueryHandler>,
    pub listens_for: BTreeSet<String>,
    pub updates: Vec<NewUpdate>,
    pub reports: Vec<DeliveryReport>,
    pub activities: u64,
    pub timers: u64,
    pub derived: u64,
    waiting: Vec<String>,
    /// Names of the signals that the code waits for.
    awaited_signals: Vec<String>,
    ended: bool,
    /// The code is being dropped: further commands are ignored.
    pub sealed: bool,
    abort: Option<Arc<AtomicBool>>,
}

const NONE: u32 = u32::MAX;
/// Scope of the whole run.
pub(super) const ROOT: usize = 0;

impl Core {
    pub(super) fn new(replay: &Replay<'_>) -> Self {
        let started = match replay.history.first().map(|event| &event.kind) {
            Some(EventKind::WorkflowExecutionStarted(started)) => (**started).clone(),
            // Nothing is replayed then, so nothing reads it.
            _ => Started::default(),
        };
        let (mut patches, mut results) = (BTreeSet::new(), BTreeMap::new());
        for event in replay.history {
            match &event.kind {
                EventKind::MarkerRecorded { name, result: None } => {
                    patches.insert(name.clone());
                }
                EventKind::MarkerRecorded {
                    name,
                    result: Some(result),
                } => {
                    results.insert(name.clone(), result.clone());
                }
                _ => {}
            }
        }
        Self {
            started_at: replay.history.first().map_or(UtcTime::EPOCH, |event| event.time),
            now: replay.history.first().map_or(UtcTime::EPOCH, |event| event.time),
            current: 0,
            processed: replay.processed,
            started: Rc::new(started),
            commands: VecDeque::new(),
            operations: Vec::new(),
            operation_of: vec![NONE; replay.history.len() + 1],
            scopes: vec![Scope::default()],
            channels: BTreeMap::new(),
            signals: 0,
            patches,
            results,
            locals: 0,
            decided_patches: BTreeMap::new(),
            queries: BTreeMap::new(),
            listens_for: BTreeSet::new(),
            updates: Vec::new(),
            reports: Vec::new(),
            activities: 0,
            timers: 0,
            derived: 0,
            waiting: Vec::new(),
            awaited_signals: Vec::new(),
            ended: false,
            sealed: false,
            abort: replay.abort.cloned(),
        }
    }

    /// Moves to the event that the code sees next.
    pub(super) fn at(&mut self, event: &Event) {
        self.current = event.id;
        self.now = self.now.max(event.time);
    }

    /// Whether the code repeats an earlier turn: its commands are in the history, and its updates are
    /// published.
    pub(super) fn is_replaying(&self) -> bool {
        self.current <= self.processed
    }

    /// Ends the turn from within the code after the time limit.
    pub(super) fn check_abort(&self) {
        if self
            .abort
            .as_ref()
            .is_some_and(|abort| abort.load(Ordering::Relaxed))
        {
            std::panic::resume_unwind(Box::new(TurnFailure::stuck("The code took too long.")));
        }
    }

    pub(super) fn check_commands(&self) -> Result<(), TurnFailure> {
        if self.commands.len() > MAX_COMMANDS {
            return Err(TurnFailure::stuck(format!(
                "The code asked for more than {MAX_COMMANDS} things at once."
            )));
        }
        Ok(())
    }

    /// Whether the code has returned or is being dropped, so that further commands are ignored.
    pub(super) fn is_over(&self) -> bool {
        self.ended || self.sealed
    }

    pub(super) fn ask(&mut self, kind: EventKind, operation: Option<usize>) {
        if self.is_over() {
            return;
        }
        self.check_abort();
        if self.commands.len() > MAX_COMMANDS {
            // `check_commands` reports this unless the code never yields.
            std::panic::resume_unwind(Box::new(TurnFailure::stuck(format!(
                "The code asked for more than {MAX_COMMANDS} things at once."
            ))));
        }
        self.commands.push_back(Command {
            cause: self.current,
            kind,
            operation,
        });
    }

    /// Starts an operation in a scope. In a cancelled scope it ends as cancelled without a start.
    pub(super) fn begin(
        &mut self,
        scope: usize,
        kind: EventKind,
        what: String,
        operation_kind: OperationKind,
    ) -> usize {
        let index = self.operations.len();
        let canceled = self.scopes.get(scope).is_none_or(|scope| scope.canceled);
        self.operations.push(Operation {
            event: 0,
            what,
            operation_kind,
            outcome: canceled.then(|| Err(Failure::canceled())),
            waker: None,
        });
        if !canceled {
            self.ask(kind, Some(index));
            if let Some(scope) = self.scopes.get_mut(scope) {
                scope.operations.push(index);
            }
        }
        index
    }

    pub(super) fn begun(&mut self, event: u64, operation: usize) {
        if let Some(operation) = self.operations.get_mut(operation) {
            operation.event = event;
        }
        if let (Some(place), Ok(operation)) = (
            self.operation_of.get_mut(event as usize),
            u32::try_from(operation),
        ) {
            *place = operation;
        }
    }

    pub(super) fn operation_of(&self, event: u64) -> Option<usize> {
        self.operation_of
            .get(event as usize)
            .filter(|index| **index != NONE)
            .map(|index| *index as usize)
    }

    /// Cancels a scope and the scopes inside it.
    pub(super) fn cancel(&mut self, scope: usize) {
        let Some(canceled) = self.scopes.get_mut(scope) else {
            return;
        };
        if std::mem::replace(&mut canceled.canceled, true) {
            return;
        }
        let (operations, children) = (
            std::mem::take(&mut canceled.operations),
            std::mem::take(&mut canceled.children),
        );
        for waker in std::mem::take(&mut canceled.wakers) {
            waker.wake();
        }
        for index in operations {
            self.cancel_operation(index);
        }
        for child in children {
            self.cancel(child);
        }
    }

    fn cancel_operation(&mut self, index: usize) {
        let Some(operation) = self.operations.get(index) else {
            return;
        };
        if operation.outcome.is_some() {
            return;
        }
        // The start may have no event yet; `finish` and `matched` fill in the id.
        let event = operation.event;
        let (kind, ends) = match operation.operation_kind {
            OperationKind::Activity => (
                EventKind::ActivityTaskCanceled {
                    scheduled_event_id: event,
                },
                true,
            ),
            OperationKind::Timer => (
                EventKind::TimerCanceled {
                    started_event_id: event,
                },
                true,
            ),
            OperationKind::Child => (
                EventKind::RequestCancelExternalWorkflowExecutionInitiated {
                    initiated_event_id: event,
                },
                false,
            ),
        };
        self.ask(kind, Some(index));
        if ends {
            self.resolve(index, Err(Failure::canceled()));
        }
    }

    /// Adds the command that ends the run.
    pub(super) fn returned(&mut self, returned: Returned) {
        self.ended = true;
        let canceled = self.scopes.first().is_some_and(|root| root.canceled);
        let kind = match returned {
            Err(Failure {
                continue_as_new: Some(next),
                ..
            }) => self.continued_as(*next),
            Ok(result) if canceled => EventKind::WorkflowExecutionCanceled {
                details: Some(result).filter(|result| !result.is_null()),
            },
            Err(failure) if canceled && failure.is_canceled() => {
                EventKind::WorkflowExecutionCanceled { details: None }
            }
            Ok(result) => EventKind::WorkflowExecutionCompleted { result },
            Err(failure) => EventKind::WorkflowExecutionFailed { failure },
        };
        self.commands.push_back(Command {
            cause: self.current,
            kind,
            operation: None,
        });
    }

    fn continued_as(&mut self, next: NextRun) -> EventKind {
        let (workflow_type, program) = match next.other {
            Some((workflow_type, program)) => (Some(workflow_type), program),
            None => (None, self.started.program.clone()),
        };
        EventKind::WorkflowExecutionContinuedAsNew {
            new_run_id: self.derived_id(),
            input: next.input,
            workflow_type,
            program,
        }
    }

    /// Returns an id that is the same in every replay.
    pub(super) fn derived_id(&mut self) -> String {
        self.derived += 1;
        platform::ids::derived_id(self.now, &format!("{}#{}", self.started.run_id, self.derived))
    }

    /// Records what the code waits for, before the code is dropped.
    pub(super) fn note_waiting(&mut self) {
        if self.ended {
            return;
        }
        let operations = self
            .operations
            .iter()
            .filter(|operation| operation.outcome.is_none())
            .map(|operation| operation.what.clone());
        let signals = self
            .channels
            .iter()
            .filter(|(_, channel)| !channel.wakers.is_empty())
            .map(|(name, _)| name.clone());
        self.awaited_signals = signals.collect();
        let signals = self.awaited_signals.iter().map(|name| format!("signal {name}"));
        self.waiting = operations.chain(signals).collect();
    }

    /// Returns the turn. Fails if the replayed code requested a command that the history does not have.
    pub(super) fn finish(&mut self, replay: &Replay<'_>) -> Result<Turn, TurnFailure> {
        if let Some(command) = self
            .commands
            .iter()
            .find(|command| command.cause <= self.processed)
        {
            return Err(TurnFailure::not_deterministic(format!(
                "After event {} the code asks for {}, of which the history has nothing.",
                command.cause,
                describe(&command.kind)
            )));
        }
        let mut events = Vec::with_capacity(self.commands.len());
        for Command {
            mut kind, operation, ..
        } in std::mem::take(&mut self.commands)
        {
            if let Some(operation) = operation.and_then(|index| self.operations.get_mut(index)) {
                if is_ending(&kind) {
                    name_beginning(&mut kind, operation.event);
                } else {
                    operation.event = replay.history.len() as u64 + events.len() as u64 + 1;
                }
            }
            events.push(kind);
        }
        let mut unread: Vec<_> = std::mem::take(&mut self.channels)
            .into_iter()
            .flat_map(|(name, channel)| {
                let unread = channel.unread.into_iter();
                unread.map(move |(place, input)| (place, name.clone(), input))
            })
            .collect();
        unread.sort_by_key(|(place, ..)| *place);
        Ok(Turn {
            signals: std::mem::take(&mut self.listens_for),
            queries: BTreeSet::new(),
            events,
            updates: std::mem::take(&mut self.updates),
            reports: std::mem::take(&mut self.reports),
            answer: None,
            waiting: std::mem::take(&mut self.waiting),
            unread_signals: unread.into_iter().map(|(_, name, input)| (name, input)).collect(),
        })
    }
}

/// Answers a query by the code's own handlers, and by those that every run has.
pub(super) fn answer(
    core: &RefCell<Core>,
    handlers: &BTreeMap<String, QueryHandler>,
    name: &str,
) -> Option<Result<Payload, Failure>> {
    match (handlers.get(name), name) {
        (Some(handler), _) => Some(handler()),
        (None, "__state") => Some(Ok(Payload::null())),
        (None, "__stack") => Some(Payload::from_value(&core.borrow().waiting)),
        (None, "__signals") => Some(Payload::from_value(&core.borrow().awaited_signals)),
        (None, _) => None,
    }
}
