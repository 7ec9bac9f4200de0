//! Handlebars: `{{variable}}`.

use handlebars::Template;

use super::{SyntaxError, on_deep_stack};

/// Deepest nesting of blocks: the parser's time grows with its square.
const MAX_BLOCK_DEPTH: usize = 100;

pub fn check(content: &str) -> Result<(), SyntaxError> {
    blocks_are_bounded(content)?;
    on_deep_stack(|| {
        Template::compile(content).map(drop).map_err(|error| {
            let (line, column) = error.pos().unwrap_or((1, 1));
            SyntaxError {
                line,
                column,
                reason: error.reason().to_string().trim_end_matches('.').to_owned(),
            }
        })
    })
}

fn blocks_are_bounded(content: &str) -> Result<(), SyntaxError> {
    let mut depth = 0_usize;
    for (index, _) in content.match_indices("{{") {
        let tag = content
            .get(index..)
            .unwrap_or_default()
            .trim_start_matches('{')
            .trim_start_matches('~');
        if tag.starts_with('#') {
            depth += 1;
        } else if tag.starts_with('/') {
            depth = depth.saturating_sub(1);
        }
        if depth > MAX_BLOCK_DEPTH {
            let before = content.get(..index).unwrap_or_default();
            return Err(SyntaxError {
                line: before.matches('\n').count() + 1,
                column: before.rsplit('\n').next().unwrap_or_default().chars().count() + 1,
                reason: format!("blocks are nested more than {MAX_BLOCK_DEPTH} deep"),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// Each would end the process on an ordinary stack.
    #[test]
    fn the_deepest_nesting_is_survived() {
        let longest = 256 * 1_024;
        for (open, close) in [
            ("{{#if a}}", "{{/if}}"),
            ("{{#each a}}", ""),
            ("{{x (", ""),
            ("(", ""),
            ("{{#if (a ", ""),
        ] {
            let depth = longest / (open.len() + close.len());
            let _ = check(&format!("{}{}", open.repeat(depth), close.repeat(depth)));
            let _ = check(&format!("{{{{x {}", open.repeat(depth)));
        }
    }
}
