//! What a definition and an expression may take.

use std::time::Duration;

/// Longest text of a definition, in bytes.
pub const MAX_TEXT_BYTES: usize = 256 * 1_024;
/// Most tasks of a definition, those of functions and of nested lists included.
pub const MAX_TASKS: usize = 1_000;
/// How deep lists of tasks may nest.
pub const MAX_TASK_LEVELS: usize = 32;
/// How deep the objects and lists of a definition may nest. A task takes three of these levels.
pub const MAX_DOCUMENT_LEVELS: usize = 160;
/// Most faults that one check reports.
pub const MAX_FAULTS: usize = 200;
/// Longest text of an expression, in bytes. The parser works by recursion, and its stack is
/// [`CHECK_STACK_BYTES`].
pub const MAX_EXPRESSION_BYTES: usize = 16 * 1_024;
/// Longest duration. A year has no fixed length, so this one counts days.
pub const MAX_DURATION: Duration = Duration::from_secs(3_660 * 24 * 60 * 60);
/// Stack of the thread that checks a definition.
pub const CHECK_STACK_BYTES: usize = 64 * 1_024 * 1_024;
/// How deep data may nest. What works on data does so by recursion.
pub const MAX_DATA_LEVELS: usize = 256;
/// How deep brackets, strings with expressions in them and minus signs may nest in an expression.
pub const MAX_EXPRESSION_LEVELS: usize = 200;
/// Largest result of an expression, in bytes of JSON.
pub const MAX_OUTPUT_BYTES: usize = 1_024 * 1_024;
/// Most data that one evaluation takes in, in bytes of JSON.
pub const MAX_INPUT_BYTES: usize = 8 * 1_024 * 1_024;
/// Processor time of one evaluation: of all expressions that are sent together.
pub const EVALUATION_TIME: Duration = Duration::from_secs(1);
/// Memory of the child process that evaluates, its stack of 64 MiB included.
pub const EVALUATION_BYTES: u64 = 256 * 1_024 * 1_024;
/// How long an evaluation may take on a machine that has no time for it.
pub const EVALUATION_PATIENCE: Duration = Duration::from_secs(20);
