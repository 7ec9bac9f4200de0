//! Implements `switch`: the first case whose condition is true names the next task.

use process::Data;
use process::definition::{Case, Expression, Then};

use crate::process::execution::{Process, is_true};
use crate::process::fault::Fault;
use crate::process::frame::View;
use crate::process::outcome::{Outcome, Worked};

pub(super) async fn run(process: &Process, view: &View<'_>, cases: &[Case], input: Data) -> Worked {
    let then = chosen(process, view, cases, &input).await?;
    let default = cases
        .iter()
        .find(|case| case.when.is_none())
        .map(|case| case.then);
    Ok(Outcome {
        then: then.or(default),
        ..input.into()
    })
}

/// Returns the target of the first case whose condition is true.
async fn chosen(
    process: &Process,
    view: &View<'_>,
    cases: &[Case],
    input: &Data,
) -> Result<Option<Then>, Fault> {
    let conditional: Vec<(&Expression, Then)> = cases
        .iter()
        .filter_map(|case| Some((case.when.as_ref()?, case.then)))
        .collect();
    let all: Vec<&Expression> = conditional.iter().map(|(when, _)| *when).collect();
    if let Ok(results) = process.try_evaluate(view, input, &all).await? {
        let mut holding = results
            .iter()
            .zip(&conditional)
            .filter(|(result, _)| is_true(result));
        return Ok(holding.next().map(|(_, (_, then))| *then));
    }
    // Conditions after the first true one are not evaluated, so their errors do not count.
    for (when, then) in conditional {
        if process.holds(view, input, when).await? {
            return Ok(Some(then));
        }
    }
    Ok(None)
}
