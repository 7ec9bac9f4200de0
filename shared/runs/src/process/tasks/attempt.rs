//! Implements `try`: runs its tasks; where an error is caught, retries them or runs the tasks of `catch`.

use std::time::Duration;

use process::Data;
use process::definition::{Catch, Retry, Template, Try};
use process::flow::{self, Kind, ProcessError, catches};
use serde_json::json;

use crate::process::execution::Process;
use crate::process::fault::Fault;
use crate::process::frame::View;
use crate::process::outcome::{Done, Worked};

pub(super) async fn run(process: &Process, view: &View<'_>, attempt: &Try, input: Data) -> Worked {
    let catch = &attempt.catch;
    let context = &view.frame.context;
    let began_at = context.now();
    let elapsed = || Duration::from_millis(context.now().millis_since(began_at));
    let limits = Limits::evaluate(process, view, catch, &input).await?;
    let mut retries = 0;
    loop {
        let tried = match limits.of_attempt(elapsed()) {
            None => {
                process
                    .run_list(view.frame.clone(), &attempt.tasks, input.clone())
                    .await
            }
            Some(limit) => {
                process
                    .within(view.frame, limit, view.pointer, |frame| {
                        process.run_list(frame, &attempt.tasks, input.clone())
                    })
                    .await
            }
        };
        let error = match tried {
            Err(Fault::Error(error)) => error,
            Err(Fault::Canceled) => return Err(canceled(process, view, catch, &input).await),
            other => return Ok(other?.into()),
        };
        let frame = view.frame.with([(catch.variable.as_str(), error.to_data())]);
        let caught = view.in_frame(&frame);
        if !is_caught(process, &caught, catch, &error, &input).await? {
            return Err(Fault::Error(error));
        }
        if let Some(retry) = &catch.retry
            && let Some(pause) = pause(process, &caught, retry, retries, &input).await?
            && limits
                .total
                .is_none_or(|total| elapsed().saturating_add(pause) < total)
        {
            retries += 1;
            match context.timer(pause).await {
                Ok(()) => continue,
                Err(failure) => match Fault::from_failure(&failure, context, view.pointer) {
                    Fault::Canceled => return Err(canceled(process, view, catch, &input).await),
                    fault => return Err(fault),
                },
            }
        }
        return match &catch.tasks {
            Some(tasks) => Ok(process.run_list(frame, tasks, input).await?.into()),
            None if catch.retry.is_some() => Err(Fault::Error(error)),
            None => Ok(Done::Output(input).into()),
        };
    }
}

/// Runs the tasks of `catch` where the run is cancelled, so that they undo what was done, and returns the
/// cancellation: it ends the tasks around the `try` too, and their handlers run after this one.
async fn canceled(process: &Process, view: &View<'_>, catch: &Catch, input: &Data) -> Fault {
    let Some(tasks) = &catch.tasks else {
        return Fault::Canceled;
    };
    let Some(left) = process.compensation.time_left(&process.context) else {
        return Fault::Canceled;
    };
    let error = ProcessError::new(Kind::Canceled, "The run is cancelled.", view.pointer);
    let shielded = view.frame.within(process.context.shielded());
    let frame = shielded.with([(catch.variable.as_str(), error.to_data())]);
    let compensated = process.within(&frame, left, view.pointer, |frame| async move {
        let caught = view.in_frame(&frame);
        if is_caught(process, &caught, catch, &error, input).await? {
            process.run_list(frame.clone(), tasks, input.clone()).await?;
        }
        Ok(())
    });
    if let Err(Fault::Error(error) | Fault::Final(error)) = compensated.await {
        let detail = error.detail.as_deref().unwrap_or_default();
        let text = format!(
            "The handler of the cancellation at '{}' fails: {detail}",
            view.pointer
        );
        let details = json!({ "task": view.pointer });
        process.context.publish("WARNING", &text, details);
    }
    Fault::Canceled
}

/// Time limits of a retry policy.
struct Limits {
    attempt: Option<Duration>,
    total: Option<Duration>,
}

impl Limits {
    async fn evaluate(
        process: &Process,
        view: &View<'_>,
        catch: &Catch,
        input: &Data,
    ) -> Result<Self, Fault> {
        let mut limits = Self {
            attempt: None,
            total: None,
        };
        if let Some(retry) = &catch.retry {
            if let Some(span) = &retry.limits.attempt {
                limits.attempt = Some(process.span(view, input, span).await?);
            }
            if let Some(span) = &retry.limits.total {
                limits.total = Some(process.span(view, input, span).await?);
            }
        }
        Ok(limits)
    }

    /// Returns the time limit of the next attempt.
    fn of_attempt(&self, elapsed: Duration) -> Option<Duration> {
        let left = self.total.map(|total| total.saturating_sub(elapsed));
        self.attempt.into_iter().chain(left).min()
    }
}

async fn is_caught(
    process: &Process,
    view: &View<'_>,
    catch: &Catch,
    error: &ProcessError,
    input: &Data,
) -> Result<bool, Fault> {
    let with = Template::Object(catch.errors.with.clone());
    let with = process.fill(view, input, &with).await?;
    if !catches(&with, error) {
        return Ok(false);
    }
    if let Some(when) = &catch.when
        && !process.holds(view, input, when).await?
    {
        return Ok(false);
    }
    match &catch.except_when {
        Some(except) => Ok(!process.holds(view, input, except).await?),
        None => Ok(true),
    }
}

/// Returns the pause before the next retry; None where there is no further retry.
async fn pause(
    process: &Process,
    view: &View<'_>,
    retry: &Retry,
    retries: u32,
    input: &Data,
) -> Result<Option<Duration>, Fault> {
    if retry.limits.count.is_some_and(|count| retries >= count) {
        return Ok(None);
    }
    if let Some(when) = &retry.when
        && !process.holds(view, input, when).await?
    {
        return Ok(None);
    }
    if let Some(except) = &retry.except_when
        && process.holds(view, input, except).await?
    {
        return Ok(None);
    }
    let delay = match &retry.delay {
        None => Duration::ZERO,
        Some(span) => process.span(view, input, span).await?,
    };
    let (jitter, chance) = match &retry.jitter {
        None => (None, 0.0),
        Some((from, to)) => {
            let from = process.span(view, input, from).await?;
            let to = process.span(view, input, to).await?;
            (Some((from, to)), fraction(&view.frame.context.new_id()))
        }
    };
    Ok(Some(flow::delay(
        delay,
        retry.backoff,
        jitter,
        retries + 1,
        chance,
    )))
}

/// Returns a number from 0 to 1 from the last digits of an id: they are random, and the same in each replay.
fn fraction(id: &str) -> f64 {
    /// Hexadecimal digits that a `f64` holds exactly.
    const DIGITS: usize = 12;
    let digits = id.len().checked_sub(DIGITS).and_then(|start| id.get(start..));
    let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    number.unwrap_or_default() as f64 / ((1_u64 << (4 * DIGITS)) - 1) as f64
}
