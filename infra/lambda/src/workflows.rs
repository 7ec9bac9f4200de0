//! The function `workflows`: the endpoints of workflow runs.

use lambda_http::Error;
use runs::process::{Evaluator, Expressions};
use workflow::Registry;
use workflow::wiring::Wiring;
use workflows_function::{Workflows, routes};

use crate::Function;
use crate::http::serve;

/// Runs the function with these workflow types until Lambda ends it.
pub async fn run(function: &Function, registry: Registry) -> Result<(), Error> {
    let platform = crate::platform(&function.deployment)?;
    // A query replays its run. A Lambda instance handles one request at a time.
    let expressions = Expressions::sandboxed(Evaluator::sandboxed(1)?);
    let registry = runs::process::with_expressions(registry, expressions);
    let engine = Wiring::from_deployment(&function.deployment)?.engine(registry)?;
    let workflows = Workflows::from_deployment(&function.deployment, engine)?;
    serve(&platform, routes(platform.clone(), workflows)).await
}
