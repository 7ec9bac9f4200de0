//! Compiles and compares patterns: regular expressions of callers, with bounds on each step.
//!
//! The cost of a pattern is not evident from its text, so everything that it depends on is limited: the
//! length of the text, the size of the automaton, and the length of a value. The automaton is simulated state
//! by state, so a comparison takes at most [`Pattern::steps`], and nothing grows while it runs. Classes are
//! those of ASCII: a class of Unicode alone takes half of [`MAX_COMPILED_BYTES`], and milliseconds.

use std::fmt;
use std::sync::Arc;

use regex_automata::nfa::thompson::pikevm::PikeVM;
use regex_automata::nfa::thompson::{Compiler, Config, WhichCaptures};
use regex_automata::{Anchored, Input};
use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{self, Ast, Flag};
use regex_syntax::hir::translate::TranslatorBuilder;
use regex_syntax::hir::{self, Hir, Look};

use crate::limits::{MAX_COMPILED_BYTES, MAX_PATTERN_BYTES, MAX_PATTERN_VALUE_BYTES};

/// Characters that make a text a pattern. A dot alone does not, because event types contain dots.
const SPECIAL: [char; 13] = ['*', '+', '?', '(', ')', '[', ']', '{', '}', '|', '^', '$', '\\'];
/// Approximate steps that the compilation of each pattern takes, and of each byte of its text.
const COMPILATION_STEPS: u64 = 5_000;
const COMPILATION_STEPS_PER_BYTE: u64 = 50;

/// A compiled pattern, which a whole value must fit. Clones share it.
#[derive(Clone)]
pub struct Pattern {
    automaton: Arc<PikeVM>,
}

impl Pattern {
    /// Whether a text is a pattern. Any other text is compared as it is.
    pub fn is_one(text: &str) -> bool {
        text.contains(SPECIAL)
    }

    /// Returns about how many steps [`compile`](Self::compile) takes, in the unit of [`steps`](Self::steps).
    pub fn compilation_steps(text: &str) -> u64 {
        COMPILATION_STEPS + COMPILATION_STEPS_PER_BYTE * count(text.len().min(MAX_PATTERN_BYTES))
    }

    /// Compiles a pattern. The error is a sentence.
    pub fn compile(text: &str) -> Result<Self, String> {
        if text.len() > MAX_PATTERN_BYTES {
            return Err(format!(
                "The regular expression has {} bytes; at most {MAX_PATTERN_BYTES} are taken.",
                text.len()
            ));
        }
        let invalid = |reason: &dyn fmt::Display| format!("The text is not a regular expression: {reason}.");
        let ast = Parser::new().parse(text).map_err(|error| invalid(error.kind()))?;
        ast::visit(&ast, NoUnicode)?;
        let mut translator = TranslatorBuilder::new().unicode(false).utf8(false).build();
        let hir = translator
            .translate(text, &ast)
            .map_err(|error| match error.kind() {
                hir::ErrorKind::UnicodeNotAllowed => beyond_ascii(),
                kind => invalid(kind),
            })?;
        let whole = Hir::concat(vec![Hir::look(Look::Start), hir, Hir::look(Look::End)]);
        let config = Config::new()
            .utf8(false)
            .which_captures(WhichCaptures::None)
            .nfa_size_limit(Some(MAX_COMPILED_BYTES));
        let automaton = Compiler::new().configure(config).build_from_hir(&whole);
        let automaton = automaton.map_err(|error| match error.size_limit() {
            Some(_) => too_large(),
            None => invalid(&error),
        })?;
        let automaton = PikeVM::new_from_nfa(automaton).map_err(|error| invalid(&error))?;
        Ok(Self {
            automaton: Arc::new(automaton),
        })
    }

    /// Whether a whole value fits. A value of more than [`MAX_PATTERN_VALUE_BYTES`] does not.
    pub fn fits(&self, value: &str) -> bool {
        let input = Input::new(value).anchored(Anchored::Yes);
        value.len() <= MAX_PATTERN_VALUE_BYTES
            && self.automaton.is_match(&mut self.automaton.create_cache(), input)
    }

    /// Returns the most steps that [`fits`](Self::fits) takes for a value: about ten nanoseconds each.
    pub fn steps(&self, value: &str) -> u64 {
        match value.len() {
            bytes @ 0..=MAX_PATTERN_VALUE_BYTES => {
                count(self.automaton.get_nfa().states().len()) * count(bytes + 1)
            }
            _ => 0,
        }
    }

    /// Returns the memory that the pattern takes, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.automaton.get_nfa().memory_usage()
    }
}

/// Steps that are left, such as for one event.
#[derive(Debug)]
pub struct Steps(u64);

impl Steps {
    pub const fn new(steps: u64) -> Self {
        Self(steps)
    }

    /// Takes steps; None where too few are left.
    pub fn take(&mut self, steps: u64) -> Option<()> {
        self.0 = self.0.checked_sub(steps)?;
        Some(())
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pattern")
    }
}

/// Refuses the flag that turns Unicode on again.
struct NoUnicode;

impl ast::Visitor for NoUnicode {
    type Output = ();
    type Err = String;

    fn finish(self) -> Result<(), String> {
        Ok(())
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), String> {
        let flags = match ast {
            Ast::Flags(set) => Some(&set.flags),
            Ast::Group(group) => group.flags(),
            _ => None,
        };
        match flags.and_then(|flags| flags.flag_state(Flag::Unicode)) {
            Some(true) => Err(beyond_ascii()),
            _ => Ok(()),
        }
    }
}

fn beyond_ascii() -> String {
    "The regular expression has a class or a flag beyond ASCII, which takes too much; write the characters as an \
     alternation, such as (ä|ö)."
        .to_owned()
}

fn too_large() -> String {
    format!(
        "The regular expression takes more than {} KB once compiled; repeat less in it.",
        MAX_COMPILED_BYTES / 1_024
    )
}

pub(crate) fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, value: &str) -> bool {
        Pattern::compile(pattern).unwrap().fits(value)
    }

    #[test]
    fn a_pattern_is_for_the_whole_value() {
        for (pattern, value, expected) in [
            (r"com\.shop\..*", "com.shop.paid", true),
            (r"com\.shop\..*", "net.com.shop.paid", false),
            ("a|b", "b", true),
            ("a|b", "ab", false),
            ("^a$|^b$", "b", true),
            ("(?i)paid", "PAID", true),
            (r"\w+", "order_7", true),
            (r"\w+", "größe", false),
            ("gr(ö|o).e", "groXe", true),
            ("(ä|ö)+", "äöä", true),
            ("[^.]*", "größe", true),
            ("(?s).*", "a\nb", true),
            (".*", "a\nb", false),
            ("()", "", true),
            ("(?x)a # )|(", "a", true),
        ] {
            assert_eq!(fits(pattern, value), expected, "{pattern} {value}");
        }
    }

    #[test]
    fn a_long_value_fits_no_pattern() {
        let pattern = Pattern::compile("a*").unwrap();
        let longest = "a".repeat(MAX_PATTERN_VALUE_BYTES);
        assert!(pattern.fits(&longest));
        let longer = longest + "a";
        assert_eq!((pattern.fits(&longer), pattern.steps(&longer)), (false, 0));
    }

    #[test]
    fn a_pattern_beyond_a_limit_is_refused() {
        for (pattern, reason) in [
            ("a?".repeat(501), "has 1002 bytes"),
            ("((a{9}){99}){99}".to_owned(), "more than 32 KB"),
            ("(.{0,999}){9}".to_owned(), "more than 32 KB"),
            (r"\p{L}".to_owned(), "beyond ASCII"),
            ("[ä]".to_owned(), "beyond ASCII"),
            (r"(?u)\w".to_owned(), "beyond ASCII"),
            (r"a(?i-s:(?u:\w))".to_owned(), "beyond ASCII"),
            (r"(a)\1".to_owned(), "not a regular expression"),
            ("a)|(b".to_owned(), "not a regular expression"),
            ("[z-a]".to_owned(), "not a regular expression"),
            ("(".repeat(300) + &")".repeat(300), "not a regular expression"),
        ] {
            let error = Pattern::compile(&pattern).map_or_else(|error| error, |_| "Ok.".to_owned());
            assert!(
                error.contains(reason) && error.ends_with('.'),
                "{pattern}: {error}"
            );
        }
    }

    #[test]
    fn the_largest_patterns_stay_within_their_limits() {
        for pattern in [
            "(a?){300}a*",
            "(a*|a*b){100}",
            r"(\w|\d|-){0,90}",
            &"a|".repeat(490),
        ] {
            let pattern = Pattern::compile(pattern).unwrap();
            assert!(pattern.memory_bytes() <= MAX_COMPILED_BYTES);
            let steps = pattern.steps(&"a".repeat(MAX_PATTERN_VALUE_BYTES));
            assert!(steps < 500_000, "{steps}");
        }
    }
}
