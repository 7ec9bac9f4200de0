//! Runs the tasks of a definition, one after another.

use std::future::Future;
use std::time::Duration;

use process::Data;
use process::definition::Task;
use process::flow::{self, Kind, Next, Stage};
use workflow::future::{Either, select};

use super::execution::Process;
use super::fault::Fault;
use super::frame::{Frame, View};
use super::outcome::{Done, Outcome, Running};
use super::tasks;

impl Process {
    /// Runs the whole process and returns its output.
    pub async fn run(&self) -> Result<Data, Fault> {
        let frame = Frame::outer(self.context.clone());
        let Some(span) = &self.definition.timeout else {
            return self.tasks(frame).await;
        };
        let view = View::outer(&frame, "/timeout", &self.input);
        let limit = self.span(&view, &self.input, span).await?;
        self.within(&frame, limit, "/", |frame| self.tasks(frame)).await
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
        let done = self.run_list(frame.clone(), &definition.tasks, value).await?;
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

    pub fn run_list<'a>(&'a self, frame: Frame, tasks: &'a [Task], input: Data) -> Running<'a, Done> {
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
                let outcome = self.run_task(&frame, current, value).await?;
                value = outcome.output;
                if outcome.ends {
                    return Ok(Done::End(value));
                }
                next = flow::next(tasks, index, outcome.then.unwrap_or_default());
            }
        })
    }

    /// Runs a task; its outcome names the next task.
    pub fn run_task<'a>(&'a self, frame: &Frame, task: &'a Task, input: Data) -> Running<'a, Outcome> {
        let frame = frame.clone();
        Box::pin(async move {
            if frame.context.is_canceled() {
                return Err(Fault::Canceled);
            }
            self.count(&task.pointer)?;
            let frame = frame.deeper(&self.shown, &task.pointer)?;
            let outcome = self.timed(&frame, task, input).await;
            self.shown.leave(frame.number);
            outcome
        })
    }

    async fn timed(&self, frame: &Frame, task: &Task, input: Data) -> Result<Outcome, Fault> {
        let Some(span) = &task.timeout else {
            return self.staged(frame.clone(), task, input).await;
        };
        let limit = self.span(&View::new(frame, task, &input), &input, span).await?;
        self.within(frame, limit, &task.pointer, |frame| {
            self.staged(frame, task, input)
        })
        .await
    }

    /// Passes the data through the stages of the task: input, work, output and export.
    async fn staged(&self, frame: Frame, task: &Task, raw: Data) -> Result<Outcome, Fault> {
        let mut view = View::new(&frame, task, &raw);
        let mut value = raw.clone();
        let mut then = task.then;
        let mut context = None;
        for stage in flow::stages(task) {
            match stage {
                Stage::CheckInput(schema) | Stage::CheckOutput(schema) => {
                    self.validate(&view, schema, &value).await?;
                }
                Stage::ShapeInput(template) | Stage::ShapeOutput(template) => {
                    value = self.fill(&view, &value, template).await?;
                }
                Stage::Work => {
                    view.input = Some(value.clone());
                    if let Some(condition) = &task.condition
                        && !self.holds(&view, &value, condition).await?
                    {
                        return Ok(raw.into());
                    }
                    let is_replayed = frame.context.is_replaying();
                    tracing::debug!(task = task.name, is_replayed, "a task of a process begins");
                    let outcome = tasks::work(self, &view, &task.work, value).await?;
                    if outcome.ends {
                        return Ok(outcome);
                    }
                    then = outcome.then.unwrap_or(then);
                    value = outcome.output;
                    view.raw_output = Some(value.clone());
                }
                Stage::Export(template) => {
                    view.output = Some(value.clone());
                    context = Some(self.fill(&view, &value, template).await?);
                }
                Stage::CheckContext(schema) => {
                    let checked = context.clone().unwrap_or_else(|| self.shown.context());
                    self.validate(&view, schema, &checked).await?;
                }
            }
        }
        if let Some(context) = context {
            self.shown.set_context(context);
        }
        Ok(Outcome {
            output: value,
            then: Some(then),
            ends: false,
        })
    }

    /// Cancels work that exceeds its time limit, with the error `timeout`.
    pub async fn within<T, W: Future<Output = Result<T, Fault>>>(
        &self,
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
                self.shown.leave_within(frame.number);
                let detail = format!("The work took longer than {} seconds.", limit.as_secs_f64());
                Err(Fault::error(Kind::Timeout, detail, pointer))
            }
            // The work ends too, once its handlers have run.
            Either::Right((Err(_), work)) => work.await,
        }
    }
}
