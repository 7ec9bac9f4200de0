//! Checks Handlebars templates: `{{variable}}`.

use handlebars::Template;

use super::SyntaxError;
use super::pieces::{are_independent, cut};

/// Minimum size of a piece that is parsed separately, in bytes.
const PIECE_BYTES: usize = 1_024;

/// Fails for content that is no valid template.
pub fn check(content: &str) -> Result<(), SyntaxError> {
    check_in_pieces(content, PIECE_BYTES)
}

fn check_in_pieces(content: &str, least_bytes: usize) -> Result<(), SyntaxError> {
    let pieces = cut(content, least_bytes)?;
    if are_independent(&pieces) && pieces.iter().all(|piece| Template::compile(piece).is_ok()) {
        return Ok(());
    }
    // The whole content gives the position of a fault, and decides where the pieces were cut wrong.
    Template::compile(content).map(drop).map_err(|error| {
        let (line, column) = error.pos().unwrap_or((1, 1));
        SyntaxError {
            line,
            column,
            reason: error.reason().to_string().trim_end_matches('.').to_owned(),
        }
    })
}

/// Returns whether content is a template, checked in pieces and as a whole.
#[cfg(fuzzing)]
pub fn verdicts(content: &str) -> (bool, bool) {
    let whole = cut(content, 1).is_ok() && Template::compile(content).is_ok();
    (check_in_pieces(content, 1).is_ok(), whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn valid_templates_pass() {
        for content in [
            "",
            "plain",
            "Hi {{name}}",
            "{{#if a}}x{{else}}y{{/if}}",
            "{{#each items}}{{this}}{{/each}}",
        ] {
            assert_eq!(check(content), Ok(()), "{content}");
        }
    }

    #[test]
    fn errors_have_a_place() {
        let error = check("line one\nHi {{name}").unwrap_err();
        assert_eq!(error.line, 2, "{error:?}");
        assert_eq!(check("{{#if a}}x{{/each}}").unwrap_err().line, 1);
        let late = format!("{}{{{{#if b}}}}", "{{a}}\n".repeat(2_000));
        assert_eq!(check(&late).unwrap_err().line, 2_001);
    }

    #[test]
    fn brackets_of_the_text_do_not_count() {
        assert_eq!(check(&"(".repeat(1_000)), Ok(()));
    }

    #[test]
    fn blocks_nest_a_hundred_deep() {
        let nested = |depth: usize| format!("{}{}", "{{#if a}}".repeat(depth), "{{/if}}".repeat(depth));
        assert_eq!(check(&nested(100)), Ok(()));
        assert!(check(&nested(101)).unwrap_err().reason.contains("100 deep"));
        assert_eq!(check(&nested(1).repeat(1_000)), Ok(()));
    }

    const TOKENS: [&str; 45] = [
        "{{!--}}",
        "{{!---}}",
        "{{! --}}",
        "{{a}}",
        "{{{a}}}",
        "{{&a}}",
        "{{~a~}}",
        "{{#if a}}",
        "{{/if}}",
        "{{else}}",
        "{{else if b}}",
        "{{^}}",
        "{{#each b}}",
        "{{/each}}",
        "{{!-- c --}}",
        "{{!-- c }}",
        "{{! -- c }}",
        "--}}",
        "{{! d }}",
        "{{!}}",
        "{{{{raw}}}}",
        "{{{{/raw}}}}",
        "\\{{e}}",
        "\\{{#if a}}",
        "\\\\{{f}}",
        "{{x \"}}\"}}",
        "{{x '{{'}}",
        "{{[g}}]}}",
        "{{> p}}",
        "{{#> p}}",
        "{{/p}}",
        "{{#*inline \"q\"}}",
        "{{/inline}}",
        "{{* r}}",
        "{",
        "}",
        "{{",
        "}}",
        "}}}",
        "{{{",
        "text",
        "\n",
        " ",
        "~",
        "é",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

        /// Checking in pieces gives the same verdict.
        #[test]
        fn pieces_are_judged_as_the_whole_is(tokens in prop::collection::vec(0..TOKENS.len(), 0..12)) {
            let content: String = tokens.iter().map(|token| TOKENS[*token]).collect();
            let whole = Template::compile(&content).is_ok();
            prop_assert_eq!(check_in_pieces(&content, 1).is_ok(), whole, "{}", content);
        }
    }
}
