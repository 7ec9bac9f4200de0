//! Executes `Process`: a definition of the CNCF Serverless Workflow DSL 1.0.
//!
//! The run's program names the definition, its input is the input of the process, and its result the output.
//! Expressions are evaluated within the turns, in child processes; whatever acts outside is an activity or a
//! child run. An error of the process becomes the run's failure, with the error object of the DSL in its
//! details.

mod call;
mod compensation;
mod definitions;
mod evaluation;
mod event;
mod execution;
mod fault;
mod frame;
mod inbox;
mod interpreter;
mod listening;
mod outcome;
mod outside;
mod program;
mod services;
mod shown;
mod tasks;
mod workflow_type;

use process::Data;
use process::flow::{Kind, ProcessError};
use serde_json::json;
use serde_json::value::RawValue;
use workflow::{Context, Failure, Registry, RetryPolicy};

use self::call::http::HTTP_CALL;
use self::call::openapi::OPENAPI_CALL;
use self::definitions::{FIND, LOAD};
use self::evaluation::Evaluations;
use self::event::EMIT;
use self::execution::Process;
use self::fault::Fault;
use self::listening::{LISTEN, UNLISTEN};
use self::shown::Shown;

pub use ::process::expression::{Evaluator, run_if_child};
pub use definitions::{Loaded, Named};
pub use evaluation::Expressions;
pub use event::Emitted;
pub use execution::MAX_EXECUTED;
pub use listening::Wanted;
pub use program::Program;
pub use services::{Definitions, ProcessServices};
pub use workflow_type::{APPROVE, WORKFLOW_TYPE};

/// Maximum length of a number that a message quotes, in characters.
const MAX_QUOTED: usize = 24;

/// Adds the type to a registry. Its runs make no turns before [`with_expressions`] is called.
pub fn add(registry: Registry) -> Registry {
    with_expressions(registry, Expressions::none())
}

/// Lets the runs of the type make turns and evaluate expressions.
pub fn with_expressions(registry: Registry, expressions: Expressions) -> Registry {
    let registry = registry.without_workflow(WORKFLOW_TYPE.name());
    registry.workflow(WORKFLOW_TYPE, move |context, input| {
        run(context, input, expressions.clone())
    })
}

pub fn with_activities(registry: Registry, services: &ProcessServices) -> Registry {
    let [load, find, http, openapi, emit, listen, unlisten] = std::array::from_fn(|_| services.clone());
    registry
        .activity(LOAD, move |context, digest| {
            definitions::load(load.clone(), context, digest)
        })
        .activity(FIND, move |context, named| {
            definitions::find(find.clone(), context, named)
        })
        .activity(HTTP_CALL, move |context, input| {
            call::http::activity(http.clone(), context, input)
        })
        .activity(OPENAPI_CALL, move |context, input| {
            call::openapi::activity(openapi.clone(), context, input)
        })
        .activity(LISTEN, move |context, wanted| {
            listening::listen(listen.clone(), context, wanted)
        })
        .activity(UNLISTEN, move |context, listener_id| {
            listening::unlisten(unlisten.clone(), context, listener_id)
        })
        .activity(EMIT, move |context, emitted| {
            event::emit(emit.clone(), context, emitted)
        })
}

async fn run(
    context: Context,
    input: Box<RawValue>,
    expressions: Expressions,
) -> Result<Box<RawValue>, Failure> {
    let output = executed(&context, input, expressions).await;
    output
        .map(|output| output.as_raw().to_owned())
        .map_err(Fault::into_failure)
}

async fn executed(context: &Context, input: Box<RawValue>, expressions: Expressions) -> Result<Data, Fault> {
    let wrong = |kind: Kind, detail: String| Fault::Final(Box::new(ProcessError::new(kind, detail, "/")));
    let input = Data::from_raw(input)
        .map_err(|error| wrong(Kind::Validation, format!("The input is refused: {error}.")))?;
    // `$context` starts with the input of the process.
    let begins_with = match input.is_object() {
        true => input.clone(),
        false => Data::from(json!({})),
    };
    let shown = Shown::expose(context, begins_with);
    let program = context.program().and_then(|program| Program::parse(&program));
    let program = program.ok_or_else(|| {
        let detail = "The run names no definition; start it through a subscription with a process target.";
        wrong(Kind::Configuration, detail.to_owned())
    })?;
    let load = context.run(LOAD, &program.digest).retry(RetryPolicy::default());
    let loaded = load
        .await
        .map_err(|failure| Fault::from_failure(&failure, context, "/"))?;
    let text = loaded.text.ok_or_else(|| {
        let detail = format!("The definition sha256:{} is not stored.", program.digest);
        wrong(Kind::Configuration, detail)
    })?;
    let definition = definitions::compiled(&program.digest, &text)
        .map_err(|message| wrong(Kind::Configuration, message))?;
    let process = Process::new(
        context,
        (definition, loaded.origin),
        input,
        program.is_supervised,
        Evaluations::new(expressions, loaded.account),
        shown,
    );
    let output = process.run().await?;
    match output.number_beyond_double() {
        None => Ok(output),
        Some(number) => {
            let number: String = number.chars().take(MAX_QUOTED).collect();
            let detail =
                format!("The output has a number that no double holds, {number}; send it as a text.");
            Err(wrong(Kind::Expression, detail))
        }
    }
}
