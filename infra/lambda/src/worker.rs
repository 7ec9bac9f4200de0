//! The function `worker`: reads the queue of tasks.

use std::sync::Arc;

use lambda_runtime::Error;
use platform::config::variables;
use runs::Services;
use runs::process::{Evaluator, Expressions};
use worker_function::handle;
use workflow::Registry;
use workflow::api::Api;
use workflow::wiring::Wiring;

use crate::{Function, queue};

/// Maximum number of concurrent child processes that evaluate expressions of processes.
const MAX_CHILDREN: usize = 2;

/// Runs the Lambda function with these workflow types until Lambda stops it.
pub async fn run(function: &Function, registry: Registry) -> Result<(), Error> {
    let deployment = &function.deployment;
    let evaluator = Evaluator::sandboxed(MAX_CHILDREN)?;
    let registry = runs::process::with_expressions(registry, Expressions::sandboxed(evaluator.clone()));
    let services = Services::from_deployment(deployment, Some(&function.aws.bedrock()), evaluator)?;
    let wiring = Wiring {
        api: Some(Arc::new(Api::from_deployment(deployment)?)),
        ..Wiring::from_deployment(deployment)?
    };
    let engine = wiring.engine(runs::with_activities(registry, &services))?;
    let queues = [
        variables::TASK_QUEUE,
        variables::HIGH_TASK_QUEUE,
        variables::LOW_TASK_QUEUE,
    ];
    let inbox = function.inbox(&queues)?;
    queue::receive(&inbox, &wiring.clock, async |batch| handle(&engine, batch).await).await
}
