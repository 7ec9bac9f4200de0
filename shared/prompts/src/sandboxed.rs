//! Checks a template's content and schema in a sandbox, because they are untrusted and can be expensive to
//! check.

use std::time::Duration;

use platform::records::prompts::{ContentType, PromptRecord};
use platform::{Error, Result};
use sandbox::{Exceeded, Limits, Sandbox};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::check::check;
use crate::schema;

/// Argument that starts this program as a child.
const ARGUMENT: &str = "millrace-prompt-check";

const LIMITS: Limits = Limits {
    processor: Duration::from_millis(200),
    memory_bytes: 192 * 1_024 * 1_024,
    patience: Duration::from_secs(10),
};

/// Becomes the child that checks templates if this process was started as one. Call it first in `main`.
pub fn run_if_child() {
    sandbox::run_if_child(ARGUMENT, work);
}

/// Creates a sandbox for at most `max` concurrent checks. The program's `main` must begin with
/// [`run_if_child`].
pub fn sandbox(max: usize) -> Result<Sandbox> {
    Sandbox::new(ARGUMENT, LIMITS, max)
}

/// Parts of a template to check.
#[derive(Deserialize, Serialize)]
struct Task {
    content_type: ContentType,
    content: String,
    schema: Option<Value>,
    data: Option<Value>,
}

/// Returns the fault of a template as a sentence; empty where there is none.
fn work(task: &[u8]) -> Vec<u8> {
    let checked = match serde_json::from_slice(task) {
        Ok(task) => check_task(&task),
        Err(error) => Err(format!("The template cannot be read: {error}.")),
    };
    checked.err().unwrap_or_default().into_bytes()
}

fn check_task(task: &Task) -> Result<(), String> {
    check(task.content_type, &task.content)?;
    match &task.schema {
        Some(schema) => schema::check(schema, task.data.as_ref()),
        None => Ok(()),
    }
}

/// Checks templates. Skips a check where the same parts passed just before.
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
    /// schema, or whose check takes too long.
    pub async fn check(&mut self, prompt: &PromptRecord) -> Result<()> {
        if prompt.content_type == ContentType::Text && prompt.input_schema.is_none() {
            return Ok(());
        }
        let task = Task {
            content_type: prompt.content_type,
            content: prompt.content.clone(),
            schema: prompt.input_schema.clone(),
            data: prompt.test_data.clone(),
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
            Ok(fault) => Err(Error::invalid(String::from_utf8_lossy(&fault))),
            Err(Exceeded) => Err(Error::invalid(format!(
                "The template and its 'inputSchema' take more than {} ms of processor time or {} MB of memory to check, or refer to \
                 themselves without end. Make them simpler.",
                LIMITS.processor.as_millis(),
                LIMITS.memory_bytes / 1_048_576
            ))),
        }
    }
}
