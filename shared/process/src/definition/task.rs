//! Tasks.

use super::{ErrorTemplate, Expression, FunctionCall, HttpCall, Listen, OpenApiCall, Retry, Span, Template};
use crate::data::Data;

/// A task of a list.
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
    /// `timeout`.
    pub timeout: Option<Span>,
    /// `then`.
    pub then: Then,
    /// `metadata`: of no effect.
    pub metadata: Option<Data>,
    /// The task as JSON, for `$task.definition`.
    pub source: Data,
    /// What the task does.
    pub work: Work,
}

/// What a task does, by its type.
#[derive(Clone, Debug)]
pub enum Work {
    /// `set`.
    Set(Template),
    /// `do`.
    Do(Vec<Task>),
    /// `for`.
    For(Loop),
    /// `fork`.
    Fork(Fork),
    /// `switch`.
    Switch(Vec<Case>),
    /// `try`.
    Try(Box<Try>),
    /// `raise`.
    Raise(ErrorTemplate),
    /// `wait`.
    Wait(Span),
    /// `call: http`.
    Http(Box<HttpCall>),
    /// `call: openapi`.
    OpenApi(Box<OpenApiCall>),
    /// `call` of a function.
    Function(FunctionCall),
    /// `emit`: an object with the attributes of the event, `source` and `type` among them.
    Emit(Template),
    /// `listen`.
    Listen(Box<Listen>),
    /// `run: workflow`.
    Run(RunProcess),
}

/// Where to go after a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Then {
    /// To the next task of the list; after the last one the list is done.
    #[default]
    Continue,
    /// Out of the list.
    Exit,
    /// To the end of the process.
    End,
    /// To the task at this index of the same list.
    Task(usize),
}

/// Shape of an input, output or context.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transform {
    /// JSON Schema.
    pub schema: Option<Data>,
    /// `from` or `as`. Without it, the value stays.
    pub template: Option<Template>,
}

/// The task `for`.
#[derive(Clone, Debug)]
pub struct Loop {
    /// Variable of the item, without `$`.
    pub each: String,
    /// Variable of its index, without `$`.
    pub at: String,
    /// Evaluates to a list.
    pub items: Expression,
    /// `while`: the loop ends before the first item for which this is not true.
    pub condition: Option<Expression>,
    /// Tasks for each item; the output of one round is the input of the next.
    pub tasks: Vec<Task>,
}

/// The task `fork`.
#[derive(Clone, Debug)]
pub struct Fork {
    /// Each is one branch.
    pub branches: Vec<Task>,
    /// Whether the first branch to complete gives the output. Otherwise the output is the list of all.
    pub compete: bool,
}

/// A case of the task `switch`.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// The default case has none; it counts if no other case does, wherever it stands.
    pub when: Option<Expression>,
    /// Where to go.
    pub then: Then,
}

/// The task `try`.
#[derive(Clone, Debug)]
pub struct Try {
    /// Tasks to try.
    pub tasks: Vec<Task>,
    /// What to do about their errors.
    pub catch: Catch,
}

/// The part `catch` of a task `try`.
#[derive(Clone, Debug)]
pub struct Catch {
    /// `errors.with`; [`flow::catches`](crate::flow::catches) compares.
    pub errors: ErrorFilter,
    /// `as`: variable of the error, without `$`.
    pub variable: String,
    /// Caught only if true.
    pub when: Option<Expression>,
    /// Not caught if true.
    pub except_when: Option<Expression>,
    /// When to try again.
    pub retry: Option<Retry>,
    /// Tasks once there is no further retry. Without any, an error that was retried in vain is raised again,
    /// and one without a retry policy is passed over.
    pub tasks: Option<Vec<Task>>,
}

/// Which errors are caught: those with these values. Without any, all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorFilter {
    /// By field of the error object.
    pub with: Vec<(String, Template)>,
}

/// The task `run: workflow`.
#[derive(Clone, Debug, PartialEq)]
pub struct RunProcess {
    /// Namespace of the process.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its version, or `latest`.
    pub version: String,
    /// Its input. Without it, the task's own.
    pub input: Option<Template>,
    /// Whether to wait for its end. Otherwise the output is the task's input.
    pub wait: bool,
    /// Whether the result of the process is the output: `return` is not `none`.
    pub returns: bool,
}
