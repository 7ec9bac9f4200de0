//! Lists the functions that an expression may call, and those that are refused.

use std::collections::HashSet;
use std::sync::LazyLock;

use jaq_core::data::JustLut;
use jaq_core::load::parse::Def;
use jaq_core::native::Fun;
use jaq_json::Val;

/// An expression reads only its input and its variables.
pub(super) type Kind = JustLut<Val>;

const CLOCK: &str =
    "the time changes from one replay to the next; take it from $task.startedAt or $workflow.startedAt";
const ZONE: &str = "the time zone of the machine is none of the process's; use UTC with strftime or gmtime";
const ENVIRONMENT: &str = "an expression has no environment; send the value as input or as a secret";
const INPUTS: &str = "an expression has one input, which is '.'";
const PRINT: &str = "an expression prints nothing; put the value into the output";
const HALT: &str = "an expression cannot end the program; use error(\"…\") or the task 'raise'";
const MODULES: &str = "an expression has no modules";

/// Functions of jq that an expression cannot call, with the reason.
const REFUSED: [(&str, &str); 16] = [
    ("now", CLOCK),
    ("localtime", ZONE),
    ("strflocaltime", ZONE),
    ("env", ENVIRONMENT),
    ("input", INPUTS),
    ("inputs", INPUTS),
    ("input_filename", INPUTS),
    ("input_line_number", INPUTS),
    ("debug", PRINT),
    ("debug_empty", PRINT),
    ("stderr", PRINT),
    ("stderr_empty", PRINT),
    ("halt", HALT),
    ("halt_error", HALT),
    ("get_search_list", MODULES),
    ("modulemeta", MODULES),
];

/// Returns the reason why a function is refused.
pub(super) fn refused(name: &str) -> Option<&'static str> {
    let entry = REFUSED.iter().find(|(refused, _)| *refused == name);
    entry.map(|(_, reason)| *reason)
}

/// Returns the reason why a variable is refused.
pub(super) fn refused_variable(name: &str) -> Option<&'static str> {
    matches!(name, "$ENV" | "$__prog_args").then_some(ENVIRONMENT)
}

/// Whether a function with this name and number of arguments exists.
pub(super) fn has(name: &str, arguments: usize) -> bool {
    static SIGNATURES: LazyLock<HashSet<(&'static str, usize)>> = LazyLock::new(|| {
        let definitions = definitions().map(|definition| (definition.name, definition.args.len()));
        let natives = natives().map(|(name, arguments, _)| (name, arguments.len()));
        definitions.chain(natives).collect()
    });
    SIGNATURES.contains(&(name, arguments))
}

/// Returns the functions written in jq.
pub(super) fn definitions() -> impl Iterator<Item = Def<&'static str>> {
    jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs())
}

/// Returns the functions written in Rust.
pub(super) fn natives() -> impl Iterator<Item = Fun<Kind>> {
    jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs())
}
