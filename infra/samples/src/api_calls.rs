//! Defines a sample that calls the platform's API with the role of its run.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use workflow::api::Call;
use workflow::{ActivityContext, ActivityType, Context, Failure, Registry, RetryPolicy, WorkflowType};

const API_CALLS: WorkflowType<Input, Vec<Value>> = WorkflowType::new("ApiCalls");
const API_CALL: ActivityType<ApiCall, Value> = ActivityType::new("api_call");

/// Adds the workflow type and its activity.
pub fn add(registry: Registry) -> Registry {
    registry
        .workflow(API_CALLS, api_calls)
        .activity(API_CALL, api_call)
}

/// Input from an operator, or from a subscription.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum Input {
    Given(ApiCalls),
    FromSubscription { vars: ApiCalls },
}

#[derive(Clone, Serialize, Deserialize)]
struct ApiCalls {
    calls: Vec<ApiCall>,
    /// True if a child run makes the calls.
    #[serde(default)]
    by_child: bool,
}

#[derive(Clone, Serialize, Deserialize)]
struct ApiCall {
    method: String,
    /// Path segments below the API's root.
    path: Vec<String>,
    body: Option<Value>,
}

/// Makes one call after another. The result has an entry per call: the body of the answer as `ok`, or the
/// failure as `failure`.
async fn api_calls(context: Context, input: Input) -> Result<Vec<Value>, Failure> {
    let (Input::Given(input) | Input::FromSubscription { vars: input }) = input;
    if input.by_child {
        let calls = ApiCalls {
            by_child: false,
            ..input
        };
        return context.child(API_CALLS.name(), &calls).await;
    }
    let mut results = Vec::new();
    for call in &input.calls {
        let retry = RetryPolicy {
            maximum_attempts: 3,
            ..RetryPolicy::default()
        };
        let result = match context.run(API_CALL, call).retry(retry).await {
            Ok(body) => json!({ "ok": body }),
            Err(failure) => json!({ "failure": { "type": failure.kind, "message": failure.message } }),
        };
        results.push(result);
    }
    Ok(results)
}

async fn api_call(context: ActivityContext, input: ApiCall) -> Result<Value, Failure> {
    let method = input
        .method
        .parse()
        .map_err(|_| Failure::permanent("Method", "It is not a method of HTTP."))?;
    let call = Call::new(method, input.path);
    let call = match input.body {
        Some(body) => call.with_body(body),
        None => call,
    };
    context.call(&call).await
}
