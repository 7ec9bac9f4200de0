//! Checks JavaScript templates. The content is the inside of one template literal: `${variable}` stands for a
//! value, and a backtick or a `${` of the text itself has a backslash before it.

use oxc_allocator::Allocator;
use oxc_ast::ast::{Expression, Statement};
use oxc_parser::Parser;
use oxc_span::{GetSpan as _, SourceType};

use super::SyntaxError;

pub fn check(content: &str) -> Result<(), SyntaxError> {
    let source = format!("`{content}`");
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, &source, SourceType::script()).parse();
    if let Some(error) = parsed.diagnostics.first() {
        let offset = error.labels.first().map_or(0, |label| label.offset() as usize);
        let reason = error.message.trim_end_matches('.').to_owned();
        return Err(SyntaxError::at(content, offset.saturating_sub(1), reason));
    }
    // The text could close the literal and add code: the parsed program must be that one literal and nothing
    // else.
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
            Err(SyntaxError::at(
                content,
                offset,
                "a backtick in the text must be written as \\`".to_owned(),
            ))
        }
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
}
