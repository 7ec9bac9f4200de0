//! Evaluates `If-Match`, for a write that is valid only for the version that the caller read, and
//! `If-None-Match`, for an answer that the caller already has.

use axum::http::{HeaderMap, header};

use crate::error::{Error, ErrorKind, Result};

/// 412 unless `If-Match` is missing, `*`, or names the current tag; `current` is the text between the quotes.
pub fn if_match(headers: &HeaderMap, current: &str) -> Result<()> {
    let given: Vec<_> = headers.get_all(header::IF_MATCH).iter().collect();
    let names_it = |text: &str| text.trim() == "*" || text.trim().trim_matches('"') == current;
    let held = given
        .iter()
        .any(|value| value.to_str().is_ok_and(|list| list.split(',').any(names_it)));
    if given.is_empty() || held {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::PreconditionFailed,
        format!(
            "If-Match does not name the current version, whose ETag is \"{current}\"; read it again and repeat."
        ),
    ))
}

/// Whether `If-None-Match` names this tag, weak or strong; `current` is the text between the quotes. `*`
/// matches no tag.
pub fn if_none_match(headers: &HeaderMap, current: &str) -> bool {
    let names_it = |text: &str| {
        let text = text.trim();
        let quoted = text.strip_prefix("W/").unwrap_or(text);
        quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')) == Some(current)
    };
    headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .any(|value| value.to_str().is_ok_and(|list| list.split(',').any(names_it)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_current_tag_holds() {
        let check = |value: Option<&str>| {
            let mut headers = HeaderMap::new();
            if let Some(value) = value {
                headers.insert(header::IF_MATCH, value.parse().unwrap());
            }
            if_match(&headers, "3").is_ok()
        };
        assert!(check(None) && check(Some("*")) && check(Some("\"3\"")) && check(Some("\"2\", \"3\"")));
        assert!(!check(Some("\"2\"")) && !check(Some("W/\"3\"")) && !check(Some("")));
    }

    #[test]
    fn a_tag_is_known_whether_it_is_weak_or_strong() {
        let check = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::IF_NONE_MATCH, value.parse().unwrap());
            if_none_match(&headers, "a1")
        };
        assert!(check("\"a1\"") && check("W/\"a1\"") && check("\"x\" , W/\"a1\""));
        assert!(!check("*") && !check("a1") && !check("\"a\"") && !check("") && !check("\"\""));
        assert!(!if_none_match(&HeaderMap::new(), "a1"));
    }
}
