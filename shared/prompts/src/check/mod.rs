//! Checks whether a content can be rendered, with the parsers of the renderers: what they cannot parse, and
//! what no data could make work, is refused when it is written.

mod foreign;
mod handlebars;
mod variables;

use platform::Error;
use serde_json::Value;

use crate::error::RenderError;
use crate::limits::MAX_CONTENT_BYTES;
use crate::records::prompts::ContentType;
use crate::template::{Parsed, Template};

pub use foreign::foreign_variable;

/// Fails with 400 for content that cannot be rendered.
pub fn check(content_type: ContentType, content: &str) -> Result<Template, Error> {
    let checked = Template::compile(content_type, content).and_then(|template| {
        if let Parsed::Handlebars(program) = &template.0 {
            handlebars::check(program)?;
        }
        Ok(template)
    });
    checked.map_err(|error| refusal(content_type, &error))
}

/// Returns a sentence for each variable of a template that its schema lacks.
pub fn unknown_variables(template: &Template, schema: &Value) -> Vec<String> {
    variables::unknown(template, schema)
}

fn refusal(content_type: ContentType, error: &RenderError) -> Error {
    let language = match content_type {
        ContentType::Handlebars => "Handlebars",
        ContentType::Jst => "JavaScript",
        ContentType::Text => "text",
    };
    let at = match error.place {
        Some(place) => format!(" at {place}"),
        None => String::new(),
    };
    let message = format!(
        "The content is not a valid {language} template{at}: {}.",
        error.reason
    );
    Error::invalid(message).at(error.place)
}

/// Fails for a content that is too large to be parsed.
pub fn check_size(content_type: ContentType, content: &str) -> Result<(), RenderError> {
    match content_type != ContentType::Text && content.len() > MAX_CONTENT_BYTES {
        true => Err(RenderError::limit(format!(
            "a template that is parsed has at most {MAX_CONTENT_BYTES} bytes"
        ))),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refusal(content_type: ContentType, content: &str) -> Error {
        check(content_type, content).map(drop).unwrap_err()
    }

    #[test]
    fn long_contents_are_refused_where_they_are_parsed() {
        for content_type in [ContentType::Handlebars, ContentType::Jst] {
            assert!(check(content_type, &"x".repeat(MAX_CONTENT_BYTES)).is_ok());
            let refusal = refusal(content_type, &"é".repeat(MAX_CONTENT_BYTES / 2 + 1));
            assert!(refusal.message().contains("at most 65536 bytes"), "{refusal}");
        }
        assert!(check(ContentType::Text, &"x".repeat(MAX_CONTENT_BYTES + 1)).is_ok());
    }

    #[test]
    fn content_that_is_never_rendered_is_refused_at_its_place() {
        use ContentType::{Handlebars, Jst};
        for (content_type, content, place, reason) in [
            (
                Handlebars,
                "a\n {{json order}}",
                "line 2, column 4",
                "helper 'json'",
            ),
            (Handlebars, "{{> header}}", "line 1, column 1", "partial 'header'"),
            (
                Handlebars,
                "{{#if (eq lang \"de\")}}x{{/if}}",
                "line 1, column 8",
                "helper 'eq'",
            ),
            (Handlebars, "{{#each}}x{{/each}}", "line 1, column 4", "one value"),
            (Handlebars, "é{{if a}}", "line 1, column 4", "begin a block"),
            (Handlebars, "{{lookup a}}", "line 1, column 3", "lookup takes"),
            (Handlebars, "{{* x}}", "line 1, column 5", "decorator 'x'"),
            (Handlebars, "{{#a b}}x{{/a}}", "line 1, column 4", "helper 'a'"),
            (
                Handlebars,
                "{{> @partial-block}}",
                "line 1, column 1",
                "@partial-block",
            ),
            (
                Handlebars,
                "{{#if false}}{{#with a}}{{upper b}}{{/with}}{{/if}}",
                "line 1, column 27",
                "helper 'upper'",
            ),
            (Handlebars, "Hi {{name}", "line 1, column 10", "expected '}}'"),
            (Jst, "${items.sort()}", "line 1, column 9", "no function 'sort'"),
            (
                Jst,
                "a\n${price.toFixed(1, 2)}",
                "line 2, column 9",
                "0 to 1 arguments",
            ),
            (Jst, "${alert(1)}", "line 1, column 3", "no function 'alert'"),
            (Jst, "${a b}", "line 1, column 5", "expected an operator, or '}'"),
            (Jst, "${}", "line 1, column 3", "expected a value, found '}'"),
            (
                Jst,
                "${items.map(i => { return i })}",
                "line 1, column 18",
                "without braces",
            ),
            (
                Jst,
                "${items.map(name)}",
                "line 1, column 13",
                "expected a function",
            ),
            (Jst, "${new Date()}", "line 1, column 3", "'new' is not rendered"),
            (Jst, "${/a/}", "line 1, column 3", "expected a value"),
            (Jst, "${a = 1}", "line 1, column 5", "expected an operator"),
        ] {
            let refusal = refusal(content_type, content);
            assert!(
                refusal.message().contains(&format!("at {place}:")) && refusal.message().contains(reason),
                "{content}: {refusal}"
            );
            assert_eq!(refusal.place().unwrap().to_string(), place, "{content}");
        }
    }

    #[test]
    fn content_that_some_data_render_is_taken() {
        use ContentType::{Handlebars, Jst};
        for (content_type, content) in [
            (Handlebars, "{{#*inline \"p\"}}x{{/inline}}{{> p}}"),
            (
                Handlebars,
                "{{#if a}}{{#*inline \"p\"}}x{{/inline}}{{/if}}{{> p}}",
            ),
            (Handlebars, "{{#> header}}without one{{/header}}"),
            (Handlebars, "{{> (lookup . 'kind')}}"),
            (Handlebars, "{{#*inline (lookup . 'kind')}}x{{/inline}}{{> q}}"),
            (
                Handlebars,
                "{{#*inline 'p'}}{{> @partial-block}}{{/inline}}{{#> p}}x{{/p}}",
            ),
            (Handlebars, "{{log a}}{{#section}}x{{/section}}{{lookup a 'b'}}"),
            (
                Jst,
                "${items?.map(({ title: t }, n) => `${n}. ${t}`).join('\\n') ?? ''}",
            ),
            (Jst, "${Object.entries(o).map(([k, v]) => k + v).join()}"),
            (Jst, "${JSON.stringify({ a, 'b': [1, ...c] }, null, 2)}"),
        ] {
            assert!(check(content_type, content).is_ok(), "{content}");
        }
    }
}
