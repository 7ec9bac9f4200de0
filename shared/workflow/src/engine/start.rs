//! Starts runs.

use events::action::RunAction;
use events::records::deliveries::DeliveryWrite;
use platform::races::{RacePolicy, Races};
use platform::records::Guard;
use platform::trace::TraceLink;
use platform::{Error, Result, Tenant, UtcTime, ids};

use super::Engine;
use super::delivery::link_of;
use super::write::WriteOutcome;
use crate::draft::Draft;
use crate::event::{EventKind, ParentRef, Started};
use crate::payload::{CLAIM_CHECK_BYTES, MAX_PAYLOAD_BYTES, Payload};
use crate::records::CurrentWrite;
use crate::registry::Registry;
use crate::started::MAX_PROGRAM_CHARACTERS;
use crate::state::{About, DeliveryLink, RunState};
use crate::store::Commit;

/// Behaviour of a start if a run with the workflow id has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdReuse {
    /// Starts another run.
    #[default]
    AfterEnd,
    /// Starts none: the work with this id is done once.
    Never,
}

#[derive(Clone, Debug)]
pub struct StartRun {
    pub workflow_type: String,
    /// At most one open run has it at a time.
    pub workflow_id: String,
    /// None for a new id.
    pub run_id: Option<String>,
    pub input: Payload,
    /// Program, for a type that interprets programs.
    pub program: Option<String>,
    pub about: About,
    pub parent: Option<ParentRef>,
    /// Whether the run may start after its parent has ended.
    pub outlives_parent: bool,
    pub timeout_ms: Option<u64>,
    pub id_reuse: IdReuse,
    /// Subscriptions that led to the run, the first one first.
    pub lineage: Vec<String>,
    /// Span that the run is started under; None for the current one.
    pub trace: Option<TraceLink>,
    /// The run id alone prevents a second start. The workflow id, which no unrelated run may use, gets no
    /// record until another run has it. Requires a run id.
    pub is_unnamed: bool,
    /// Delivery that the run carries out, written together with its start.
    pub delivery: Option<DeliveryWrite>,
    /// Delivery that the run carries out, if it is written already.
    pub written_delivery: Option<DeliveryLink>,
    /// Condition on another record; 503 if it does not hold.
    pub guard: Option<Guard>,
}

impl StartRun {
    pub fn new(workflow_type: &str, workflow_id: &str, input: Payload) -> Self {
        Self {
            workflow_type: workflow_type.to_owned(),
            workflow_id: workflow_id.to_owned(),
            run_id: None,
            input,
            program: None,
            about: About::default(),
            parent: None,
            outlives_parent: false,
            timeout_ms: None,
            id_reuse: IdReuse::default(),
            lineage: Vec::new(),
            trace: None,
            is_unnamed: false,
            delivery: None,
            written_delivery: None,
            guard: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartedRun {
    /// Run that owns the workflow id.
    pub run_id: String,
    /// True if this start made the run, or an earlier attempt with the same run id did; false if another run
    /// has the workflow id.
    pub is_new: bool,
}

impl Engine {
    /// Starts a run, or returns the open run with the same workflow id. 400 for an unknown type, an id that
    /// no path can hold, or an input that is too large.
    pub async fn start(&self, tenant: &Tenant, start: &StartRun) -> Result<StartedRun> {
        check(&self.services.registry, start)?;
        let run_id = start.run_id.clone().unwrap_or_else(|| self.new_id());
        // Most workflow ids are new, so the write is tried before any read. A large input is the exception:
        // it would stay in the bucket if no run started.
        let is_large = start.input.bytes() > CLAIM_CHECK_BYTES;
        let mut is_to_look = is_large && !start.is_unnamed;
        // If the caller chose the run id, another attempt may start that run and use the input.
        let is_ours_alone = is_large && start.run_id.is_none();
        let mut is_refused = false;
        let mut races = Races::new(&RacePolicy::RUN, "a workflow id");
        loop {
            let mut expected = None;
            if is_to_look {
                match self.before(tenant, start, &run_id).await? {
                    Before::Started(started) => {
                        if is_refused && is_ours_alone && started.run_id != run_id {
                            self.discard(tenant, &run_id, &start.input).await;
                        }
                        return Ok(started);
                    }
                    Before::Current(current) => expected = current,
                }
            }
            is_to_look = true;
            let now = self.services.clock.now();
            let mut draft = first_draft(tenant, &run_id, start, now);
            draft.state.is_unannounced = self.services.registry.is_unannounced(&start.workflow_type);
            draft.announce(RunAction::Started);
            let commit = Commit {
                runs: vec![draft],
                current: (!start.is_unnamed).then(|| CurrentWrite {
                    workflow_id: start.workflow_id.clone(),
                    run_id: run_id.clone(),
                    expected,
                }),
                parent: start
                    .parent
                    .as_ref()
                    .filter(|_| !start.outlives_parent)
                    .map(|parent| parent.run_id.clone()),
                delivery: start.delivery.clone(),
                guard: start.guard.clone(),
                ..Commit::default()
            };
            if let WriteOutcome::Done(states) = self.write(tenant, commit).await? {
                for state in &states {
                    self.hint_at(tenant, state, 0).await;
                }
                return Ok(StartedRun { run_id, is_new: true });
            }
            // The first refusal mostly means that a run is open, which the next read finds.
            if is_refused {
                self.lost(&mut races).await?;
            }
            is_refused = true;
        }
    }

    /// Returns what exists under the workflow id.
    async fn before(&self, tenant: &Tenant, start: &StartRun, run_id: &str) -> Result<Before> {
        let store = &self.services.store;
        if start.run_id.is_some() && store.find(tenant, run_id).await?.is_some() {
            // The run was started before. It may have ended since, or another run may continue it.
            return Ok(Before::Started(StartedRun {
                run_id: run_id.to_owned(),
                is_new: true,
            }));
        }
        let current = store.find_current(tenant, &start.workflow_id).await?;
        if let Some(current) = &current
            && let Some(state) = store.find(tenant, current).await?
        {
            let ours = state.run_id == run_id;
            if ours || !state.is_closed() || start.id_reuse == IdReuse::Never {
                return Ok(Before::Started(StartedRun {
                    run_id: state.run_id,
                    is_new: ours,
                }));
            }
        }
        self.check_parent(tenant, start).await?;
        Ok(Before::Current(current))
    }

    /// 409 if the parent has ended.
    async fn check_parent(&self, tenant: &Tenant, start: &StartRun) -> Result<()> {
        if let Some(parent) = start.parent.as_ref().filter(|_| !start.outlives_parent)
            && self.get(tenant, &parent.run_id).await?.is_closed()
        {
            return Err(Error::conflict("The run that starts this one has ended."));
        }
        Ok(())
    }
}

enum Before {
    /// Run to return to the caller.
    Started(StartedRun),
    /// Ended run that owns the workflow id, or None.
    Current(Option<String>),
}

pub(crate) fn first_draft(tenant: &Tenant, run_id: &str, start: &StartRun, now: UtcTime) -> Draft {
    let mut draft = Draft::new(RunState::new(tenant, run_id, start.about.clone()), now);
    draft.state.lineage.clone_from(&start.lineage);
    draft.state.trace = start.trace.clone().or_else(TraceLink::current);
    draft.state.is_unnamed = start.is_unnamed;
    draft.state.delivery = start.delivery.as_ref().map(link_of);
    if let Some(link) = &start.written_delivery {
        draft.state.delivery = Some(link.clone());
    }
    draft.append(EventKind::WorkflowExecutionStarted(Box::new(Started {
        workflow_type: start.workflow_type.clone(),
        workflow_id: start.workflow_id.clone(),
        run_id: run_id.to_owned(),
        input: start.input.clone(),
        initiated_by: start.about.initiated_by.clone(),
        parent: start.parent.clone(),
        continued_from: None,
        timeout_ms: start.timeout_ms,
        program: start.program.clone(),
    })));
    draft
}

/// Fails with 400 for a start that is never possible.
pub(crate) fn check(registry: &Registry, start: &StartRun) -> Result<()> {
    if registry.find_workflow(&start.workflow_type).is_none() {
        let known = registry.workflow_names();
        return Err(Error::invalid(format!(
            "There is no workflow type '{}'; there are {}.",
            start.workflow_type,
            known.join(", ")
        )));
    }
    if start.is_unnamed && start.run_id.is_none() {
        return Err(Error::internal("a run without a name has no run id"));
    }
    if !ids::is_workflow_id(&start.workflow_id) {
        return Err(Error::invalid(format!(
            "A workflow id has 1 to {} characters, without '#', '/' and control characters.",
            ids::MAX_ID_LENGTH
        )));
    }
    let program = start.program.as_deref().unwrap_or_default();
    if program.chars().count() > MAX_PROGRAM_CHARACTERS {
        return Err(Error::invalid(format!(
            "A reference to a program has at most {MAX_PROGRAM_CHARACTERS} characters."
        )));
    }
    if start.input.bytes() > MAX_PAYLOAD_BYTES {
        return Err(Error::new(
            platform::ErrorKind::PayloadTooLarge,
            format!("The input is larger than the {MAX_PAYLOAD_BYTES} bytes that a run takes."),
        ));
    }
    Ok(())
}
