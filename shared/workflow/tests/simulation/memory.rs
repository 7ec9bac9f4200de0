//! Stores records in memory for the simulation. A write may fail, or succeed and report a failure.

use std::collections::BTreeMap;

use async_trait::async_trait;
use platform::queue::Priority;
use platform::{Error, Result, Tenant, UtcTime};
use serde_json::value::RawValue;
use workflow::draft::Draft;
use workflow::event::Event;
use workflow::records::{DueRun, UpdatesHead, UpdatesWrite};
use workflow::state::RunState;
use workflow::status::RunStatus;
use workflow::store::{Commit, Committed, Store};

use crate::invariants;
use crate::scenario::Mutant;
use crate::world::{Shared, World};

/// A stored run.
#[derive(Clone, Default)]
pub struct Kept {
    /// JSON.
    pub state: String,
    pub version: u64,
    /// Older events, which the state no longer holds.
    pub chunks: Vec<Event>,
    pub due_at: Option<UtcTime>,
    pub closed: bool,
}

#[derive(Default)]
pub struct Memory {
    pub runs: BTreeMap<String, Kept>,
    pub current: BTreeMap<String, String>,
    /// Envelopes of the platform's events, by event id.
    pub events: BTreeMap<String, String>,
    pub updates: BTreeMap<String, (UpdatesHead, Vec<String>)>,
    pub payloads: BTreeMap<String, String>,
}

impl Memory {
    pub fn state(&self, run_id: &str) -> Option<RunState> {
        self.runs
            .get(run_id)
            .map(|kept| serde_json::from_str(&kept.state).unwrap())
    }

    /// Returns all events of a run, from the chunks and the state.
    pub fn history(&self, run_id: &str) -> Vec<Event> {
        let mut events = self.runs[run_id].chunks.clone();
        events.extend(self.state(run_id).unwrap().tail);
        events
    }
}

impl World {
    /// Commits all or nothing, as the table does.
    fn commit(&mut self, commit: &Commit) -> Committed {
        let unconditional = self.mutant == Mutant::NoVersionCondition;
        for draft in &commit.runs {
            let version = self.memory.runs.get(&draft.state.run_id).map(|kept| kept.version);
            if version != draft.expected && !(unconditional && version.is_some() && draft.expected.is_some())
            {
                return Committed::Stale;
            }
        }
        if let Some(current) = &commit.current
            && self.memory.current.get(&current.workflow_id) != current.expected.as_ref()
        {
            return Committed::Taken;
        }
        if let Some(parent) = &commit.parent
            && self.memory.runs.get(parent).is_none_or(|kept| kept.closed)
        {
            return Committed::Taken;
        }
        if let Some(updates) = &commit.updates {
            let head = self
                .memory
                .updates
                .get(&updates.run_id)
                .map_or_else(UpdatesHead::default, |(head, _)| *head);
            if head != updates.expected {
                return Committed::Stale;
            }
        }
        if commit
            .events
            .iter()
            .any(|event| self.memory.events.contains_key(&event.id))
        {
            return Committed::Stale;
        }
        for draft in &commit.runs {
            self.put(draft);
        }
        if let Some(current) = &commit.current {
            self.memory
                .current
                .insert(current.workflow_id.clone(), current.run_id.clone());
        }
        for event in &commit.events {
            self.memory
                .events
                .insert(event.id.clone(), event.envelope.clone());
        }
        if let Some(updates) = &commit.updates {
            let (head, messages) = self.memory.updates.entry(updates.run_id.clone()).or_default();
            *head = updates.head;
            messages.extend(updates.records.iter().map(|record| record.messages.clone()));
        }
        Committed::Done
    }

    fn put(&mut self, draft: &Draft) {
        let run_id = &draft.state.run_id;
        let before = self.memory.runs.get(run_id).map(|_| self.memory.history(run_id));
        let mut state = draft.state.clone();
        if self.mutant == Mutant::NoOutbox {
            state.outbox.clear();
        }
        if self.mutant == Mutant::CompletionsNotDeduplicated
            && let Some(old) = self.memory.state(run_id)
        {
            for (scheduled, activity) in old.activities {
                state.activities.entry(scheduled).or_insert(activity);
            }
        }
        let due_at = draft
            .due_at()
            .filter(|_| self.mutant != Mutant::DueEntryForgotten);
        let kept = self.memory.runs.entry(run_id.clone()).or_default();
        kept.state = serde_json::to_string(&state).unwrap();
        kept.version = state.version;
        kept.chunks.extend(draft.chunks.iter().flatten().cloned());
        kept.due_at = due_at;
        kept.closed = state.is_closed();
        let after = self.memory.history(run_id);
        for event in after.iter().skip(before.as_ref().map_or(0, Vec::len)) {
            let line = format!(
                "{run_id} {} {}",
                event.id,
                serde_json::to_string(&event.kind).unwrap()
            );
            self.tell(line);
        }
        for violation in invariants::of_write(run_id, before.as_deref(), &after, &draft.state) {
            self.violation(violation);
        }
    }
}

#[async_trait]
impl Store for Shared {
    async fn find(&self, _: &Tenant, run_id: &str) -> Result<Option<RunState>> {
        self.travel("a read").await?;
        let world = self.lock();
        let mut state = world.memory.state(run_id);
        if let Some(state) = &mut state
            && world.mutant == Mutant::NoTerminalCheck
        {
            state.status = RunStatus::Running;
        }
        Ok(state)
    }

    async fn find_current(&self, _: &Tenant, workflow_id: &str) -> Result<Option<String>> {
        self.travel("a read").await?;
        Ok(self.lock().memory.current.get(workflow_id).cloned())
    }

    async fn history(&self, _: &Tenant, run_id: &str) -> Result<Vec<Event>> {
        self.travel("a read").await?;
        let world = self.lock();
        Ok(world
            .memory
            .runs
            .get(run_id)
            .map_or_else(Vec::new, |kept| kept.chunks.clone()))
    }

    async fn event(&self, tenant: &Tenant, run_id: &str, event: u64) -> Result<Option<Event>> {
        let history = self.history(tenant, run_id).await?;
        Ok(history.into_iter().find(|found| found.id == event))
    }

    async fn commit(&self, _: &Tenant, commit: &Commit) -> Result<Committed> {
        self.travel("a write").await?;
        let committed = {
            let mut world = self.lock();
            let committed = world.commit(commit);
            if committed != Committed::Done {
                world.faults.contended += 1;
            }
            if world.troubled && world.chance(4) {
                world.faults.ambiguous += 1;
                world.tell("the answer of a write is lost");
                return Err(Error::unavailable("simulated"));
            }
            committed
        };
        self.pause().await;
        Ok(committed)
    }

    async fn due(&self, by: UtcTime, _: bool) -> Result<Vec<DueRun>> {
        self.travel("a read").await?;
        let world = self.lock();
        let due = world.memory.runs.iter().filter_map(|(run_id, kept)| {
            Some(DueRun {
                tenant: Tenant::new("acme", "demo").unwrap(),
                run_id: run_id.clone(),
                due_at: kept.due_at.filter(|at| *at <= by)?,
                priority: Priority::Normal,
            })
        });
        Ok(due.collect())
    }

    async fn updates_head(&self, _: &Tenant, run_id: &str) -> Result<UpdatesHead> {
        self.travel("a read").await?;
        let world = self.lock();
        Ok(world
            .memory
            .updates
            .get(run_id)
            .map_or_else(UpdatesHead::default, |(head, _)| *head))
    }

    async fn has_updates(&self, _: &Tenant, updates: &UpdatesWrite) -> Result<bool> {
        self.travel("a read").await?;
        let world = self.lock();
        let stored = world.memory.updates.get(&updates.run_id);
        let has = |messages| stored.is_some_and(|(_, stored)| stored.contains(messages));
        Ok(updates.records.iter().all(|record| has(&record.messages)))
    }

    async fn put_payload(&self, key: &str, json: &str) -> Result<()> {
        self.travel("a write").await?;
        self.lock()
            .memory
            .payloads
            .insert(key.to_owned(), json.to_owned());
        Ok(())
    }

    async fn find_payload(&self, key: &str) -> Result<Option<Box<RawValue>>> {
        self.travel("a read").await?;
        let found = self.lock().memory.payloads.get(key).cloned();
        Ok(found.map(|json| RawValue::from_string(json).unwrap()))
    }
}
