//! Provides sample workflow types for the local runner and the emulator, besides those of the platform.
//!
//! A deployed stage does not have them. The emulator runs the programs of this crate (`sample-worker` and so
//! on) in place of the functions that need workflow types.

mod api_calls;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use platform::config::{ConfigError, Environment, variables};
use runs::document_processed::{PUBLISH, ProcessedDocument};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use workflow::future::{Either, select};
use workflow::{ActivityContext, ActivityType, Context, Failure, Registry, RetryPolicy, WorkflowType};

const STEPS: WorkflowType<Steps, Value> = WorkflowType::new("Steps");
const APPROVAL: WorkflowType<Approval, Value> = WorkflowType::new("Approval")
    .signals(&["Approve", "Note"])
    .queries(&["__state"]);
const PROCESS_DOCUMENT: WorkflowType<ProcessedDocument, Value> = WorkflowType::new("ProcessDocument");
const STEP: ActivityType<Step, ()> = ActivityType::new("step");

/// Returns the platform's types and the samples.
pub fn registry(environment: &Environment) -> Result<Registry, ConfigError> {
    let log = environment.optional(variables::STEP_LOG).map(PathBuf::from);
    let registry = api_calls::add(runs::registry())
        .workflow(STEPS, steps)
        .workflow(APPROVAL, approval)
        .workflow(PROCESS_DOCUMENT, process_document)
        .activity(STEP, move |context, input| step(context, input, log.clone()));
    match environment.optional(variables::FAULTY_SAMPLES) {
        None | Some("false") => Ok(registry),
        Some("true") => Ok(faulty(registry)),
        Some(other) => Err(ConfigError::new(format!(
            "The variable MILLRACE_FAULTY_SAMPLES is '{other}'. Set it to true or false."
        ))),
    }
}

#[derive(Clone, Deserialize)]
struct Steps {
    steps: u32,
    /// Duration of each activity, in milliseconds.
    #[serde(default)]
    pause_ms: u64,
    /// Number of failed attempts of each activity before one succeeds.
    #[serde(default)]
    failures: u32,
}

#[derive(Serialize, Deserialize)]
struct Step {
    step: u32,
    pause_ms: u64,
    failures: u32,
}

/// Runs one activity after another.
async fn steps(context: Context, input: Steps) -> Result<Value, Failure> {
    for step in 1..=input.steps {
        let call = Step {
            step,
            pause_ms: input.pause_ms,
            failures: input.failures,
        };
        let retry = RetryPolicy {
            initial_interval_ms: 200,
            ..RetryPolicy::default()
        };
        context.run(STEP, &call).retry(retry).await?;
    }
    Ok(json!({ "steps": input.steps }))
}

async fn step(context: ActivityContext, input: Step, log: Option<PathBuf>) -> Result<(), Failure> {
    if let Some(log) = log {
        let line = format!(
            "{} {} {}\n",
            context.workflow_id, context.activity_id, context.attempt
        );
        let added = OpenOptions::new().create(true).append(true).open(log);
        let added = added.and_then(|mut file| file.write_all(line.as_bytes()));
        added.map_err(|error| Failure::new("Log", error.to_string()))?;
    }
    if input.pause_ms > 0 {
        tokio::time::sleep(Duration::from_millis(input.pause_ms)).await;
    }
    if context.attempt <= input.failures {
        return Err(Failure::new(
            "Sample",
            format!("Attempt {} fails.", context.attempt),
        ));
    }
    Ok(())
}

/// Publishes that a document was processed, as a pipeline does at its end.
async fn process_document(context: Context, document: ProcessedDocument) -> Result<Value, Failure> {
    let event_id = context.run(PUBLISH, &document).await?;
    Ok(json!({ "event_id": event_id }))
}

#[derive(Deserialize)]
struct Approval {
    #[serde(default)]
    title: String,
    #[serde(default = "a_day")]
    timeout_seconds: u64,
}

fn a_day() -> u64 {
    24 * 3_600
}

#[derive(Deserialize)]
struct Decision {
    message: String,
}

/// Waits for the signal `Approve`, for a limited time; cleans up when cancelled. A `Note` stays in the
/// history for people to read.
async fn approval(context: Context, input: Approval) -> Result<Value, Failure> {
    let title = input.title.clone();
    context.expose(move || json!({ "title": title, "waits_for": "Approve" }));
    context.publish(
        "PROGRESS",
        "waiting for an approval",
        json!({ "title": input.title }),
    );
    let scope = context.scope();
    let signals = context.signals("Approve");
    let approved = signals.receive::<Decision>();
    let late = scope.timer(Duration::from_secs(input.timeout_seconds));
    let result = match select(approved, late).await {
        Either::Left((Ok(decision), _)) => {
            scope.cancel();
            Ok(json!({ "approved": true, "message": decision.message }))
        }
        Either::Right((Ok(()), _)) => Ok(json!({ "approved": false })),
        Either::Left((Err(failure), _)) | Either::Right((Err(failure), _)) => Err(failure),
    };
    if let Err(failure) = &result
        && failure.is_canceled()
    {
        let call = Step {
            step: 0,
            pause_ms: 0,
            failures: 0,
        };
        context.shielded().run(STEP, &call).await?;
        context.publish("PROGRESS", "put in order", Value::Null);
    }
    result
}

/// Adds types with faulty code, each with another fault.
fn faulty(registry: Registry) -> Registry {
    let turns = Arc::new(AtomicU32::new(0));
    registry
        .workflow("Panicking", |_: Context, (): ()| async {
            Ok(Vec::<u32>::new().remove(0))
        })
        .workflow("Spinning", |_: Context, (): ()| async {
            loop {
                std::hint::spin_loop();
            }
            #[expect(unreachable_code, reason = "it gives the code its type")]
            Ok(())
        })
        .workflow("Unsteady", move |context: Context, (): ()| {
            let turn = turns.fetch_add(1, Ordering::Relaxed);
            async move {
                let call = Step {
                    step: turn,
                    pause_ms: 600,
                    failures: 0,
                };
                if turn == 0 {
                    context.run(STEP, &call).await
                } else {
                    context.timer(Duration::from_secs(1)).await
                }
            }
        })
        .workflow("Large", |context: Context, (): ()| async move {
            context
                .activity::<String>("large", &())
                .await
                .map(|text| text.len())
        })
        .activity("large", |_, (): ()| async { Ok("x".repeat(3 * 1_024 * 1_024)) })
}
