//! Implements `run: workflow`: a child run executes another process.

use process::Data;
use process::definition::RunProcess;
use process::flow::Kind;
use serde_json::value::RawValue;
use workflow::{ParentClosePolicy, RetryPolicy};

use crate::process::definitions::{FIND, Named};
use crate::process::execution::Process;
use crate::process::fault::Fault;
use crate::process::frame::View;
use crate::process::outcome::Worked;
use crate::process::outside;
use crate::process::program::Program;
use crate::process::workflow_type::WORKFLOW_TYPE;

/// Attempts to find a definition.
const ATTEMPTS: u32 = 10;

pub(super) async fn run(process: &Process, view: &View<'_>, run: &RunProcess, input: Data) -> Worked {
    let context = &view.frame.context;
    let handed = match &run.input {
        Some(template) => process.fill(view, &input, template).await?,
        None => input.clone(),
    };
    let RunProcess {
        namespace,
        name,
        version,
        ..
    } = run;
    outside::permitted(process, view, &format!("runs the process '{namespace}/{name}'")).await?;
    let named = Named {
        namespace: namespace.clone(),
        name: name.clone(),
        version: version.clone(),
    };
    let found = context
        .run(FIND, &named)
        .retry(RetryPolicy::attempts(ATTEMPTS))
        .await;
    let found = found.map_err(|failure| Fault::from_failure(&failure, context, view.pointer))?;
    let Some(digest) = found else {
        let detail = format!("The project has no process '{namespace}/{name}' of version '{version}'.");
        return Err(Fault::error(Kind::Configuration, detail, view.pointer));
    };
    let program = Program {
        digest,
        is_supervised: process.is_supervised,
    };
    let handed = handed.as_raw().to_owned();
    let child = context
        .run_child(WORKFLOW_TYPE, &handed)
        .program(program.to_string());
    if !run.wait {
        drop(child.parent_close_policy(ParentClosePolicy::Abandon).start());
        return Ok(input.into());
    }
    let child = child.parent_close_policy(ParentClosePolicy::RequestCancel);
    let result: Box<RawValue> = child
        .await
        .map_err(|failure| Fault::from_failure(&failure, context, view.pointer))?;
    let output = match run.returns {
        true => Data::from_raw(result).unwrap_or_else(|_| Data::null()),
        false => Data::null(),
    };
    Ok(output.into())
}
