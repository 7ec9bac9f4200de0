//! Implements `fork`: runs its branches concurrently, each on the task's input.
//!
//! The output is the list of their outputs; with `compete` it is the output of the first branch to complete.
//! An error of a branch cancels the others; with `compete` the task fails only where every branch fails.

use process::Data;
use process::definition::Fork;
use workflow::future::select_all;

use crate::process::execution::{Process, bounded};
use crate::process::fault::Fault;
use crate::process::frame::View;
use crate::process::outcome::{Outcome, Running, Worked};

pub(super) async fn run(process: &Process, view: &View<'_>, fork: &Fork, input: Data) -> Worked {
    let group = view.frame.context.scope();
    let frame = view.frame.within(group.clone());
    let mut running: Vec<Running<'_, (usize, Outcome)>> = Vec::new();
    for (index, branch) in fork.branches.iter().enumerate() {
        let branch = process.run_task(&frame, branch, input.clone());
        running.push(Box::pin(async move { Ok((index, branch.await?)) }));
    }
    let mut outputs = vec![Data::null(); fork.branches.len()];
    let (mut error, mut is_canceled) = (None, false);
    while !running.is_empty() {
        let (done, _, others) = select_all(running).await;
        running = others;
        match done {
            Ok((_, outcome)) if outcome.ends || fork.compete => {
                group.cancel();
                return Ok(Outcome {
                    then: None,
                    ..outcome
                });
            }
            Ok((index, outcome)) => {
                if let Some(output) = outputs.get_mut(index) {
                    *output = outcome.output;
                }
            }
            Err(Fault::Error(failed)) if fork.compete => {
                error.get_or_insert(failed);
            }
            // The other branches end too, once their handlers have run.
            Err(Fault::Canceled) => is_canceled = true,
            Err(fault) => {
                group.cancel();
                return Err(fault);
            }
        }
    }
    if is_canceled {
        return Err(Fault::Canceled);
    }
    match error {
        Some(error) => Err(Fault::Error(error)),
        None => Ok(bounded(Data::list(&outputs), view.pointer)?.into()),
    }
}
