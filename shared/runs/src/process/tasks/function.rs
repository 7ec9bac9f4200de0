//! Implements `call` of a function of `use.functions`: a task shared by several places of the definition.

use process::Data;
use process::definition::FunctionCall;
use process::flow::Kind;

use crate::process::execution::Process;
use crate::process::fault::Fault;
use crate::process::frame::View;
use crate::process::outcome::{Outcome, Worked};

pub(super) async fn run(process: &Process, view: &View<'_>, call: &FunctionCall, input: Data) -> Worked {
    let Some(function) = process.definition.functions.get(&call.name) else {
        let detail = format!("There is no function '{}'.", call.name);
        return Err(Fault::error(Kind::Configuration, detail, view.pointer));
    };
    let input = match &call.with {
        Some(template) => process.fill(view, &input, template).await?,
        None => input,
    };
    let outcome = process.run_task(&view.frame.bare(), function, input).await?;
    Ok(Outcome {
        then: None,
        ..outcome
    })
}
