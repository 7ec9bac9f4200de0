//! `RefundOrder`: greets by name, after a pause. Replace this sentence, the code and its types by your own.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use workflow::{ActivityContext, ActivityType, Context, Failure, Registry, RetryPolicy, WorkflowType};

/// The workflow type.
pub const WORKFLOW_TYPE: WorkflowType<Input, Output> = WorkflowType::new("RefundOrder").queries(&["State"]);

/// Names of activities are global, so they begin with the name of the module.
const GREET: ActivityType<String, String> = ActivityType::new("refund_order_greet");

/// What a run begins with.
#[derive(Deserialize)]
pub struct Input {
    name: String,
}

/// What a run returns.
#[derive(Serialize)]
pub struct Output {
    greeting: String,
}

/// Adds the type and its activities to a registry.
pub fn add(registry: Registry) -> Registry {
    registry.workflow(WORKFLOW_TYPE, run).activity(GREET, greet)
}

async fn run(context: Context, input: Input) -> Result<Output, Failure> {
    context.answer("State", || "greeting");
    context.timer(Duration::from_secs(1)).await?;
    let greet = context.run(GREET, &input.name).retry(RetryPolicy::attempts(3));
    let greeting = greet.await?;
    Ok(Output { greeting })
}

async fn greet(_: ActivityContext, name: String) -> Result<String, Failure> {
    Ok(format!("Hello {name}!"))
}
