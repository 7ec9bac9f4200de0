//! Implements `call` of a function of `use.functions`: a task shared by several places of the definition.

use process::Data;
use process::definition::FunctionCall;
use process::flow::Kind;

use super::Worked;
use crate::process::fault::Fault;
use crate::process::frame::View;
use crate::process::interpreter::{Outcome, Process, task};

pub(super) async fn run(process: &Process, view: &View<'_>, call: &FunctionCall, input: Data) -> Worked {
    let Some(function) = process.definition.functions.get(&call.name) else {
        let detail = format!("There is no function '{}'.", call.name);
        return Err(Fault::error(Kind::Configuration, detail, view.pointer));
    };
    let input = match &call.with {
        Some(template) => process.fill(view, &input, template).await?,
        None => input,
    };
    let outcome = task(process, &view.frame.bare(), function, input).await?;
    Ok(Outcome {
        then: None,
        ..outcome
    })
}
