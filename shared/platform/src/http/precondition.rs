//! `If-Match`: a write that holds only for the version that the caller read.

use axum::http::{HeaderMap, header};

use crate::error::{Error, ErrorKind, Result};

/// Refuses with 412 unless `If-Match` is missing, `*`, or names the current tag; `current` is the text between the quotes.
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
}
