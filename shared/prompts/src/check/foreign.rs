//! Finds variables of another template language than that of the content.

use crate::records::prompts::ContentType;

/// Maximum length of a variable that is told, in bytes.
const MAX_NAME_BYTES: usize = 80;

/// Returns advice about the first variable that is written as in another language, and stays as it is.
pub fn foreign_variable(content_type: ContentType, content: &str) -> Option<String> {
    let braces = || variable(content, "{{", "}}").map(|name| (format!("{{{{{name}}}}}"), "handlebars"));
    let dollar = || variable(content, "${", "}").map(|name| (format!("${{{name}}}"), "jst"));
    let (shown, language) = match content_type {
        ContentType::Handlebars => dollar(),
        ContentType::Jst => braces(),
        ContentType::Text => braces().or_else(dollar),
    }?;
    Some(format!(
        "The content has '{shown}', which stays as it is: it is a variable where 'content_type' is '{language}'."
    ))
}

fn variable<'c>(content: &'c str, open: &str, close: &str) -> Option<&'c str> {
    content.split(open).skip(1).find_map(|rest| {
        let end = rest.find(close).filter(|end| *end <= MAX_NAME_BYTES)?;
        let name = rest.get(..end)?.trim();
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.';
        let is_name = name.starts_with(|first: char| first.is_alphabetic() || first == '_');
        (is_name && name.chars().all(is_part)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_of_another_language_is_told() {
        for (content_type, content, shown) in [
            (ContentType::Handlebars, "Hi ${name}, {{name}}", "'${name}'"),
            (ContentType::Jst, "Hi {{ user.name }}", "'{{user.name}}'"),
            (ContentType::Text, "Hi {{name}}", "'{{name}}'"),
        ] {
            let advice = foreign_variable(content_type, content).unwrap_or_default();
            assert!(advice.contains(shown), "{content}: {advice}");
        }
        for (content_type, content) in [
            (
                ContentType::Handlebars,
                "costs $5 {{name}} ${} ${ a + b } $ {name}",
            ),
            (ContentType::Jst, "${name} {{#if}} {{}} {name} {{"),
            (ContentType::Text, "{ name } {{ a b }}"),
        ] {
            assert_eq!(foreign_variable(content_type, content), None, "{content}");
        }
    }
}
