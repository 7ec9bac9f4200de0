//! Runs the tasks of a definition, one after another.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use process::Data;
use process::definition::{Definition, Expression, Span, Task, Template, Then};
use process::expression::ExpressionFailure;
use process::flow::{self, Kind, Next, ProcessError, Stage};
use process::pattern::Steps;
use workflow::Context;
use workflow::future::{Either, select};

use super::compensation::Compensation;
use super::definitions::Origin;
use super::evaluation::Evaluations;
use super::event::event_of;
use super::fault::Fault;
use super::frame::{Frame, View, time};
use super::inbox::Inbox;
use super::shown::Shown;
use super::tasks;

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

/// Outcome of a list of tasks.
pub(super) enum Done {
    Output(Data),
    /// A task ended the process with this output.
    End(Data),
}

/// Outcome of a task.
pub(super) struct Outcome {
    pub output: Data,
    /// Next task, where the task itself decides that.
    pub then: Option<Then>,
    /// Whether a task inside it ended the process.
    pub ends: bool,
}

impl From<Data> for Outcome {
    fn from(output: Data) -> Self {
        Self {
            output,
            then: None,
            ends: false,
        }
    }
}

impl From<Done> for Outcome {
    fn from(done: Done) -> Self {
        let (output, ends) = match done {
            Done::Output(output) => (output, false),
            Done::End(output) => (output, true),
        };
        Self {
            output,
            then: None,
            ends,
        }
    }
}

/// Boxed, because tasks nest.
pub(super) type Running<'a, T> = Pin<Box<dyn Future<Output = Result<T, Fault>> + 'a>>;

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
            events: Inbox::new(context, super::EVENT, event_of),
            approvals: Inbox::new(context, super::APPROVE, |body| Some(body.clone())),
            comparisons: RefCell::new(Steps::new(COMPARISON_STEPS)),
            executed: Cell::new(0),
            unmatched: Cell::new(0),
            compensation: Compensation::default(),
            descriptor: OnceCell::new(),
        }
    }

    /// Runs the whole process and returns its output.
    pub async fn run(&self) -> Result<Data, Fault> {
        let frame = Frame::outer(self.context.clone());
        let Some(span) = &self.definition.timeout else {
            return self.tasks(frame).await;
        };
        let view = View::outer(&frame, "/timeout", &self.input);
        let limit = self.span(&view, &self.input, span).await?;
        within(self, &frame, limit, "/", |frame| self.tasks(frame)).await
    }

    async fn tasks(&self, frame: Frame) -> Result<Data, Fault> {
        let definition = &self.definition;
        let view = View::outer(&frame, "/input", &self.input);
        let mut value = self.input.clone();
        if let Some(schema) = &definition.input.schema {
            self.validate(&view, schema, &value).await?;
        }
        if let Some(template) = &definition.input.template {
            value = self.fill(&view, &value, template).await?;
        }
        let done = list(self, frame.clone(), &definition.tasks, value).await?;
        let (Done::Output(mut value) | Done::End(mut value)) = done;
        let view = View::outer(&frame, "/output", &self.input);
        if let Some(template) = &definition.output.template {
            value = self.fill(&view, &value, template).await?;
        }
        if let Some(schema) = &definition.output.schema {
            self.validate(&view, schema, &value).await?;
        }
        Ok(value)
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

    pub fn descriptor(&self) -> Data {
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

    /// Evaluates expressions in one round trip.
    pub async fn evaluate(
        &self,
        view: &View<'_>,
        dot: &Data,
        expressions: &[&Expression],
    ) -> Result<Vec<Data>, Fault> {
        let results = self.try_evaluate(view, dot, expressions).await?;
        results.map_err(|failure| no_result(&failure, view.pointer))
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
        let scope = view.scope(self, dot, expressions);
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

    /// Validates a value against a JSON Schema.
    pub async fn validate(&self, view: &View<'_>, schema: &Data, value: &Data) -> Result<(), Fault> {
        let context = &view.frame.context;
        let validated = self.evaluations.validate(context, schema, value).await;
        let validated = validated.map_err(|failure| Fault::from_failure(&failure, context, view.pointer))?;
        validated.map_err(|failure| no_result(&failure, view.pointer))
    }
}

pub(super) fn no_result(failure: &ExpressionFailure, pointer: &str) -> Fault {
    Fault::Error(Box::new(ProcessError::of_failure(failure, pointer)))
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

pub(super) fn list<'a>(
    process: &'a Process,
    frame: Frame,
    tasks: &'a [Task],
    input: Data,
) -> Running<'a, Done> {
    Box::pin(async move {
        let (mut next, mut value) = (flow::first(tasks), input);
        loop {
            let index = match next {
                Next::Done => return Ok(Done::Output(value)),
                Next::End => return Ok(Done::End(value)),
                Next::Task(index) => index,
            };
            let Some(current) = tasks.get(index) else {
                return Ok(Done::Output(value));
            };
            let outcome = task(process, &frame, current, value).await?;
            value = outcome.output;
            if outcome.ends {
                return Ok(Done::End(value));
            }
            next = flow::next(tasks, index, outcome.then.unwrap_or_default());
        }
    })
}

/// Runs a task; its outcome names the next task.
pub(super) fn task<'a>(
    process: &'a Process,
    frame: &Frame,
    task: &'a Task,
    input: Data,
) -> Running<'a, Outcome> {
    let frame = frame.clone();
    Box::pin(async move {
        if frame.context.is_canceled() {
            return Err(Fault::Canceled);
        }
        process.count(&task.pointer)?;
        let frame = frame.deeper(process, &task.pointer)?;
        let outcome = timed(process, &frame, task, input).await;
        process.shown.leave(frame.number);
        outcome
    })
}

/// Runs the task within its timeout.
async fn timed(process: &Process, frame: &Frame, task: &Task, input: Data) -> Result<Outcome, Fault> {
    let Some(span) = &task.timeout else {
        return staged(process, frame.clone(), task, input).await;
    };
    let limit = process
        .span(&View::new(frame, task, &input), &input, span)
        .await?;
    within(process, frame, limit, &task.pointer, |frame| {
        staged(process, frame, task, input)
    })
    .await
}

/// Passes the data through the stages of the task: input, work, output and export.
async fn staged(process: &Process, frame: Frame, task: &Task, raw: Data) -> Result<Outcome, Fault> {
    let mut view = View::new(&frame, task, &raw);
    let mut value = raw.clone();
    let mut then = task.then;
    let mut context = None;
    for stage in flow::stages(task) {
        match stage {
            Stage::CheckInput(schema) | Stage::CheckOutput(schema) => {
                process.validate(&view, schema, &value).await?;
            }
            Stage::ShapeInput(template) | Stage::ShapeOutput(template) => {
                value = process.fill(&view, &value, template).await?;
            }
            Stage::Work => {
                view.input = Some(value.clone());
                if let Some(condition) = &task.condition
                    && !process.holds(&view, &value, condition).await?
                {
                    return Ok(raw.into());
                }
                let is_replayed = frame.context.is_replaying();
                tracing::debug!(task = task.name, is_replayed, "a task of a process begins");
                let outcome = tasks::work(process, &view, &task.work, value).await?;
                if outcome.ends {
                    return Ok(outcome);
                }
                then = outcome.then.unwrap_or(then);
                value = outcome.output;
                view.raw_output = Some(value.clone());
            }
            Stage::Export(template) => {
                view.output = Some(value.clone());
                context = Some(process.fill(&view, &value, template).await?);
            }
            Stage::CheckContext(schema) => {
                let checked = context.clone().unwrap_or_else(|| process.shown.context());
                process.validate(&view, schema, &checked).await?;
            }
        }
    }
    if let Some(context) = context {
        process.shown.set_context(context);
    }
    Ok(Outcome {
        output: value,
        then: Some(then),
        ends: false,
    })
}

/// Cancels work that exceeds its time limit, with the error `timeout`.
pub(super) async fn within<T, W: Future<Output = Result<T, Fault>>>(
    process: &Process,
    frame: &Frame,
    limit: Duration,
    pointer: &str,
    work: impl FnOnce(Frame) -> W,
) -> Result<T, Fault> {
    let (scope, clock) = (frame.context.scope(), frame.context.scope());
    let work = Box::pin(work(frame.within(scope.clone())));
    // The timer starts once the work waits for something.
    let timer = Box::pin(async { clock.timer(limit).await });
    match select(work, timer).await {
        Either::Left((done, _)) => {
            clock.cancel();
            done
        }
        Either::Right((Ok(()), _)) => {
            scope.cancel();
            process.shown.leave_within(frame.number);
            let detail = format!("The work took longer than {} seconds.", limit.as_secs_f64());
            Err(Fault::error(Kind::Timeout, detail, pointer))
        }
        // The work ends too, once its handlers have run.
        Either::Right((Err(_), work)) => work.await,
    }
}

pub(super) fn variables<const N: usize>(named: [(&str, Data); N]) -> BTreeMap<String, Data> {
    named.map(|(name, value)| (name.to_owned(), value)).into()
}
