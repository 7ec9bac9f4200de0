//! Expands addresses: URI templates (RFC 6570, levels 1 to 3), and the paths of OpenAPI documents.
//!
//! Data fills an address and must not lead it elsewhere. So a variable in a path has a value, and no value
//! makes a part of a path empty, `.` or `..`: parsers of URLs remove such parts, and `DELETE
//! /customers/7/cards/..` would delete the customer. In a query a missing variable is left out, as the RFC
//! says.
//!
//! The existing crates have been unmaintained for years, and expand lists and objects, which the DSL forbids.

mod path;

use platform::outbound::MAX_URL_BYTES;

use self::path::Span;
pub use self::path::has_dot_segment;
use crate::data::Data;
use crate::source::Tree;

/// Maximum length of a quoted template, in characters.
const MAX_QUOTED: usize = 100;

/// Checks that a text is a URI template. The error is a sentence.
pub fn check(template: &str) -> Result<(), String> {
    parts(template).map(|_| ())
}

const OPERATORS: [char; 7] = ['+', '#', '.', '/', ';', '?', '&'];

/// Form in which an operator writes its variables.
struct Style {
    first: &'static str,
    separator: &'static str,
    is_named: bool,
    /// Text between a name and an empty value.
    empty: &'static str,
    /// Whether reserved characters are kept.
    is_open: bool,
}

/// Expands a URI template; variables are the fields of an object. A list or an object is an error, as is a
/// variable of the path that is missing or null. The error is a sentence.
pub fn expand(template: &str, variables: &Data) -> Result<String, String> {
    fill(&parts(template)?, variables)
}

/// Expands the path of an OpenAPI document, where any text between braces is the name of a parameter. The
/// rules are those of [`expand`].
pub fn expand_path(path: &str, parameters: &Data) -> Result<String, String> {
    if !path.starts_with('/') {
        return Err("The path of the operation does not begin with '/'.".to_owned());
    }
    fill(&path_parts(path), parameters)
}

fn fill(pieces: &[Piece<'_>], variables: &Data) -> Result<String, String> {
    let fields = match variables.tree() {
        Tree::Object(fields) => fields,
        _ => Vec::new(),
    };
    let (mut address, mut spans) = (String::new(), Vec::new());
    let mut rest = pieces.iter();
    while let Some(piece) = rest.next() {
        match piece {
            Piece::Literal(text) => encode(text, true, &mut address),
            Piece::Variables(operator, names) => {
                let is_in_path = !address.contains(['?', '#']) && !matches!(operator, Some('?' | '&' | '#'));
                let style = style(*operator);
                let mut before = style.first;
                let mut names = names.iter();
                while let Some(&name) = names.next() {
                    let field = fields.iter().find(|(other, _)| other == name);
                    let Some(value) = value(name, field.map(|(_, value)| value))? else {
                        if is_in_path {
                            return Err(format!(
                                "The variable '{name}' of the address is missing or null; a path needs each of its variables."
                            ));
                        }
                        continue;
                    };
                    if is_in_path && style.is_open {
                        let is_last = names.len() == 0 && rest.clone().all(continues_query);
                        path::check_open(name, &value, &address, is_last)?;
                    }
                    address.push_str(before);
                    before = style.separator;
                    if style.is_named {
                        encode(name, true, &mut address);
                        address.push_str(if value.is_empty() { style.empty } else { "=" });
                    }
                    let start = address.len();
                    encode(&value, style.is_open, &mut address);
                    let end = address.len();
                    spans.push(Span { name, start, end });
                    if end > MAX_URL_BYTES {
                        return Err(format!("The address is longer than {MAX_URL_BYTES} bytes."));
                    }
                }
            }
        }
    }
    path::check(&address, &spans)?;
    Ok(address)
}

/// Whether nothing of a piece comes before a `?` that stands already.
fn continues_query(piece: &Piece<'_>) -> bool {
    matches!(piece, Piece::Literal("") | Piece::Variables(Some('&'), _))
}

fn value(name: &str, value: Option<&Tree>) -> Result<Option<String>, String> {
    match value {
        None | Some(Tree::Null) => Ok(None),
        Some(Tree::Text(text)) => Ok(Some(text.clone())),
        Some(Tree::Number(number)) => Ok(Some(number.clone())),
        Some(Tree::Bool(value)) => Ok(Some(value.to_string())),
        Some(other) => Err(format!(
            "The variable '{name}' of the address is {}; an address takes texts, numbers and booleans.",
            other.kind()
        )),
    }
}

/// RFC 6570, appendix A.
fn style(operator: Option<char>) -> Style {
    let (first, separator, is_named, empty, is_open) = match operator {
        Some('+') => ("", ",", false, "", true),
        Some('#') => ("#", ",", false, "", true),
        Some('.') => (".", ".", false, "", false),
        Some('/') => ("/", "/", false, "", false),
        Some(';') => (";", ";", true, "", false),
        Some('?') => ("?", "&", true, "=", false),
        Some('&') => ("&", "&", true, "=", false),
        _ => ("", ",", false, "", false),
    };
    Style {
        first,
        separator,
        is_named,
        empty,
        is_open,
    }
}

/// Percent-encodes all characters except unreserved ones. With `is_open` also keeps reserved characters, and
/// characters that are already encoded.
fn encode(text: &str, is_open: bool, out: &mut String) {
    let bytes = text.as_bytes();
    for (index, byte) in bytes.iter().enumerate() {
        let is_hex = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
        let stays = byte.is_ascii_alphanumeric()
            || b"-._~".contains(byte)
            || (is_open && b":/?#[]@!$&'()*+,;=".contains(byte))
            || (is_open && *byte == b'%' && is_hex(index + 1) && is_hex(index + 2));
        if stays {
            out.push(char::from(*byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
}

enum Piece<'a> {
    Literal(&'a str),
    /// Operator and names.
    Variables(Option<char>, Vec<&'a str>),
}

fn parts(template: &str) -> Result<Vec<Piece<'_>>, String> {
    let wrong = |reason: &str| {
        let quoted: String = template.chars().take(MAX_QUOTED).collect();
        format!("The URI template '{quoted}' {reason}.")
    };
    let (mut pieces, mut rest) = (Vec::new(), template);
    loop {
        let Some((literal, after)) = rest.split_once('{') else {
            if rest.contains('}') {
                return Err(wrong("has a '}' without its '{'"));
            }
            pieces.push(Piece::Literal(rest));
            return Ok(pieces);
        };
        if literal.contains('}') {
            return Err(wrong("has a '}' without its '{'"));
        }
        pieces.push(Piece::Literal(literal));
        let Some((inner, after)) = after.split_once('}') else {
            return Err(wrong("has a '{' without its '}'"));
        };
        let operator = inner.chars().next().filter(|first| OPERATORS.contains(first));
        let names = inner.strip_prefix(OPERATORS).unwrap_or(inner);
        let names: Vec<&str> = names.split(',').collect();
        let is_name = |name: &&str| {
            !name.is_empty()
                && name
                    .chars()
                    .all(|one| one.is_alphanumeric() || matches!(one, '_' | '.' | '-' | '%'))
        };
        if !names.iter().all(is_name) {
            return Err(wrong("has braces around what is no name; write {name}"));
        }
        pieces.push(Piece::Variables(operator, names));
        rest = after;
    }
}

fn path_parts(path: &str) -> Vec<Piece<'_>> {
    let (mut pieces, mut rest) = (Vec::new(), path);
    while let Some((literal, after)) = rest.split_once('{')
        && let Some((name, after)) = after.split_once('}')
    {
        pieces.push(Piece::Literal(literal));
        pieces.push(Piece::Variables(None, vec![name]));
        rest = after;
    }
    pieces.push(Piece::Literal(rest));
    pieces
}
