//! Checks a template before it is stored: its content here, and a schema that may be expensive to check in a
//! sandbox.

use std::time::Duration;

use platform::{Error, Result, low_priority};
use sandbox::{Exceeded, Limits, Sandbox};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::check::{check, foreign_variable, unknown_variables};
use crate::records::prompts::PromptRecord;
use crate::schema::{self, Fault};

/// Argument that starts this program as a child.
const ARGUMENT: &str = "millrace-prompt-check";

/// Maximum size of a content that is checked at once, in bytes: a fraction of a millisecond.
const SHORT: usize = 4_096;

const LIMITS: Limits = Limits {
    processor: Duration::from_millis(200),
    memory_bytes: 192 * 1_024 * 1_024,
    patience: Duration::from_secs(10),
};

/// Becomes the child that checks schemas if this process was started as one. Call it first in `main`.
pub fn run_if_child() {
    sandbox::run_if_child(ARGUMENT, work);
}

/// Creates a sandbox for at most `max` concurrent checks. The program's `main` must begin with
/// [`run_if_child`].
pub fn sandbox(max: usize) -> Result<Sandbox> {
    Sandbox::new(ARGUMENT, LIMITS, max)
}

/// A schema to check, with the data that must satisfy it.
#[derive(Deserialize, Serialize)]
struct Task {
    schema: Value,
    data: Option<Value>,
}

/// Returns the fault as JSON; nothing where there is none.
fn work(task: &[u8]) -> Vec<u8> {
    let checked = match serde_json::from_slice::<Task>(task) {
        Ok(task) => schema::check(&task.schema, task.data.as_ref()),
        Err(error) => Err(Fault::new("inputSchema", format!("cannot be read: {error}."))),
    };
    let fault = checked.err().map(|fault| serde_json::to_vec(&fault));
    fault.and_then(Result::ok).unwrap_or_default()
}

/// Fails for a content that could never be rendered. Returns what its author should know.
fn check_content(prompt: &PromptRecord) -> Result<Vec<String>> {
    let template = check(prompt.content_type, &prompt.content)?;
    let schema = prompt.input_schema.as_ref();
    let variables = schema.map_or_else(Vec::new, |schema| unknown_variables(&template, schema));
    let foreign = foreign_variable(prompt.content_type, &prompt.content);
    Ok(foreign.into_iter().chain(variables).collect())
}

/// Checks templates. Skips the sandbox where the same schema and data passed just before.
pub struct Checker<'a> {
    sandbox: &'a Sandbox,
    account: &'a str,
    passed: Option<Vec<u8>>,
}

impl<'a> Checker<'a> {
    /// Checks templates of `account`.
    pub fn new(sandbox: &'a Sandbox, account: &'a str) -> Self {
        Self {
            sandbox,
            account,
            passed: None,
        }
    }

    /// Fails with 400 for a template that could never be rendered, whose test data does not satisfy its
    /// schema, or whose schema takes too long to check. Returns what its author should know.
    pub async fn check(&mut self, prompt: &PromptRecord) -> Result<Vec<String>> {
        let warnings = match prompt.content.len() > SHORT {
            true => {
                let prompt = prompt.clone();
                low_priority::run(self.account, async move { check_content(&prompt) }).await??
            }
            false => check_content(prompt)?,
        };
        if let Some(schema) = &prompt.input_schema {
            self.check_schema(schema, prompt.test_data.as_ref()).await?;
        }
        Ok(warnings)
    }

    async fn check_schema(&mut self, schema: &Value, data: Option<&Value>) -> Result<()> {
        if schema::is_cheap(schema, data) {
            return schema::check(schema, data).map_err(Fault::into);
        }
        let task = Task {
            schema: schema.clone(),
            data: data.cloned(),
        };
        let task = serde_json::to_vec(&task).map_err(Error::internal)?;
        if self.passed.as_ref() == Some(&task) {
            return Ok(());
        }
        match self.sandbox.run(self.account, &task).await? {
            Ok(fault) if fault.is_empty() => {
                self.passed = Some(task);
                Ok(())
            }
            Ok(fault) => {
                let fault: Fault = serde_json::from_slice(&fault).map_err(Error::internal)?;
                Err(fault.into())
            }
            Err(Exceeded) => Err(Error::invalid_field(
                "inputSchema",
                format!(
                    "takes more than {} ms of processor time or {} MB of memory to check, or refers to itself without end. Make it \
                     simpler.",
                    LIMITS.processor.as_millis(),
                    LIMITS.memory_bytes / 1_048_576
                ),
            )),
        }
    }
}
