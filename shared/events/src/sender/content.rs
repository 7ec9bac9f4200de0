//! Builds the text that a sender signs, from a template such as `{{ timestamp }}.{{ body }}`.

use std::borrow::Cow;

use platform::{Error, Result};

use super::source::{self, Fields};

/// Most characters of a template.
const MAX_CHARACTERS: usize = 1_000;
const LINES: &str = "lines:";

/// What a template may name besides the values of [`source`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Values<'a> {
    /// Time of the request, as its sender wrote it.
    pub timestamp: &'a str,
    pub id: &'a str,
    /// Secret of the channel, where a template may contain it.
    pub secret: &'a str,
}

/// Fails with 400 for a template that names something unknown.
pub fn check(field: &str, template: &str) -> Result<()> {
    if template.chars().count() > MAX_CHARACTERS {
        return Err(Error::invalid_field(
            field,
            format!("has at most {MAX_CHARACTERS} characters."),
        ));
    }
    for name in pieces(template).filter_map(|piece| piece.is_name.then_some(piece.text)) {
        let is_of_template = NAMES.contains(&name) || name.starts_with(LINES);
        if !is_of_template {
            let is_of_source = ["header:", "query:", "body:"]
                .iter()
                .any(|kind| name.starts_with(kind));
            if !is_of_source {
                return Err(Error::invalid_field(
                    field,
                    format!(
                        "names '{name}'; there are {}, and values such as header:x-id, query:id and body:data.id.",
                        NAMES.join(", ")
                    ),
                ));
            }
            source::check(field, name)?;
        }
    }
    match pieces(template).any(|piece| piece.is_name) {
        true => Ok(()),
        false => Err(Error::invalid_field(
            field,
            "names nothing of the request; write what is signed as in {{ timestamp }}.{{ body }}.",
        )),
    }
}

const NAMES: [&str; 8] = [
    "body",
    "timestamp",
    "id",
    "url",
    "method",
    "form_sorted",
    "crc32",
    "secret",
];

/// Whether a template names a value.
pub fn names(template: &str, name: &str) -> bool {
    pieces(template).any(|piece| piece.is_name && piece.text == name)
}

/// Returns the signed bytes; None where a value is not in the request.
pub fn fill(template: &str, fields: Fields<'_>, values: Values<'_>) -> Option<Vec<u8>> {
    let mut content = Vec::with_capacity(fields.request.body.len() + template.len() + 64);
    for piece in pieces(template) {
        match piece.is_name {
            false => content.extend_from_slice(piece.text.as_bytes()),
            true => content.extend_from_slice(&value(piece.text, fields, values)?),
        }
    }
    Some(content)
}

fn value<'a>(name: &str, fields: Fields<'a>, values: Values<'a>) -> Option<Cow<'a, [u8]>> {
    let text = |text: &'a str| Some(Cow::Borrowed(text.as_bytes()));
    match name {
        "body" => Some(Cow::Borrowed(fields.request.body)),
        "timestamp" => text(values.timestamp),
        "id" => text(values.id),
        "secret" => text(values.secret),
        "url" => text(fields.request.url),
        "method" => text(fields.request.method),
        "crc32" => Some(Cow::Owned(
            crc32fast::hash(fields.request.body).to_string().into_bytes(),
        )),
        "form_sorted" => Some(Cow::Owned(form_sorted(fields).into_bytes())),
        name => match name.strip_prefix(LINES) {
            Some(names) => Some(Cow::Owned(lines(names, fields).into_bytes())),
            None => source::find_text(name, fields).map(|text| Cow::Owned(text.into_bytes())),
        },
    }
}

/// Returns the parameters of a form in the order of their names, each once, without anything between; empty
/// for another body.
fn form_sorted(fields: Fields<'_>) -> String {
    if !fields.request.is_form() {
        return String::new();
    }
    let mut pairs: Vec<_> = url::form_urlencoded::parse(fields.request.body).collect();
    pairs.sort();
    pairs.dedup();
    pairs
        .into_iter()
        .flat_map(|(name, value)| [name, value])
        .collect()
}

/// Returns a line with the name and a line with the text of each field of the body that is there.
fn lines(names: &str, fields: Fields<'_>) -> String {
    let lines = names.split(',').filter_map(|name| {
        let value = fields.body.get(name)?.as_str()?;
        Some(format!("{name}\n{value}\n"))
    });
    lines.collect()
}

pub(super) struct Piece<'t> {
    pub text: &'t str,
    pub is_name: bool,
}

pub(super) fn pieces(template: &str) -> impl Iterator<Item = Piece<'_>> {
    template
        .split("{{")
        .enumerate()
        .flat_map(|(number, part)| {
            let text = |text| Piece { text, is_name: false };
            match part.split_once("}}").filter(|_| number > 0) {
                None => [Some(text(part)), None],
                Some((name, after)) => [
                    Some(Piece {
                        text: name.trim(),
                        is_name: true,
                    }),
                    Some(text(after)),
                ],
            }
        })
        .flatten()
}
