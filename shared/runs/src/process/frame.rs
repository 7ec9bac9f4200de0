//! Holds what a task inherits from the tasks around it, and the data that its expressions read.

use std::collections::BTreeMap;
use std::rc::Rc;

use platform::UtcTime;
use process::Data;
use process::definition::Task;
use process::flow::Kind;
use serde_json::json;
use workflow::Context;

use super::fault::Fault;
use super::shown::Shown;

/// Maximum nesting depth of running tasks, functions included: each level uses stack of the thread.
const MAX_LEVELS: usize = 80;

/// What a task inherits from the tasks around it.
#[derive(Clone)]
pub(super) struct Frame {
    /// Scope that is cancelled when the work is no longer wanted.
    pub context: Context,
    /// Variables of loops and of `catch`, without `$`.
    variables: Rc<BTreeMap<String, Data>>,
    level: usize,
    /// Number of the task in the answer to `__state`; 0 for the process.
    pub number: u64,
}

impl Frame {
    pub fn outer(context: Context) -> Self {
        Self {
            context,
            variables: Rc::default(),
            level: 0,
            number: 0,
        }
    }

    /// Copies the frame into another scope, which can be cancelled separately.
    pub fn within(&self, context: Context) -> Self {
        Self {
            context,
            ..self.clone()
        }
    }

    /// Copies the frame and adds variables.
    pub fn with<const N: usize>(&self, variables: [(&str, Data); N]) -> Self {
        let mut all = (*self.variables).clone();
        all.extend(variables.map(|(name, value)| (name.to_owned(), value)));
        Self {
            variables: Rc::new(all),
            ..self.clone()
        }
    }

    /// Copies the frame without variables, for a function.
    pub fn bare(&self) -> Self {
        Self {
            variables: Rc::default(),
            ..self.clone()
        }
    }

    /// Returns the frame one level deeper for the task at `pointer`, and shows the task in `__state`.
    pub fn deeper(&self, shown: &Shown, pointer: &str) -> Result<Self, Fault> {
        if self.level >= MAX_LEVELS {
            let detail = format!("Tasks run deeper in each other than {MAX_LEVELS} levels.");
            return Err(Fault::error(Kind::Runtime, detail, pointer));
        }
        Ok(Self {
            level: self.level + 1,
            number: shown.enter(pointer, self.number),
            ..self.clone()
        })
    }
}

/// Data that the expressions of a task read besides their input.
#[derive(Clone)]
pub(super) struct View<'a> {
    pub frame: &'a Frame,
    /// JSON pointer of the task: the `instance` of its errors.
    pub pointer: &'a str,
    /// None for the process itself.
    pub task: Option<&'a Task>,
    pub started_at: UtcTime,
    /// Its input before `input.from`.
    pub raw_input: Data,
    pub input: Option<Data>,
    /// Its output before `output.as`.
    pub raw_output: Option<Data>,
    pub output: Option<Data>,
}

impl<'a> View<'a> {
    /// View of a task.
    pub fn new(frame: &'a Frame, task: &'a Task, raw_input: &Data) -> Self {
        Self {
            pointer: &task.pointer,
            task: Some(task),
            ..Self::outer(frame, "/", raw_input)
        }
    }

    /// View of the process itself.
    pub fn outer(frame: &'a Frame, pointer: &'a str, raw_input: &Data) -> Self {
        Self {
            frame,
            pointer,
            task: None,
            started_at: frame.context.now(),
            raw_input: raw_input.clone(),
            input: None,
            raw_output: None,
            output: None,
        }
    }

    /// Copies the view with other variables.
    pub fn in_frame<'b>(&self, frame: &'b Frame) -> View<'b>
    where
        'a: 'b,
    {
        View {
            frame,
            ..self.clone()
        }
    }

    /// Returns the value of a variable that depends on the task.
    pub fn variable(&self, name: &str) -> Option<Data> {
        match name {
            "input" => self.input.clone(),
            "output" => self.output.clone(),
            "task" => self.task.map(|task| self.descriptor(task)),
            _ => self.frame.variables.get(name).cloned(),
        }
    }

    fn descriptor(&self, task: &Task) -> Data {
        let mut fields = vec![
            ("name", Data::text(&task.name)),
            ("reference", Data::text(&task.pointer)),
            ("definition", task.source.clone()),
            ("input", self.raw_input.clone()),
        ];
        fields.extend(self.raw_output.clone().map(|output| ("output", output)));
        fields.push(("startedAt", time(self.started_at)));
        Data::object(fields)
    }
}

/// Converts a time to the form of the DSL.
pub(super) fn time(time: UtcTime) -> Data {
    Data::from(json!({
        "iso8601": time.to_string(),
        "epoch": { "seconds": time.as_seconds(), "milliseconds": time.as_millis() },
    }))
}
