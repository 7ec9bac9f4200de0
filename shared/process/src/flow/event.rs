//! Matches events with the filters of tasks that wait for them.

use regex::{Regex, RegexBuilder};

use crate::data::Data;
use crate::definition::{EventFilter, Template};

/// Maximum size of a compiled pattern, in bytes.
const MAX_COMPILED_BYTES: usize = 1_024 * 1_024;
/// Characters that make a text a regular expression. A dot alone does not, because event types contain dots.
const SPECIAL: [char; 11] = ['*', '+', '?', '(', ')', '[', ']', '{', '}', '|', '^'];

/// Whether an event, with its attributes as fields, matches a filter.
///
/// `results` are those of the expressions of [`attributes`], in their order. A result of true or false
/// decides; any other is the expected value of the attribute. A text is compared, or is a regular expression
/// for the whole value.
pub fn matches(filter: &EventFilter, event: &Data, results: &[Data]) -> bool {
    let mut results = results.iter().cloned();
    filter.with.iter().all(|(name, template)| {
        let found = event.field(name);
        let wanted = template.filled(results.by_ref().take(template.expressions().len()));
        if let (Template::Expression(_), Some(decision)) = (template, wanted.as_bool()) {
            return decision;
        }
        found.is_some_and(|found| fits(template, &wanted, &found))
    })
}

/// Returns the attributes for which a filter has expressions, with their templates. Each is evaluated with
/// the attribute's value as its input, or null if the event lacks it.
pub fn attributes<'a>(
    filter: &'a EventFilter,
    event: &'a Data,
) -> impl Iterator<Item = (&'a Template, Data)> + 'a {
    let with = filter
        .with
        .iter()
        .filter(|(_, template)| template.constant().is_none());
    with.map(|(name, template)| (template, event.field(name).unwrap_or_else(Data::null)))
}

fn fits(template: &Template, wanted: &Data, found: &Data) -> bool {
    if wanted == found {
        return true;
    }
    let (Template::Constant(_), Some(wanted), Some(found)) = (template, wanted.as_text(), found.as_text())
    else {
        return false;
    };
    pattern(&wanted).is_some_and(|pattern| pattern.is_ok_and(|pattern| pattern.is_match(&found)))
}

/// Checks that a text of a filter is a valid pattern. The error is a sentence.
pub fn check_pattern(text: &str) -> Result<(), String> {
    pattern(text).map_or(Ok(()), |pattern| pattern.map(|_| ()))
}

/// Compiles a text that is a regular expression; it must match the whole value.
pub(crate) fn pattern(text: &str) -> Option<Result<Regex, String>> {
    if !text.contains(SPECIAL) && !text.contains(['\\', '$']) {
        return None;
    }
    let whole = RegexBuilder::new(&format!("^(?:{text})$"))
        .size_limit(MAX_COMPILED_BYTES)
        .build();
    Some(whole.map_err(|error| {
        let reason = error.to_string();
        let reason = reason
            .lines()
            .last()
            .unwrap_or_default()
            .trim_start_matches("error: ");
        format!("The text is not a regular expression: {reason}.")
    }))
}
