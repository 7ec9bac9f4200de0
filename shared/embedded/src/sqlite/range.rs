//! Computes the bounds of a range of sort keys.

use platform::records::store::Sort;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    Before(String),
    /// After every text.
    Open,
}

impl ToSql for End {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Before(text) => ValueRef::Text(text.as_bytes()),
            // In SQLite every text is less than every blob.
            Self::Open => ValueRef::Blob(&[]),
        }))
    }
}

/// Returns the first text that may be in the range, and its end.
pub(super) fn bounds(sort: &Sort) -> (String, End) {
    match sort {
        Sort::All => (String::new(), End::Open),
        Sort::Prefix(prefix) => (prefix.clone(), behind_prefix(prefix)),
        Sort::Between(low, high) => (low.clone(), End::Before(next(high))),
    }
}

/// Returns the next text in byte order.
pub(super) fn next(text: &str) -> String {
    format!("{text}\0")
}

/// Returns the least text after all texts with the prefix. UTF-8 orders texts as their characters.
fn behind_prefix(prefix: &str) -> End {
    let mut characters: Vec<char> = prefix.chars().collect();
    while let Some(last) = characters.pop() {
        // The step skips surrogates.
        if let Some(following) = (last..=char::MAX).nth(1) {
            characters.push(following);
            return End::Before(characters.into_iter().collect());
        }
    }
    End::Open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_prefix_is_the_least_text_behind_it() {
        let check = |prefix: &str, end: &str| {
            assert_eq!(behind_prefix(prefix), End::Before(end.to_owned()), "{prefix}");
        };
        check("a", "b");
        check("run#", "run$");
        check("a\u{7f}", "a\u{80}");
        check("\u{d7ff}", "\u{e000}");
        check("a\u{10ffff}", "b");
        check("a\u{10ffff}\u{10ffff}", "b");
        assert_eq!(behind_prefix("\u{10ffff}"), End::Open);
        assert_eq!(behind_prefix(""), End::Open);
    }
}
