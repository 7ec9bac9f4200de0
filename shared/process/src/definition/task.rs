//! Defines tasks.

use super::{ErrorTemplate, Expression, FunctionCall, HttpCall, Listen, OpenApiCall, Retry, Span, Template};
use crate::data::Data;

#[derive(Clone, Debug)]
pub struct Task {
    /// Unique in its list.
    pub name: String,
    /// JSON pointer in the document, such as `/do/0/greet`: the `instance` of its errors, and unique.
    pub pointer: String,
    /// `if`: the task is skipped unless true.
    pub condition: Option<Expression>,
    /// `input`: the schema of the raw input, and `from`.
    pub input: Transform,
    /// `output`: `as`, and the schema of its result.
    pub output: Transform,
    /// `export`: `as` for the context, and the schema of its result.
    pub export: Transform,
    pub timeout: Option<Span>,
    pub then: Then,
    /// `metadata`; has no effect.
    pub metadata: Option<Data>,
    /// The task as JSON, for `$task.definition`.
    pub source: Data,
    pub work: Work,
}

/// Work of a task, by its type.
#[derive(Clone, Debug)]
pub enum Work {
    Set(Template),
    Do(Vec<Task>),
    For(Loop),
    Fork(Fork),
    Switch(Vec<Case>),
    Try(Box<Try>),
    Raise(ErrorTemplate),
    Wait(Span),
    /// `call: http`.
    Http(Box<HttpCall>),
    /// `call: openapi`.
    OpenApi(Box<OpenApiCall>),
    /// `call` of a function.
    Function(FunctionCall),
    /// `emit`: an object with the attributes of the event, including `source` and `type`.
    Emit(Template),
    Listen(Box<Listen>),
    /// `run: workflow`.
    Run(RunProcess),
}

/// Target after a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Then {
    /// The next task of the list; after the last one the list is done.
    #[default]
    Continue,
    /// Leaves the list.
    Exit,
    /// Ends the process.
    End,
    /// The task at this index of the same list.
    Task(usize),
}

/// Transforms and validates an input, output or context.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transform {
    /// JSON Schema.
    pub schema: Option<Data>,
    /// `from` or `as`. Without it, the value is unchanged.
    pub template: Option<Template>,
}

#[derive(Clone, Debug)]
pub struct Loop {
    /// Variable of the item, without `$`.
    pub each: String,
    /// Variable of the item's index, without `$`.
    pub at: String,
    /// Evaluates to a list.
    pub items: Expression,
    /// `while`: the loop ends before the first item for which this is not true.
    pub condition: Option<Expression>,
    /// Tasks for each item; the output of one round is the input of the next.
    pub tasks: Vec<Task>,
}

#[derive(Clone, Debug)]
pub struct Fork {
    pub branches: Vec<Task>,
    /// Whether the output is that of the first completed branch. Otherwise it is the list of all outputs.
    pub compete: bool,
}

#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    /// None for the default case, which applies if no other case does, wherever it is in the list.
    pub when: Option<Expression>,
    pub then: Then,
}

#[derive(Clone, Debug)]
pub struct Try {
    pub tasks: Vec<Task>,
    /// Handling of the errors of these tasks.
    pub catch: Catch,
}

#[derive(Clone, Debug)]
pub struct Catch {
    /// `errors.with`, compared by [`flow::catches`](crate::flow::catches).
    pub errors: ErrorFilter,
    /// `as`: variable of the error, without `$`.
    pub variable: String,
    /// Catches only if true.
    pub when: Option<Expression>,
    /// Does not catch if true.
    pub except_when: Option<Expression>,
    pub retry: Option<Retry>,
    /// Tasks to run when no further retry follows. Without them, an error whose retries failed is raised
    /// again, and an error without a retry policy is ignored.
    pub tasks: Option<Vec<Task>>,
}

/// Caught errors: those with these values. Without values, all errors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorFilter {
    /// Expected values by field of the error object.
    pub with: Vec<(String, Template)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RunProcess {
    pub namespace: String,
    pub name: String,
    /// Version of the process, or `latest`.
    pub version: String,
    /// Input of the process. Without it, the input of this task.
    pub input: Option<Template>,
    /// Whether to wait for the end of the process. Otherwise the output is the task's input.
    pub wait: bool,
    /// Whether the output is the result of the process: `return` is not `none`.
    pub returns: bool,
}
