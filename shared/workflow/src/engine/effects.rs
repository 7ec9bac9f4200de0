//! Executes a run's outbox, at least once per effect.

use events::envelope::is_name;
use futures::future::BoxFuture;
use futures::future::ready;
use futures::stream::{self, StreamExt as _};
use platform::{ErrorKind, Result, Tenant};
use tracing::warn;

use super::{Engine, IdReuse, StartRun};
use crate::draft::Draft;
use crate::event::{ChildOutcome, EventKind, ParentRef};
use crate::failure::Failure;
use crate::options::ParentClosePolicy;
use crate::payload::Payload;
use crate::records::QUEUED_TYPE;
use crate::state::{About, ChildName, Effect, RunState};
use crate::status::RunStatus;

/// Caller of a request to stop that comes from the parent run.
const PARENT: &str = "parent";
/// Limit of continuations that a request to end a child follows.
const MAX_SUCCESSORS: u32 = 8;
/// Effects of one run that are executed concurrently.
const EFFECTS_AT_ONCE: usize = 8;

/// An executed effect, with the event that records its result, if any.
#[derive(Clone, Debug)]
pub(super) struct Done {
    pub effect: Effect,
    pub event: Option<EventKind>,
}

impl Done {
    /// Records the effect in a draft of the run.
    pub(super) fn note(&self, draft: &mut Draft) {
        draft.done(std::slice::from_ref(&self.effect));
        if let Some(event) = &self.event {
            note_start(draft, event);
        }
    }
}

/// Records in a run that a child run started, or why it did not.
pub(crate) fn note_start(draft: &mut Draft, event: &EventKind) {
    let (EventKind::ChildWorkflowExecutionStarted { initiated_event_id }
    | EventKind::StartChildWorkflowExecutionFailed {
        initiated_event_id, ..
    }) = event
    else {
        return;
    };
    let child = draft.state.children.get(initiated_event_id);
    if !draft.state.is_closed() && child.is_some_and(|child| !child.started) {
        draft.append(event.clone());
    }
}

/// Records in a run that a child run ended, if the run waits for it.
pub(crate) fn note_end(draft: &mut Draft, initiated_event_id: u64, outcome: &ChildOutcome) {
    // The child may end before its start is recorded.
    let children = &draft.state.children;
    let waits = children.get(&initiated_event_id).map(|child| child.started);
    if waits == Some(false) {
        draft.done(&[Effect::StartChild(initiated_event_id)]);
        draft.append(EventKind::ChildWorkflowExecutionStarted { initiated_event_id });
    }
    if waits.is_some() {
        draft.append(EventKind::ChildWorkflowExecutionClosed {
            initiated_event_id,
            outcome: outcome.clone(),
        });
    }
}

/// Returns the outcome of a run for its parent.
pub(crate) fn told(state: &RunState) -> Option<(&ParentRef, ChildOutcome)> {
    let outcome = match state.outcome.as_ref()? {
        ChildOutcome::Failed(failure) if failure.source.is_none() => {
            ChildOutcome::Failed(failure.clone().with_source(&state.workflow_type))
        }
        outcome => outcome.clone(),
    };
    Some((state.parent.as_ref()?, outcome))
}

/// Returns the start of the child run that an event requests; None for other events.
pub(crate) fn start_of(state: &RunState, initiated: u64, event: &EventKind) -> Option<StartRun> {
    let EventKind::StartChildWorkflowExecutionInitiated {
        workflow_id,
        run_id,
        workflow_type,
        input,
        parent_close_policy,
        program,
    } = event
    else {
        return None;
    };
    Some(StartRun {
        run_id: Some(run_id.clone()),
        about: about_child(state, input),
        parent: Some(ParentRef {
            workflow_id: state.workflow_id.clone(),
            run_id: state.run_id.clone(),
            initiated_event_id: initiated,
        }),
        outlives_parent: *parent_close_policy == ParentClosePolicy::Abandon,
        id_reuse: IdReuse::AfterEnd,
        lineage: state.lineage.clone(),
        trace: state.position().map(Into::into),
        program: program.clone(),
        ..StartRun::new(workflow_type, workflow_id, input.clone())
    })
}

fn about_child(parent: &RunState, input: &Payload) -> About {
    // The child is the run that the event asked for.
    if parent.workflow_type == QUEUED_TYPE {
        return parent.about.clone();
    }
    About {
        initiated_by: parent.about.initiated_by.clone(),
        tenant_id: parent.about.tenant_id.clone(),
        priority: parent.about.priority,
        visibility: parent.about.visibility,
        run_as_role: parent.about.run_as_role,
        document_id: document_of(input),
        ..About::default()
    }
}

/// Returns the event for a child run whose workflow id belongs to an open run.
pub(crate) fn already_started(initiated: u64, start: &StartRun) -> EventKind {
    let workflow_id = &start.workflow_id;
    let message = format!("A run of the workflow id '{workflow_id}' is under way.");
    refused(initiated, start, "WorkflowAlreadyStarted", message)
}

/// Returns the event for a child run that was not started.
pub(crate) fn refused(initiated_event_id: u64, start: &StartRun, kind: &str, message: String) -> EventKind {
    EventKind::StartChildWorkflowExecutionFailed {
        initiated_event_id,
        failure: Failure::permanent(kind, message).with_source(&start.workflow_type),
    }
}

impl Engine {
    /// Executes effects; a failed one stays in the outbox. Starts child runs first and one after another,
    /// because other effects may concern them and each start checks this run.
    pub(super) async fn perform(&self, tenant: &Tenant, state: &RunState, effects: &[Effect]) -> Vec<Done> {
        let (starts, others): (Vec<_>, Vec<_>) = effects
            .iter()
            .partition(|effect| matches!(effect, Effect::StartChild(_)));
        let mut done = Vec::new();
        for effect in starts {
            done.extend(self.try_to_perform(tenant, state, effect).await);
        }
        let started = |effect: &Effect| done.iter().any(|done| done.effect == *effect);
        let mut state = state.clone();
        state.outbox.retain(|effect| !started(effect));
        let others: Vec<BoxFuture<'_, _>> = others
            .into_iter()
            .map(|effect| Box::pin(self.try_to_perform(tenant, &state, effect)) as _)
            .collect();
        let others = stream::iter(others).buffered(EFFECTS_AT_ONCE);
        let others: Vec<_> = others.filter_map(ready).collect().await;
        done.extend(others);
        done
    }

    async fn try_to_perform(&self, tenant: &Tenant, state: &RunState, effect: &Effect) -> Option<Done> {
        match self.perform_one(tenant, state, effect).await {
            Ok(event) => Some(Done {
                effect: effect.clone(),
                event,
            }),
            Err(cause) => {
                warn!(
                    account = tenant.account(),
                    project = tenant.project(),
                    run_id = state.run_id,
                    ?effect,
                    %cause,
                    "what follows from a run is not done yet"
                );
                None
            }
        }
    }

    async fn perform_one(
        &self,
        tenant: &Tenant,
        state: &RunState,
        effect: &Effect,
    ) -> Result<Option<EventKind>> {
        match effect {
            Effect::StartChild(initiated) => self.start_child(tenant, state, *initiated).await.map(Some),
            Effect::CancelChild(child) => self.end_child(tenant, state, child, false).await,
            Effect::TerminateChild(child) => self.end_child(tenant, state, child, true).await,
            Effect::TellParent => {
                self.tell_parent(tenant, state).await?;
                Ok(None)
            }
        }
    }

    /// Cancels or terminates a child: only the run that this run started, or one that continues it.
    async fn end_child(
        &self,
        tenant: &Tenant,
        state: &RunState,
        child: &ChildName,
        terminates: bool,
    ) -> Result<Option<EventKind>> {
        for _ in 0..MAX_SUCCESSORS {
            let current = self
                .services
                .store
                .find_current(tenant, &child.workflow_id)
                .await?;
            let found = match &current {
                Some(run_id) => self.services.store.find(tenant, run_id).await?,
                None => None,
            };
            let is_ours = found
                .as_ref()
                .and_then(|run| run.parent.as_ref())
                .is_some_and(|parent| {
                    parent.run_id == state.run_id && parent.initiated_event_id == child.initiated
                });
            let Some(run) = found.filter(|_| is_ours) else {
                if state.outbox.contains(&Effect::StartChild(child.initiated)) {
                    return Err(platform::Error::unavailable("the child run is not started yet"));
                }
                return Ok(None);
            };
            if run.is_closed() && run.status != RunStatus::ContinuedAsNew {
                return Ok(None);
            }
            let ended = if terminates {
                let reason = "The run that started it has ended.";
                self.terminate(tenant, &run.run_id, Some(reason), PARENT).await
            } else {
                self.cancel(tenant, &run.run_id, None, PARENT).await
            };
            match ended {
                // Another run may continue it.
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                ended => return ended.map(|()| None),
            }
        }
        Err(platform::Error::unavailable(
            "a child run goes on as another again and again",
        ))
    }

    async fn start_child(&self, tenant: &Tenant, state: &RunState, initiated: u64) -> Result<EventKind> {
        let event = match state.tail.iter().find(|event| event.id == initiated) {
            Some(event) => Some(event.clone()),
            None => {
                self.services
                    .store
                    .event(tenant, &state.run_id, initiated)
                    .await?
            }
        };
        let mut kind = event.map(|event| event.kind);
        if let Some(input) = kind.as_mut().and_then(EventKind::payload_mut) {
            // The input may name the document of the child.
            self.fetch(input).await?;
        }
        let Some(start) = kind.and_then(|kind| start_of(state, initiated, &kind)) else {
            return Err(platform::Error::internal(format!(
                "event {initiated} asks for no child run"
            )));
        };
        if self.services.registry.is_unannounced(&start.workflow_type) {
            let why = format!(
                "Runs of the type '{}' are started by the service alone.",
                start.workflow_type
            );
            return Ok(refused(initiated, &start, ErrorKind::Forbidden.code(), why));
        }
        match self.start(tenant, &start).await {
            Ok(started) if started.is_new => Ok(EventKind::ChildWorkflowExecutionStarted {
                initiated_event_id: initiated,
            }),
            Ok(_) => Ok(already_started(initiated, &start)),
            Err(error) if error.is_transient() => Err(error),
            Err(error) => {
                let message = error.message().to_owned();
                Ok(refused(initiated, &start, error.kind().code(), message))
            }
        }
    }

    async fn tell_parent(&self, tenant: &Tenant, state: &RunState) -> Result<()> {
        let Some((parent, outcome)) = told(state) else {
            return Ok(());
        };
        let told = self.change(tenant, &parent.run_id, |draft| {
            note_end(draft, parent.initiated_event_id, &outcome);
            Ok(())
        });
        match told.await {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Returns the document that an input names, under the same rule as one that an event names.
pub fn document_of(input: &Payload) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Named {
        document_id: Option<String>,
    }
    let named: Named = serde_json::from_str(input.json()).ok()?;
    named.document_id.filter(|id| is_name(id))
}
