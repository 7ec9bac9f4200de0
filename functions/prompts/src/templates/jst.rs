//! JavaScript templates: the content is the inside of one template literal, so `${variable}` stands for a value, and a
//! backtick or a `${` of the text itself is written with a backslash before it.

use oxc_allocator::Allocator;
use oxc_ast::ast::{Expression, Statement};
use oxc_parser::Parser;
use oxc_span::{GetSpan as _, SourceType};

use super::{SyntaxError, on_deep_stack};

/// Longest content, in bytes. The parser works by recursion, a few bytes of content a level.
const MAX_BYTES: usize = 64 * 1_024;

pub fn check(content: &str) -> Result<(), SyntaxError> {
    if content.len() > MAX_BYTES {
        return Err(at(
            content,
            MAX_BYTES,
            format!("a JavaScript template is at most {MAX_BYTES} bytes long"),
        ));
    }
    on_deep_stack(|| parse(content))
}

fn parse(content: &str) -> Result<(), SyntaxError> {
    let source = format!("`{content}`");
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, &source, SourceType::script()).parse();
    if let Some(error) = parsed.diagnostics.first() {
        let offset = error.labels.first().map_or(0, |label| label.offset() as usize);
        let reason = error.message.trim_end_matches('.').to_owned();
        return Err(at(content, offset.saturating_sub(1), reason));
    }
    // The text could close the literal and go on: what was read must be that one literal and nothing else.
    let program = &parsed.program;
    match (program.directives.as_slice(), program.body.as_slice()) {
        ([], [Statement::ExpressionStatement(statement)])
            if matches!(statement.expression, Expression::TemplateLiteral(_))
                && statement.expression.span().size() as usize == source.len() =>
        {
            Ok(())
        }
        _ => {
            let offset = content.find('`').unwrap_or_default();
            Err(at(
                content,
                offset,
                "a backtick in the text must be written as \\`".to_owned(),
            ))
        }
    }
}

fn at(content: &str, offset: usize, reason: String) -> SyntaxError {
    let end = (0..=offset.min(content.len()))
        .rev()
        .find(|end| content.is_char_boundary(*end))
        .unwrap_or_default();
    let before = content.get(..end).unwrap_or_default();
    SyntaxError {
        line: before.matches('\n').count() + 1,
        column: before.rsplit('\n').next().unwrap_or_default().chars().count() + 1,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_templates_pass() {
        for content in [
            "",
            "Hi ${name}",
            "${a.b[0]} and ${x ? `y${z}` : 'n'}",
            "a \\` b",
            "cost: $5 {x}",
            "ünï ${ö}",
        ] {
            assert_eq!(check(content), Ok(()), "{content}");
        }
    }

    #[test]
    fn errors_have_a_place() {
        let error = check("line one\nHi ${name").unwrap_err();
        assert_eq!(error.line, 2, "{error:?}");
        let error = check("Hi ${a b}").unwrap_err();
        assert_eq!((error.line, error.column), (1, 8), "{error:?}");
    }

    #[test]
    fn the_text_cannot_leave_the_literal() {
        for content in [
            "a ` b",
            "`",
            "`;alert(1);`",
            "a `` b",
            "` + secret + `",
            "`.length + `",
            "`//",
        ] {
            assert!(check(content).is_err(), "{content}");
        }
    }

    /// Each pattern, repeated up to the longest content, would end the process on an ordinary stack.
    #[test]
    fn the_deepest_nesting_is_survived() {
        let patterns = [
            "(",
            "[",
            "{",
            "new ",
            "a=>",
            "a?a:",
            "a=",
            "a**",
            "!",
            "-",
            "a?",
            "async a=>",
            "class extends ",
            "`${",
            "f(",
            "{a:",
            "function(){",
            "if(a)",
            "a:",
            "a,",
            "a||",
            "(a,",
        ];
        for pattern in patterns {
            let nested = pattern.repeat((MAX_BYTES - 4) / pattern.len());
            let _ = check(&format!("${{{nested}}}"));
            let _ = check(&format!(
                "${{()=>{{{}",
                nested.get(..MAX_BYTES - 8).unwrap_or(&nested)
            ));
        }
        assert!(check(&"x".repeat(MAX_BYTES)).is_ok());
        assert!(
            check(&"x".repeat(MAX_BYTES + 1))
                .unwrap_err()
                .reason
                .contains("at most")
        );
    }
}
