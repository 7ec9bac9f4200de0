//! Finds texts in a target that look like references to an event and are none, and references to fields that
//! no event has.

use serde_json::{Map, Value};

use super::next_placeholder;
use crate::{envelope, path};

const MAX_WARNINGS: usize = 10;
/// Fields of a definition whose text is an expression also without `${ }`.
const EXPRESSIONS: [&str; 8] = ["as", "exceptWhen", "from", "if", "in", "until", "when", "while"];
/// Most characters of a text that a warning shows.
const MAX_SHOWN: usize = 100;

/// Returns advice about the texts in `fields`, the value of `field`, which are templates.
pub(crate) fn of_templates(field: &str, fields: &Map<String, Value>) -> Vec<String> {
    of_texts(field, fields, of_template)
}

/// Returns advice about the texts in a value of any form, which are templates.
pub(crate) fn of_template_value(field: &str, value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => of_template(field, text).into_iter().collect(),
        Value::Object(fields) => of_templates(field, fields),
        Value::Array(items) => {
            let items = items.iter().enumerate();
            let advice =
                items.flat_map(|(place, item)| of_template_value(&format!("{field}[{place}]"), item));
            advice.take(MAX_WARNINGS).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns advice about the texts in `fields`, the value of `field`, which stay as they are, with the reason.
pub(crate) fn of_constants(field: &str, fields: &Map<String, Value>, reason: &str) -> Vec<String> {
    of_texts(field, fields, |field, text| of_constant(field, text, reason))
}

/// Returns advice about the texts in a definition of a process that look like expressions and are none.
pub fn of_definition(field: &str, definition: &Map<String, Value>) -> Vec<String> {
    of_texts(field, definition, |field, text| {
        let name = field.rsplit('.').next().unwrap_or_default();
        let begins = text.trim_start().starts_with("${");
        let literal = match begins {
            true => (!text.trim_end().ends_with('}')).then_some(text),
            false if EXPRESSIONS.contains(&name) => None,
            false => next_placeholder(text).map(|_| text).or_else(|| literal(text)),
        }?;
        Some(format!(
            "The field '{field}' has '{}', which stays as it is: an expression is a whole text that begins with '${{' and ends \
             with '}}', such as ${{ \"Hello \\(.name)!\" }}.",
            shown(literal)
        ))
    })
}

/// Returns advice about a path into the event that no event has.
pub(crate) fn of_path(field: &str, path: &str) -> Option<String> {
    let root = path::steps(path)?.first()?.clone();
    (!envelope::FIELDS.contains(&root.as_ref())).then(|| {
        format!(
            "The field '{field}' reads '{path}', and {}",
            envelope::no_field(&root)
        )
    })
}

fn of_texts(
    field: &str,
    fields: &Map<String, Value>,
    of_text: impl Fn(&str, &str) -> Option<String>,
) -> Vec<String> {
    let mut warnings: Vec<_> = fields.keys().filter_map(|name| of_name(field, name)).collect();
    let fields = fields.iter().rev();
    let mut open: Vec<_> = fields
        .map(|(name, value)| (format!("{field}.{name}"), value))
        .collect();
    while let Some((field, value)) = open.pop() {
        match value {
            _ if warnings.len() >= MAX_WARNINGS => break,
            Value::String(text) => warnings.extend(of_text(&field, text)),
            Value::Array(items) => {
                let items = items.iter().enumerate().rev();
                open.extend(items.map(|(place, item)| (format!("{field}[{place}]"), item)));
            }
            Value::Object(fields) => {
                warnings.extend(fields.keys().filter_map(|name| of_name(&field, name)));
                let fields = fields.iter().rev();
                open.extend(fields.map(|(name, value)| (format!("{field}.{name}"), value)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    warnings.truncate(MAX_WARNINGS);
    warnings
}

fn of_name(field: &str, name: &str) -> Option<String> {
    let literal = next_placeholder(name).map(|_| name).or_else(|| in_braces(name))?;
    Some(format!(
        "A name in '{field}' has '{}', which stays as it is: names are no templates.",
        shown(literal)
    ))
}

/// Returns advice about a text that stays as it is, with the reason.
pub(crate) fn of_constant(field: &str, text: &str, reason: &str) -> Option<String> {
    let own = next_placeholder(text).map(|_| text);
    let literal = own.or_else(|| literal(text))?;
    Some(format!(
        "The field '{field}' has '{}', which stays as it is: {reason}.",
        shown(literal)
    ))
}

fn of_template(field: &str, text: &str) -> Option<String> {
    if ["$event", "$event_ref", "$delivery.id"].contains(&text) {
        return None;
    }
    let mut paths = Vec::from_iter(text.strip_prefix("$event."));
    let mut rest = text;
    let mut is_unclosed = false;
    while let Some((before, path, after)) = next_placeholder(rest) {
        is_unclosed |= is_begun(before);
        paths.push(path);
        rest = after;
    }
    is_unclosed |= is_begun(rest);
    if let Some(unknown) = paths.into_iter().find_map(|path| of_path(field, path)) {
        return Some(unknown);
    }
    let literal = literal(text)
        .filter(|literal| *literal != text || !text.starts_with("$event."))
        .or_else(|| is_unclosed.then_some(text))?;
    Some(format!(
        "The field '{field}' has '{}', which is delivered as it is. There are $event, $event.<path>, $event_ref and \
         $delivery.id as a whole text, and {{{{ event.<path> }}}} also within one; the body that an ingest channel received is \
         in event.details.payload.",
        shown(literal)
    ))
}

/// Whether a text without references begins one.
fn is_begun(text: &str) -> bool {
    let mut open = text.match_indices("{{");
    open.any(|(place, braces)| text[place + braces.len()..].trim_start().starts_with("event"))
}

fn shown(text: &str) -> String {
    text.chars().take(MAX_SHOWN).collect()
}

/// Returns the part of a text that looks like a reference, and is none within a text.
fn literal(text: &str) -> Option<&str> {
    in_braces(text).or_else(|| dollars(text))
}

fn in_braces(text: &str) -> Option<&str> {
    braces(text, "{{", "}}").or_else(|| braces(text, "${", "}"))
}

/// Returns the first part of a text in these braces that names something, and no path into the event.
fn braces<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let (mut from, mut end) = (0, 0);
    loop {
        let at = from + text.get(from..)?.find(open)?;
        from = at + open.len();
        // Sought once for all braces before it: a text may have many.
        if end < from {
            end = from + text.get(from..)?.find(close)?;
        }
        let inside = text.get(from..end)?.trim();
        let is_own = open == "{{" && inside.strip_prefix("event.").is_some_and(|path| !path.is_empty());
        // Blocks and raw values of Handlebars: `{{#if paid}}`, `{{{name}}}`.
        let is_block = open == "{{" && inside.starts_with(['#', '^', '{', '&']) && inside.len() > 1;
        if is_block || !is_own && is_reference(inside) {
            return text.get(at..end + close.len());
        }
    }
}

/// Returns a word of a text that begins like a reference with a dollar sign.
fn dollars(text: &str) -> Option<&str> {
    let references = ["$event", "$event_ref", "$delivery", "$"];
    // A word begins after a blank, or after a sign as in `n=$event.action`.
    let mut words = text.split(|letter: char| letter.is_whitespace() || "=?&,;:/(\"'".contains(letter));
    words.find(|word| {
        let root = word.split(['.', '[']).next().unwrap_or_default();
        let is_whole = *word == text && is_reference(word);
        word.starts_with('$') && (is_whole || references.contains(&root) && *word != "$")
    })
}

/// Returns whether a text is made like a path: `payload.name`, `.id`, `$.items[0]`.
fn is_reference(text: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || "_-.$[]'\"/".contains(letter);
    let is_first = |letter: char| letter.is_alphabetic() || "_.$".contains(letter);
    text.len() > 1
        && text.starts_with(is_first)
        && text.chars().all(is_part)
        && text.contains(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn warnings_about(value: Value) -> Vec<String> {
        of_templates("target.data", &Map::from_iter([("v".to_owned(), value)]))
    }

    #[test]
    fn texts_that_look_like_references_are_warned_of() {
        for (text, shown) in [
            ("{{payload.name}}", "'{{payload.name}}'"),
            ("Hello {{ name }}!", "'{{ name }}'"),
            ("{{event}}", "'{{event}}'"),
            ("{{ event.action }} of {{ .id }}", "'{{ .id }}'"),
            ("${event.action}", "'${event.action}'"),
            ("Order ${ .order.id } came", "'${ .order.id }'"),
            ("$.details.payload.id", "'$.details.payload.id'"),
            ("$details.payload", "'$details.payload'"),
            ("Order $event.resource_id came", "'$event.resource_id'"),
            ("id: $delivery.id", "'$delivery.id'"),
            ("n=$event.resource_id", "'$event.resource_id'"),
            ("http://127.0.0.1/a?x=$event.resource_id", "'$event.resource_id'"),
            ("{{#if event.paid}}yes{{/if}}", "'{{#if event.paid}}'"),
            ("{{{event.action}}}", "'{{{event.action}}'"),
            ("of {{ event.resource_id }", "'of {{ event.resource_id }'"),
        ] {
            let warnings = warnings_about(json!({ "a": [text] }));
            assert_eq!(warnings.len(), 1, "{text}");
            assert!(
                warnings[0].contains(&format!("'target.data.v.a[0]' has {shown}")),
                "{warnings:?}"
            );
        }
    }

    #[test]
    fn references_and_other_texts_are_not_warned_of() {
        for text in [
            "$event",
            "$event_ref",
            "$delivery.id",
            "$event.details.payload.id",
            "{{ event.action }}",
            "a {{event.details['x.y']}} b",
            "costs $5.00",
            "$100",
            "$",
            "a $ b",
            "{{",
            "{{}}",
            "${",
            "${}",
            "{\"a\": {\"b\": 1}}",
            "$$",
            "",
            "{{ event.action }} {{",
            "US$ amount",
        ] {
            assert_eq!(warnings_about(json!(text)), [""; 0], "{text}");
        }
    }

    #[test]
    fn fields_that_no_event_has_are_warned_of() {
        for text in [
            "$event.payload.id",
            "{{ event.body }}",
            "a {{event.action}} {{event.data.x}}",
        ] {
            let warnings = warnings_about(json!(text));
            assert!(warnings[0].contains("no event has a field"), "{warnings:?}");
        }
        let many: Vec<_> = (0..50).map(|place| format!("$event.payload.{place}")).collect();
        assert_eq!(warnings_about(json!(many)).len(), MAX_WARNINGS);
    }

    #[test]
    fn texts_of_a_definition_that_are_no_expressions_are_warned_of() {
        for (text, shown) in [
            ("${ .a ", "'${ .a '"),
            ("Hello ${ .a }!", "'${ .a }'"),
            ("{{ .a }}", "'{{ .a }}'"),
            ("{{ event.action }}", "'{{ event.action }}'"),
            ("$.id", "'$.id'"),
            ("$event.action", "'$event.action'"),
        ] {
            let definition = Map::from_iter([("do".to_owned(), json!([{ "a": { "set": { "x": text } } }]))]);
            let warnings = of_definition("target.definition", &definition);
            assert_eq!(warnings.len(), 1, "{text}");
            let place = format!("'target.definition.do[0].a.set.x' has {shown}");
            assert!(warnings[0].contains(&place), "{warnings:?}");
        }
        for text in [
            "${ .a }",
            " ${ \"{{x}} \\(.a)\" } ",
            ".a.b",
            "$item.x",
            "costs $5",
            "{{",
        ] {
            let definition = Map::from_iter([("if".to_owned(), json!(text))]);
            assert_eq!(of_definition("target.definition", &definition), [""; 0], "{text}");
        }
    }

    #[test]
    fn constants_with_references_are_warned_of() {
        for text in [
            "{{ event.action }}",
            "$event",
            "$event.details.x",
            "a {{name}}",
            "${ .x }",
        ] {
            let vars = Map::from_iter([("v".to_owned(), json!(text))]);
            let warnings = of_constants("target.vars", &vars, "why");
            assert!(
                warnings[0].contains(&format!(
                    "'target.vars.v' has '{}'",
                    literal(text).unwrap_or(text)
                )),
                "{warnings:?}"
            );
        }
        let vars = Map::from_iter([("v".to_owned(), json!("costs $5"))]);
        assert_eq!(of_constants("target.vars", &vars, "why"), [""; 0]);
    }
}
