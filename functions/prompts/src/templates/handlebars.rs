//! Handlebars: `{{variable}}`.

use handlebars::Template;

use super::SyntaxError;

/// Deepest nesting of blocks and subexpressions; the parser works by recursion.
const MAX_DEPTH: usize = 100;

pub fn check(content: &str) -> Result<(), SyntaxError> {
    too_deep(content)?;
    Template::compile(content).map(|_| ()).map_err(|error| {
        let (line, column) = error.pos().unwrap_or((1, 1));
        SyntaxError {
            line,
            column,
            reason: error.reason().to_string().trim_end_matches('.').to_owned(),
        }
    })
}

/// Counts what the parser would recurse into: open blocks and, within a tag, open parentheses.
fn too_deep(content: &str) -> Result<(), SyntaxError> {
    let mut depth = 0_usize;
    for (index, _) in content.match_indices(['{', '(', '[', '}', ')', ']']) {
        let rest = content.get(index..).unwrap_or_default();
        if rest.starts_with("{{#") || rest.starts_with(['(', '[']) {
            depth += 1;
        } else if rest.starts_with("{{/") || rest.starts_with([')', ']']) {
            depth = depth.saturating_sub(1);
        }
        if depth > MAX_DEPTH {
            let before = content.get(..index).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            return Err(SyntaxError {
                line,
                column,
                reason: format!("it is nested more than {MAX_DEPTH} deep"),
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
    fn depth_is_bounded() {
        assert!(
            check(&"{{#if a}}".repeat(100_000))
                .unwrap_err()
                .reason
                .contains("100 deep")
        );
        assert!(check(&format!("{{{{x {}", "(".repeat(100_000))).is_err());
    }
}
