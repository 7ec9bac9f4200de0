//! Holds the state of a run, derived from its history, so that most operations need not read the history.
//!
//! The effect of an event on the state is defined in `RunState::apply` alone.

use std::collections::BTreeMap;

use events::records::deliveries::DeliveryStatus;
use platform::auth::{RunAsRole, RunPrincipal};
use platform::queue::Priority;
use platform::trace::{self, TraceContext, TraceLink};
use platform::{Tenant, UtcTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::event::{ChildOutcome, Event, EventKind, ParentRef};
use crate::failure::Failure;
use crate::options::ParentClosePolicy;
use crate::pending::{PendingActivity, PendingChild, PendingTimer};
use crate::status::RunStatus;
use crate::stored_time::{millis, optional_millis};
use crate::turn_failure::TurnFailure;

/// Characters of a failure's message that are kept while the activity is retried: the state must stay small.
const KEPT_FAILURE_CHARACTERS: usize = 500;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// All callers of the project with the permission to see runs.
    #[default]
    Project,
    /// The starter, and callers with the permission `workflow_superadmin`.
    Private,
}

/// Properties of a run that listings show and filter, and that the engine does not use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// `user:<id>`, or `unknown`.
    pub initiated_by: String,
    /// Tenant of the last caller that started, cancelled or terminated the run. The run's events carry it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_id: Option<String>,
    /// Action of the event that started the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_name: Option<String>,
    /// Subscription that started the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule_name: Option<String>,
    /// Interaction of an agent's conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interaction_name: Option<String>,
    /// Priority of the subscription that started the run, and of the runs that this one starts.
    #[serde(skip_serializing_if = "Priority::is_normal")]
    pub priority: Priority,
    pub visibility: Visibility,
    /// Role of the identity with which the run calls the platform; None for a run that calls nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_as_role: Option<RunAsRole>,
    /// Free values of the starter.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub memo: Map<String, Value>,
}

impl About {
    /// Returns the owner of a private run, who alone may see it; None for a run that the project sees.
    pub fn private_to(&self) -> Option<&str> {
        (self.visibility == Visibility::Private).then_some(self.initiated_by.as_str())
    }
}

/// Names a child run by its event too, because the workflow id may belong to an unrelated run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildName {
    /// The event that requested it.
    pub initiated: u64,
    pub workflow_id: String,
}

/// Stored work outside of the run, executed at least once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Starts the child run that this event requested.
    StartChild(u64),
    CancelChild(ChildName),
    TerminateChild(ChildName),
    /// Reports the end of this run to its parent.
    TellParent,
}

/// Delivery that a run carries out, with its last stored status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryLink {
    pub id: String,
    #[serde(with = "millis")]
    pub created_at: UtcTime,
    pub status: DeliveryStatus,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedTurn {
    /// Number of failed turns in a row.
    pub attempt: u32,
    /// Failure of the last turn.
    pub failure: TurnFailure,
    #[serde(with = "millis")]
    pub next_attempt_at: UtcTime,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    pub account: String,
    pub project: String,
    pub workflow_id: String,
    pub run_id: String,
    pub workflow_type: String,
    pub status: RunStatus,
    /// Increases by one with every write.
    pub version: u64,
    /// Recent commit ids, newest last. A writer that lost its response looks for its own.
    pub commits: Vec<String>,
    pub last_event: u64,
    #[serde(with = "millis")]
    pub last_event_at: UtcTime,
    /// Id of the last event that a turn applied.
    pub processed: u64,
    #[serde(with = "millis")]
    pub started_at: UtcTime,
    #[serde(default, with = "optional_millis", skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<UtcTime>,
    /// Time at which an open run times out.
    #[serde(default, with = "optional_millis", skip_serializing_if = "Option::is_none")]
    pub times_out_at: Option<UtcTime>,
    /// Size of the history as JSON, including payloads in the object store.
    pub history_bytes: u64,
    /// Number of signals so far.
    pub signals: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancel_requested: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentRef>,
    /// Subscriptions that led to the run, in order; empty if no event started it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lineage: Vec<String>,
    /// Span that the run was started under; None if it was not traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceLink>,
    /// Delivery that the run carries out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<DeliveryLink>,
    /// Whether the bucket has objects of the run that its history does not name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_objects: bool,
    /// Time until which a longer-lived record names the run; None if none does.
    #[serde(default, with = "optional_millis", skip_serializing_if = "Option::is_none")]
    pub kept_until: Option<UtcTime>,
    /// Whether the run starts and ends without an event.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unannounced: bool,
    /// Whether the workflow id has no record yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unnamed: bool,
    pub about: About,
    /// Open activities, by the events that scheduled them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub activities: BTreeMap<u64, PendingActivity>,
    /// Open timers, by the events that started them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub timers: BTreeMap<u64, PendingTimer>,
    /// Open child runs, by the events that requested them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub children: BTreeMap<u64, PendingChild>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outbox: Vec<Effect>,
    /// The last turn, if it failed.
    #[serde(rename = "failed_task", default, skip_serializing_if = "Option::is_none")]
    pub failed_turn: Option<FailedTurn>,
    /// Time at which the delayed hint that was sent last arrives.
    #[serde(
        rename = "woken_at",
        default,
        with = "optional_millis",
        skip_serializing_if = "Option::is_none"
    )]
    pub wake_sent_for: Option<UtcTime>,
    /// Outcome for the parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<ChildOutcome>,
    /// The last events, which have no records of their own, in order.
    pub tail: Vec<Event>,
}

impl RunState {
    /// Returns the state before the first event.
    pub(crate) fn new(tenant: &Tenant, run_id: &str, about: About) -> Self {
        Self {
            account: tenant.account().to_owned(),
            project: tenant.project().to_owned(),
            workflow_id: String::new(),
            run_id: run_id.to_owned(),
            workflow_type: String::new(),
            status: RunStatus::Running,
            version: 0,
            commits: Vec::new(),
            last_event: 0,
            last_event_at: UtcTime::EPOCH,
            processed: 0,
            started_at: UtcTime::EPOCH,
            closed_at: None,
            times_out_at: None,
            history_bytes: 0,
            signals: 0,
            cancel_requested: false,
            parent: None,
            lineage: Vec::new(),
            trace: None,
            delivery: None,
            has_objects: false,
            kept_until: None,
            is_unannounced: false,
            is_unnamed: false,
            about,
            activities: BTreeMap::new(),
            timers: BTreeMap::new(),
            children: BTreeMap::new(),
            outbox: Vec::new(),
            failed_turn: None,
            wake_sent_for: None,
            outcome: None,
            tail: Vec::new(),
        }
    }

    /// Returns the run's identity inside the platform; None for a run without a role.
    pub(crate) fn principal(&self, tenant: &Tenant) -> Option<RunPrincipal> {
        self.about.run_as_role.map(|role| RunPrincipal {
            tenant: tenant.clone(),
            run_id: self.run_id.clone(),
            role,
            initiated_by: self.about.initiated_by.clone(),
            tenant_id: self.about.tenant_id.clone(),
        })
    }

    /// Returns the position of the run in its trace; None while tracing is off.
    pub(crate) fn position(&self) -> Option<TraceContext> {
        if !trace::is_on() {
            return None;
        }
        trace::of_run(&self.run_id, self.cause().as_ref())
    }

    /// Returns the position that the run was started under.
    pub(crate) fn cause(&self) -> Option<TraceContext> {
        self.trace.as_ref().and_then(TraceLink::context)
    }

    pub fn is_closed(&self) -> bool {
        self.status.is_closed()
    }

    /// Whether events wait for a turn.
    pub fn needs_turn(&self) -> bool {
        !self.is_closed() && self.last_event > self.processed
    }

    /// Returns the id of the tail's first event, or of the next event if the tail is empty.
    pub fn tail_begins(&self) -> u64 {
        self.tail.first().map_or(self.last_event + 1, |event| event.id)
    }

    /// Returns the activity with an id, and the event that scheduled it.
    pub(crate) fn activity(&self, activity_id: &str) -> Option<(u64, &PendingActivity)> {
        let mut activities = self.activities.iter();
        let (event, activity) = activities.find(|(_, activity)| activity.activity_id == activity_id)?;
        Some((*event, activity))
    }

    pub(crate) fn activity_mut(&mut self, activity_id: &str) -> Option<&mut PendingActivity> {
        let mut activities = self.activities.values_mut();
        activities.find(|activity| activity.activity_id == activity_id)
    }

    pub(crate) fn apply(&mut self, event: &Event) {
        self.last_event = event.id;
        self.last_event_at = event.time;
        match &event.kind {
            EventKind::WorkflowExecutionStarted(started) => {
                self.workflow_id = started.workflow_id.clone();
                self.workflow_type = started.workflow_type.clone();
                self.parent = started.parent.clone();
                self.started_at = event.time;
                self.times_out_at = started.timeout_ms.map(|limit| event.time.plus_ms(limit));
            }
            EventKind::WorkflowExecutionSignaled { .. } => self.signals += 1,
            EventKind::WorkflowExecutionCancelRequested { .. } => self.cancel_requested = true,
            EventKind::WorkflowExecutionCompleted { result } => {
                let outcome = ChildOutcome::Completed(result.clone());
                self.close(RunStatus::Completed, event.time, Some(outcome));
            }
            EventKind::WorkflowExecutionFailed { failure } => {
                let outcome = ChildOutcome::Failed(failure.clone());
                self.close(RunStatus::Failed, event.time, Some(outcome));
            }
            EventKind::WorkflowExecutionCanceled { .. } => {
                self.close(RunStatus::Canceled, event.time, Some(ChildOutcome::Canceled));
            }
            EventKind::WorkflowExecutionTerminated { .. } => {
                self.close(RunStatus::Terminated, event.time, Some(ChildOutcome::Terminated));
            }
            EventKind::WorkflowExecutionTimedOut {} => {
                self.close(RunStatus::TimedOut, event.time, Some(ChildOutcome::TimedOut));
            }
            EventKind::WorkflowExecutionContinuedAsNew { .. } => {
                self.close(RunStatus::ContinuedAsNew, event.time, None);
            }
            EventKind::ActivityTaskScheduled {
                activity_id,
                name,
                options,
                ..
            } => {
                let pending = PendingActivity {
                    activity_id: activity_id.clone(),
                    name: name.clone(),
                    options: options.clone(),
                    scheduled_at: event.time,
                    attempt: 1,
                    started_at: None,
                    worker: None,
                    next_attempt_at: None,
                    last_failure: None,
                    heard_at: None,
                    heartbeat: None,
                };
                self.activities.insert(event.id, pending);
            }
            EventKind::ActivityTaskStarted { .. } | EventKind::MarkerRecorded { .. } => {}
            EventKind::ActivityTaskCompleted {
                scheduled_event_id, ..
            }
            | EventKind::ActivityTaskFailed {
                scheduled_event_id, ..
            }
            | EventKind::ActivityTaskTimedOut {
                scheduled_event_id, ..
            }
            | EventKind::ActivityTaskCanceled { scheduled_event_id } => {
                self.activities.remove(scheduled_event_id);
            }
            EventKind::TimerStarted {
                timer_id,
                fire_after_ms,
            } => {
                let pending = PendingTimer {
                    timer_id: timer_id.clone(),
                    fires_at: event.time.plus_ms(*fire_after_ms),
                };
                self.timers.insert(event.id, pending);
            }
            EventKind::TimerFired { started_event_id } | EventKind::TimerCanceled { started_event_id } => {
                self.timers.remove(started_event_id);
            }
            EventKind::StartChildWorkflowExecutionInitiated {
                workflow_id,
                run_id,
                parent_close_policy,
                ..
            } => {
                let pending = PendingChild {
                    workflow_id: workflow_id.clone(),
                    run_id: run_id.clone(),
                    policy: *parent_close_policy,
                    started: false,
                };
                self.children.insert(event.id, pending);
                self.outbox.push(Effect::StartChild(event.id));
            }
            EventKind::ChildWorkflowExecutionStarted { initiated_event_id } => {
                if let Some(child) = self.children.get_mut(initiated_event_id) {
                    child.started = true;
                }
            }
            EventKind::StartChildWorkflowExecutionFailed {
                initiated_event_id, ..
            }
            | EventKind::ChildWorkflowExecutionClosed {
                initiated_event_id, ..
            } => {
                self.children.remove(initiated_event_id);
            }
            EventKind::RequestCancelExternalWorkflowExecutionInitiated { initiated_event_id } => {
                if let Some(child) = self.children.get(initiated_event_id) {
                    let name = ChildName {
                        initiated: *initiated_event_id,
                        workflow_id: child.workflow_id.clone(),
                    };
                    self.outbox.push(Effect::CancelChild(name));
                }
            }
        }
    }

    fn close(&mut self, status: RunStatus, at: UtcTime, outcome: Option<ChildOutcome>) {
        self.status = status;
        self.closed_at = Some(at);
        self.activities.clear();
        self.timers.clear();
        self.failed_turn = None;
        for (initiated, child) in std::mem::take(&mut self.children) {
            if child.policy != ParentClosePolicy::Abandon {
                // A child that is not started is no longer needed.
                self.outbox
                    .retain(|effect| *effect != Effect::StartChild(initiated));
            }
            let name = ChildName {
                initiated,
                workflow_id: child.workflow_id,
            };
            match child.policy {
                ParentClosePolicy::Terminate => self.outbox.push(Effect::TerminateChild(name)),
                ParentClosePolicy::RequestCancel => self.outbox.push(Effect::CancelChild(name)),
                ParentClosePolicy::Abandon => {}
            }
        }
        if let (Some(_), Some(outcome)) = (&self.parent, outcome) {
            self.outcome = Some(outcome);
            self.outbox.push(Effect::TellParent);
        }
    }
}

/// Returns the form of a failure that is kept while the activity is retried.
pub(crate) fn shortened(failure: &Failure) -> Failure {
    let mut kept = Failure {
        details: None,
        ..failure.clone()
    };
    kept.shorten(KEPT_FAILURE_CHARACTERS);
    kept
}
