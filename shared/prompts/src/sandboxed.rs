//! Checks a template's content and schema in a sandbox, because they are untrusted and can be expensive to
//! check; renders there what is not stored.

use std::time::Duration;

use platform::records::prompts::{ContentType, PromptRecord};
use platform::{Error, Result};
use sandbox::{Exceeded, Limits, Sandbox};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::check::check;
use crate::{schema, template};

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

/// Work of a child.
#[derive(Deserialize, Serialize)]
enum Task {
    Check(CheckTask),
    Render(RenderTask),
}

/// Parts of a template to check.
#[derive(Deserialize, Serialize)]
struct CheckTask {
    content_type: ContentType,
    content: String,
    schema: Option<Value>,
    data: Option<Value>,
}

/// A content that is checked and then rendered.
#[derive(Deserialize, Serialize)]
struct RenderTask {
    content_type: ContentType,
    content: String,
    data: Map<String, Value>,
}

/// Begins the output of a task whose template has a fault, which follows as a sentence.
const FAULT: u8 = b'!';

/// Returns the rendered text, which is empty for a check, after a space; or the fault.
fn work(task: &[u8]) -> Vec<u8> {
    let done = match serde_json::from_slice(task) {
        Ok(Task::Check(task)) => check_task(&task).map(|()| String::new()),
        Ok(Task::Render(task)) => render_task(task),
        Err(error) => Err(format!("The template cannot be read: {error}.")),
    };
    let (mark, text) = match done {
        Ok(text) => (b' ', text),
        Err(fault) => (FAULT, fault),
    };
    let mut output = vec![mark];
    output.extend_from_slice(text.as_bytes());
    output
}

/// Returns the text of an output of [`work`].
fn text_of(output: Vec<u8>) -> Result<String> {
    let mut text = String::from_utf8(output).map_err(Error::internal)?;
    let is_fault = text.as_bytes().first() == Some(&FAULT);
    text.drain(..text.len().min(1));
    match is_fault {
        true => Err(Error::invalid(text)),
        false => Ok(text),
    }
}

fn render_task(task: RenderTask) -> Result<String, String> {
    check(task.content_type, &task.content)?;
    template::render(task.content_type, &task.content, &Value::Object(task.data))
        .map_err(|error| error.to_string())
}

/// Renders a content that is not stored. Fails with 400 in the words of [`Checker::check`] for one that a
/// write refuses, and for one that these data cannot render.
pub async fn render_once(
    sandbox: &Sandbox,
    account: &str,
    content_type: ContentType,
    content: String,
    data: Map<String, Value>,
) -> Result<String> {
    let task = Task::Render(RenderTask {
        content_type,
        content,
        data,
    });
    let task = serde_json::to_vec(&task).map_err(Error::internal)?;
    match sandbox.run(account, &task).await? {
        Ok(output) => text_of(output),
        Err(Exceeded) => Err(Error::invalid(format!(
            "The template takes more than {} ms of processor time or {} MB of memory to check and to render. Make it simpler, or give \
             it less data.",
            LIMITS.processor.as_millis(),
            LIMITS.memory_bytes / 1_048_576
        ))),
    }
}

fn check_task(task: &CheckTask) -> Result<(), String> {
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
        let task = Task::Check(CheckTask {
            content_type: prompt.content_type,
            content: prompt.content.clone(),
            schema: prompt.input_schema.clone(),
            data: prompt.test_data.clone(),
        });
        let task = serde_json::to_vec(&task).map_err(Error::internal)?;
        if self.passed.as_ref() == Some(&task) {
            return Ok(());
        }
        match self.sandbox.run(self.account, &task).await? {
            Ok(output) => {
                text_of(output)?;
                self.passed = Some(task);
                Ok(())
            }
            Err(Exceeded) => Err(Error::invalid(format!(
                "The template and its 'inputSchema' take more than {} ms of processor time or {} MB of memory to check, or refer to \
                 themselves without end. Make them simpler.",
                LIMITS.processor.as_millis(),
                LIMITS.memory_bytes / 1_048_576
            ))),
        }
    }
}
