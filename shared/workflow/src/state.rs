//! Where a run stands: what follows from its history, kept so that nobody has to read the history for it.
//!
//! Everything that an event means for the state is in `RunState::apply`, and nowhere else.

use std::collections::BTreeMap;

use platform::auth::{RunAsRole, RunPrincipal};
use platform::records::deliveries::DeliveryStatus;
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
use crate::task_failure::TaskFailure;

/// Characters of a failure's message that are kept while the activity is still tried: the state must stay small.
const KEPT_FAILURE_CHARACTERS: usize = 500;

/// Which callers see a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// All callers of the project with the permission to see runs.
    #[default]
    Project,
    /// The starter, and callers with the permission `workflow_superadmin`.
    Private,
}

/// What a run is about: what listings show and filter, beside what the engine itself knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// Who started it: `user:<id>`, or `unknown`.
    pub initiated_by: String,
    /// Tenant of the caller who started the run, or who cancelled or terminated it since. The run's events carry it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// The document that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_id: Option<String>,
    /// The action of the event that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_name: Option<String>,
    /// The subscription that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule_id: Option<String>,
    /// That subscription's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule_name: Option<String>,
    /// The interaction of an agent's conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interaction_name: Option<String>,
    /// Who may see it.
    pub visibility: Visibility,
    /// Role of its service identity, with which it calls the platform; None for a run that may call nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_as_role: Option<RunAsRole>,
    /// Free values that whoever started it left with it.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub memo: Map<String, Value>,
}

/// Which child run is meant: a workflow id may stand for somebody else's run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildName {
    /// The event that asked for it.
    pub initiated: u64,
    /// Its workflow id.
    pub workflow_id: String,
}

/// Something outside of the run that follows from what was written, and that has to be done, once or more often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Start a child run: the event that asked for it.
    StartChild(u64),
    /// Ask a child run to stop.
    CancelChild(ChildName),
    /// Terminate a child run.
    TerminateChild(ChildName),
    /// Tell the run that started this one how it ended.
    TellParent,
}

/// The delivery that a run carries out, and what was written of it last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryLink {
    /// The delivery's id.
    pub id: String,
    /// When it was made.
    #[serde(with = "millis")]
    pub created_at: UtcTime,
    /// Where it stands.
    pub status: DeliveryStatus,
}

/// A run's turn that came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedTask {
    /// How many turns in a row came to nothing.
    pub attempt: u32,
    /// Why the last did.
    pub failure: TaskFailure,
    /// When the next is tried.
    #[serde(with = "millis")]
    pub next_attempt_at: UtcTime,
}

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// Its account.
    pub account: String,
    /// Its project.
    pub project: String,
    /// Its workflow id.
    pub workflow_id: String,
    /// Its run id.
    pub run_id: String,
    /// Its type.
    pub workflow_type: String,
    /// Whether it goes on, and how it ended.
    pub status: RunStatus,
    /// Rises by one with every write.
    pub version: u64,
    /// Who wrote the last versions, newest last: whoever did not hear what became of his write finds it here.
    pub commits: Vec<String>,
    /// The id of the last event.
    pub last_event: u64,
    /// When it was written.
    #[serde(with = "millis")]
    pub last_event_at: UtcTime,
    /// The last event that a turn has applied.
    pub processed: u64,
    /// When the run began.
    #[serde(with = "millis")]
    pub started_at: UtcTime,
    /// When it ended.
    #[serde(default, with = "optional_millis", skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<UtcTime>,
    /// When it ends if it has not by then.
    #[serde(default, with = "optional_millis", skip_serializing_if = "Option::is_none")]
    pub times_out_at: Option<UtcTime>,
    /// Bytes of its history, as JSON, those of payloads that are kept elsewhere included.
    pub history_bytes: u64,
    /// Signals that came.
    pub signals: u64,
    /// Whether it was asked to stop.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancel_requested: bool,
    /// The run that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentRef>,
    /// The subscriptions that led to it, one after another; none for one that no event started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lineage: Vec<String>,
    /// The delivery that it carries out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<DeliveryLink>,
    /// Whether it keeps something in the bucket that its history does not tell.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_objects: bool,
    /// Until when something names it that has ended later; None where nothing does.
    #[serde(default, with = "optional_millis", skip_serializing_if = "Option::is_none")]
    pub kept_until: Option<UtcTime>,
    /// Whether it begins and ends without an event.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unannounced: bool,
    /// Whether its workflow id has no record yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unnamed: bool,
    /// What it is about.
    pub about: About,
    /// Its activities, by the events that asked for them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub activities: BTreeMap<u64, PendingActivity>,
    /// Its timers, by the events that began them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub timers: BTreeMap<u64, PendingTimer>,
    /// Its child runs, by the events that asked for them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub children: BTreeMap<u64, PendingChild>,
    /// What has to be done outside of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outbox: Vec<Effect>,
    /// Its turn that came to nothing, if the last one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_task: Option<FailedTask>,
    /// The moment for which a delayed message was sent last.
    #[serde(default, with = "optional_millis", skip_serializing_if = "Option::is_none")]
    pub woken_at: Option<UtcTime>,
    /// How it ended, for the run that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<ChildOutcome>,
    /// The events that are not kept in records of their own, in order: the last ones.
    pub tail: Vec<Event>,
}

impl RunState {
    /// The state before the first event.
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
            failed_task: None,
            woken_at: None,
            outcome: None,
            tail: Vec::new(),
        }
    }

    /// Its identity inside the platform; None for a run without a role.
    pub(crate) fn principal(&self, tenant: &Tenant) -> Option<RunPrincipal> {
        self.about.run_as_role.map(|role| RunPrincipal {
            tenant: tenant.clone(),
            run_id: self.run_id.clone(),
            role,
            initiated_by: self.about.initiated_by.clone(),
            tenant_id: self.about.tenant_id.clone(),
        })
    }

    /// Whether it has ended.
    pub fn is_closed(&self) -> bool {
        self.status.is_closed()
    }

    /// Whether there are events that no turn has applied.
    pub fn needs_turn(&self) -> bool {
        !self.is_closed() && self.last_event > self.processed
    }

    /// The first event of the tail; one more than the last event where the tail is empty.
    pub fn tail_begins(&self) -> u64 {
        self.tail.first().map_or(self.last_event + 1, |event| event.id)
    }

    /// The activity of an id, and the event that asked for it.
    pub(crate) fn activity(&self, activity_id: &str) -> Option<(u64, &PendingActivity)> {
        let mut activities = self.activities.iter();
        let (event, activity) = activities.find(|(_, activity)| activity.activity_id == activity_id)?;
        Some((*event, activity))
    }

    /// The activity of an id.
    pub(crate) fn activity_mut(&mut self, activity_id: &str) -> Option<&mut PendingActivity> {
        let mut activities = self.activities.values_mut();
        activities.find(|activity| activity.activity_id == activity_id)
    }

    /// What an event means for the state.
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
        self.failed_task = None;
        for (initiated, child) in std::mem::take(&mut self.children) {
            if child.policy != ParentClosePolicy::Abandon {
                // If it was not started yet, it is no longer wanted.
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

/// A failure as it is kept while the activity is still tried.
pub(crate) fn shortened(failure: &Failure) -> Failure {
    let mut kept = Failure {
        details: None,
        ..failure.clone()
    };
    kept.shorten(KEPT_FAILURE_CHARACTERS);
    kept
}
