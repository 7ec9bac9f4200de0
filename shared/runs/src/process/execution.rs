//! Holds a process that is under way, and evaluates its expressions.

use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use events::listening::EVENT_SIGNAL;
use process::Data;
use process::definition::{Definition, Expression, Span, Template};
use process::expression::{ExpressionFailure, Scope};
use process::flow::{self, Kind, ProcessError};
use process::pattern::Steps;
use serde_json::json;
use workflow::Context;

use super::compensation::Compensation;
use super::definitions::Origin;
use super::evaluation::Evaluations;
use super::event::event_of;
use super::fault::Fault;
use super::frame::{View, time};
use super::inbox::Inbox;
use super::shown::Shown;
use super::workflow_type::APPROVE;

/// Maximum number of tasks that a process runs, including repetitions and rounds of loops: it stops an
/// endless process.
pub const MAX_EXECUTED: u32 = 10_000;

/// Steps of all comparisons of events with filters in one replay, which take about half a second. A replay
/// repeats the comparisons of the turns before it, in the same order, so that it has the same result.
const COMPARISON_STEPS: u64 = 50_000_000;

pub(super) struct Process {
    pub context: Context,
    pub definition: Arc<Definition>,
    /// None for a definition that names no secrets.
    pub origin: Option<Origin>,
    /// The input before `input.from`.
    pub input: Data,
    /// Whether tasks that act outside wait for an approval.
    pub is_supervised: bool,
    pub evaluations: Evaluations,
    pub shown: Shown,
    pub events: Inbox,
    pub approvals: Inbox,
    pub comparisons: RefCell<Steps>,
    executed: Cell<u32>,
    /// Number of events on which an expression failed.
    pub unmatched: Cell<u32>,
    pub compensation: Compensation,
    descriptor: OnceCell<Data>,
}

impl Process {
    pub fn new(
        context: &Context,
        (definition, origin): (Arc<Definition>, Option<Origin>),
        input: Data,
        is_supervised: bool,
        evaluations: Evaluations,
        shown: Shown,
    ) -> Self {
        Self {
            context: context.clone(),
            definition,
            origin,
            input,
            is_supervised,
            evaluations,
            shown,
            events: Inbox::new(context, EVENT_SIGNAL, event_of),
            approvals: Inbox::new(context, APPROVE, |body| Some(body.clone())),
            comparisons: RefCell::new(Steps::new(COMPARISON_STEPS)),
            executed: Cell::new(0),
            unmatched: Cell::new(0),
            compensation: Compensation::default(),
            descriptor: OnceCell::new(),
        }
    }

    /// Counts a task, or a round of a loop. Fails beyond [`MAX_EXECUTED`].
    pub fn count(&self, pointer: &str) -> Result<(), Fault> {
        let executed = self.executed.get() + 1;
        self.executed.set(executed);
        if executed > MAX_EXECUTED {
            let detail = format!(
                "The process has run {MAX_EXECUTED} tasks, repetitions included, and may run no more; end its loops earlier."
            );
            return Err(Fault::Final(Box::new(ProcessError::new(
                Kind::Runtime,
                detail,
                pointer,
            ))));
        }
        Ok(())
    }

    fn descriptor(&self) -> Data {
        let descriptor = self.descriptor.get_or_init(|| {
            Data::object([
                ("id", Data::text(&self.context.run_id())),
                ("definition", self.definition.source.clone()),
                ("input", self.input.clone()),
                ("startedAt", time(self.context.started_at())),
            ])
        });
        descriptor.clone()
    }

    /// Builds the scope for some expressions, with the data that they read and no more.
    pub fn scope(&self, view: &View<'_>, dot: &Data, expressions: &[&Expression]) -> Scope {
        let mut scope = Scope::new(dot.clone());
        for name in expressions.iter().flat_map(|expression| expression.variables()) {
            if scope.variables.contains_key(name) {
                continue;
            }
            let value = match name.as_str() {
                "context" => Some(self.shown.context()),
                "runtime" => Some(runtime()),
                "workflow" => Some(self.descriptor()),
                _ => view.variable(name),
            };
            if let Some(value) = value {
                scope.variables.insert(name.clone(), value);
            }
        }
        scope
    }

    pub async fn evaluate(
        &self,
        view: &View<'_>,
        dot: &Data,
        expressions: &[&Expression],
    ) -> Result<Vec<Data>, Fault> {
        let results = self.try_evaluate(view, dot, expressions).await?;
        results.map_err(|failure| Fault::no_result(&failure, view.pointer))
    }

    /// Evaluates expressions; a failed expression is not yet an error.
    pub async fn try_evaluate(
        &self,
        view: &View<'_>,
        dot: &Data,
        expressions: &[&Expression],
    ) -> Result<Result<Vec<Data>, ExpressionFailure>, Fault> {
        if let Some(secret) = expressions
            .iter()
            .find_map(|expression| expression.secrets().first())
        {
            let detail = format!(
                "The expression reads the secret '{secret}', and its result would be kept; only the parts of a call read secrets."
            );
            return Err(Fault::error(Kind::Authorization, detail, view.pointer));
        }
        let context = &view.frame.context;
        let scope = self.scope(view, dot, expressions);
        let results = self.evaluations.evaluate(context, expressions, &scope).await;
        results.map_err(|failure| Fault::from_failure(&failure, context, view.pointer))
    }

    pub async fn fill(&self, view: &View<'_>, dot: &Data, template: &Template) -> Result<Data, Fault> {
        let results = self.evaluate(view, dot, &template.expressions()).await?;
        bounded(template.filled(results), view.pointer)
    }

    pub async fn holds(&self, view: &View<'_>, dot: &Data, condition: &Expression) -> Result<bool, Fault> {
        let results = self.evaluate(view, dot, &[condition]).await?;
        Ok(results.first().is_some_and(is_true))
    }

    pub async fn span(&self, view: &View<'_>, dot: &Data, span: &Span) -> Result<Duration, Fault> {
        match span {
            Span::Fixed(duration) => Ok(*duration),
            Span::Computed(template) => {
                let value = self.fill(view, dot, template).await?;
                flow::duration(&value)
                    .map_err(|message| Fault::error(Kind::Expression, message, view.pointer))
            }
        }
    }

    pub async fn validate(&self, view: &View<'_>, schema: &Data, value: &Data) -> Result<(), Fault> {
        let context = &view.frame.context;
        let validated = self.evaluations.validate(context, schema, value).await;
        let validated = validated.map_err(|failure| Fault::from_failure(&failure, context, view.pointer))?;
        validated.map_err(|failure| Fault::no_result(&failure, view.pointer))
    }
}

fn runtime() -> Data {
    Data::from(json!({ "name": "Millrace", "version": env!("CARGO_PKG_VERSION"), "metadata": {} }))
}

/// Checks that combined data does not nest too deep.
pub(super) fn bounded(data: Data, pointer: &str) -> Result<Data, Fault> {
    let bounded = data.bounded();
    bounded.map_err(|error| {
        let detail = format!("The value cannot be kept: {error}.");
        Fault::error(Kind::Expression, detail, pointer)
    })
}

/// Returns whether the result of a condition counts as true, as in jq.
pub(super) fn is_true(result: &Data) -> bool {
    !matches!(result.get(), "false" | "null")
}
