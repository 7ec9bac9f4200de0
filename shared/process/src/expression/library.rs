//! Lists the functions that an expression may call, and those that are refused.

use std::collections::HashSet;
use std::sync::LazyLock;

use jaq_core::load::parse::{Def, Term};

use super::calls::{Signature, calls};
use super::natives::{self, natives};
use super::rewrite;

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
        let definitions = parsed()
            .into_iter()
            .map(|definition| (definition.name, definition.args.len()));
        let natives = natives().map(|(name, arguments, _)| (name, arguments.len()));
        definitions.chain(natives).collect()
    });
    !name.starts_with('_') && SIGNATURES.contains(&(name, arguments))
}

/// A function written in jq, and what it calls.
struct Defined {
    definition: Def<&'static str>,
    calls: Vec<Signature<'static>>,
}

impl Defined {
    fn new(definition: Def<&'static str>) -> Self {
        let mut found = Vec::new();
        calls(&definition.body, &mut found);
        Self {
            definition,
            calls: found,
        }
    }

    fn signature(&self) -> Signature<'static> {
        (self.definition.name, self.definition.args.len())
    }
}

thread_local! {
    /// The functions written in jq; the last of two equal signatures counts.
    ///
    /// Those of the library come first, so that a stored expression may go on calling what jq lacks.
    static DEFINED: Vec<Defined> = parsed().into_iter().map(Defined::new).collect();
}

/// Returns the functions that a term needs, in an order in which each finds those that it calls. To compile
/// all of them would take longer than most evaluations.
pub(super) fn definitions(term: &Term<&str>) -> Vec<Def<&'static str>> {
    let mut needed = Vec::new();
    calls(term, &mut needed);
    let mut needed: HashSet<Signature<'_>> = needed.into_iter().collect();
    DEFINED.with(|defined| {
        // A function calls those before it, and itself.
        let mut taken: Vec<_> = defined
            .iter()
            .rev()
            .filter(|own| {
                let is_needed = needed.contains(&own.signature());
                if is_needed {
                    needed.extend(own.calls.iter().copied());
                }
                is_needed
            })
            .map(|own| own.definition.clone())
            .collect();
        taken.reverse();
        taken
    })
}

fn parsed() -> Vec<Def<&'static str>> {
    let own = |text| jaq_core::load::parse(text, |parser| parser.defs()).unwrap_or_default();
    // A definition would hide the function in Rust that replaces it.
    let own_natives: HashSet<_> = natives::own()
        .map(|(name, arguments, _)| (name, arguments.len()))
        .collect();
    let library = jaq_core::defs()
        .chain(jaq_std::defs())
        .chain(jaq_json::defs())
        .filter(|definition| !own_natives.contains(&(definition.name, definition.args.len())));
    let rewritten = library.chain(own(include_str!("definitions.jq")));
    rewritten.map(rewrite::definition).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_definitions_parse() {
        for name in ["from_entries", "@csv", "gsub", "truncate_stream"] {
            assert!(
                parsed().iter().any(|definition| definition.name == name),
                "{name}"
            );
        }
    }
}
