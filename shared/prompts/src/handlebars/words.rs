//! Recognizes characters, names and literals of a tag.

use super::token::Kind;

/// Returns whether JavaScript's `\s` matches the character.
pub fn is_space(character: char) -> bool {
    match character {
        '\u{feff}' => true,
        '\u{85}' => false,
        _ => character.is_whitespace(),
    }
}

/// Returns whether a character may be part of a name: all except operators, quotes, brackets and white space.
pub fn is_name(character: char) -> bool {
    !is_space(character) && !"!\"#%&'()*+,./;<=>@[\\]^`{|}~".contains(character)
}

/// Returns the name in `/name}}}}`.
pub fn raw_end(behind: &str) -> Option<&str> {
    let behind = behind.strip_prefix('/')?;
    let name = behind.get(..behind.find(|next| !is_name(next))?)?;
    let is_end = behind.get(name.len()..)?.starts_with("}}}}");
    (is_end && !name.is_empty()).then_some(name)
}

/// Returns the length of white space and `}}`, with or without a tilde.
pub fn tag_end(behind: &str) -> Option<usize> {
    let rest = behind.trim_start_matches(is_space);
    let rest = rest.strip_prefix('~').unwrap_or(rest);
    let rest = rest.strip_prefix("}}")?;
    Some(behind.len() - rest.len())
}

pub fn ends_name(rest: Option<&str>) -> bool {
    let next = rest.and_then(|rest| rest.chars().next());
    next.is_some_and(|next| is_space(next) || "=~}/.)|]".contains(next))
}

fn ends_literal(rest: Option<&str>) -> bool {
    let next = rest.and_then(|rest| rest.chars().next());
    next.is_some_and(|next| is_space(next) || "~})".contains(next))
}

/// Returns a literal, the beginning of block parameters, or a name, with its length.
pub fn word(rest: &str) -> Option<(Kind, usize)> {
    for (text, kind) in [
        ("true", Kind::Bool(true)),
        ("false", Kind::Bool(false)),
        ("undefined", Kind::Undefined),
        ("null", Kind::Null),
    ] {
        if rest.starts_with(text) && ends_literal(rest.get(text.len()..)) {
            return Some((kind, text.len()));
        }
    }
    if let Some(number) = number(rest)
        && ends_literal(rest.get(number.len()..))
    {
        return Some((Kind::Number(number.parse().ok()?), number.len()));
    }
    if let Some(behind) = rest.strip_prefix("as") {
        let params = behind.trim_start_matches(is_space);
        if params.len() < behind.len()
            && let Some(params) = params.strip_prefix('|')
        {
            return Some((Kind::OpenBlockParams, rest.len() - params.len()));
        }
    }
    let name = rest.get(..rest.find(|next| !is_name(next)).unwrap_or(rest.len()))?;
    let is_name = !name.is_empty() && ends_name(rest.get(name.len()..));
    is_name.then(|| (Kind::Id(name.to_owned()), name.len()))
}

/// Matches `-?[0-9]+(\.[0-9]+)?`.
fn number(rest: &str) -> Option<&str> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let sign = usize::from(rest.starts_with('-'));
    let whole = digits(rest.get(sign..)?);
    if whole == 0 {
        return None;
    }
    let end = sign + whole;
    let part = rest
        .get(end..)
        .and_then(|rest| rest.strip_prefix('.'))
        .map_or(0, digits);
    rest.get(..if part > 0 { end + 1 + part } else { end })
}
