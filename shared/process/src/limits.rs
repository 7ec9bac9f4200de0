//! Defines the limits of definitions and expressions.

use std::time::Duration;

/// Maximum size of a definition's text, in bytes.
pub const MAX_TEXT_BYTES: usize = 256 * 1_024;
/// Maximum number of tasks in a definition, including those of functions and of nested lists.
pub const MAX_TASKS: usize = 1_000;
/// Maximum nesting of task lists.
pub const MAX_TASK_LEVELS: usize = 32;
/// Maximum nesting of objects and lists in a definition. A task takes three of these levels.
pub const MAX_DOCUMENT_LEVELS: usize = 160;
/// Maximum number of faults that one check reports.
pub const MAX_FAULTS: usize = 200;
/// Maximum size of an expression, in bytes. The parser recurses, on a stack of [`CHECK_STACK_BYTES`].
pub const MAX_EXPRESSION_BYTES: usize = 16 * 1_024;
/// Maximum number of patterns in the event filters of a definition.
pub const MAX_PATTERNS: usize = 20;
/// Maximum length of a pattern, in bytes: bounds the time of its compilation.
pub const MAX_PATTERN_BYTES: usize = 1_000;
/// Maximum size of a compiled pattern, in bytes.
pub const MAX_COMPILED_BYTES: usize = 32 * 1_024;
/// Maximum length of a value that is compared with a pattern, in bytes: those of all events of the platform.
pub const MAX_PATTERN_VALUE_BYTES: usize = 512;
/// Maximum duration. Counted in days, because a year has no fixed length.
pub const MAX_DURATION: Duration = Duration::from_secs(3_660 * 24 * 60 * 60);
/// Stack of the thread that checks a definition.
pub const CHECK_STACK_BYTES: usize = 64 * 1_024 * 1_024;
/// Maximum nesting of data, which is processed recursively.
pub const MAX_DATA_LEVELS: usize = 256;
/// Maximum nesting of brackets, strings with expressions and minus signs in an expression.
pub const MAX_EXPRESSION_LEVELS: usize = 200;
/// Maximum size of an expression's result, in bytes of JSON.
pub const MAX_OUTPUT_BYTES: usize = 1_024 * 1_024;
/// Maximum size of the data for one evaluation, in bytes of JSON.
pub const MAX_INPUT_BYTES: usize = 8 * 1_024 * 1_024;
/// Processor time of one evaluation: all expressions that are sent together.
pub const EVALUATION_TIME: Duration = Duration::from_secs(1);
/// Memory of the evaluating child process, including its stack of 64 MiB.
pub const EVALUATION_BYTES: u64 = 256 * 1_024 * 1_024;
/// Maximum wall-clock time of an evaluation on a busy machine.
pub const EVALUATION_PATIENCE: Duration = Duration::from_secs(20);
