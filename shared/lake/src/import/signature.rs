//! Recognizes files that are something else than they are said to be, by their first bytes, for messages.

/// Known beginnings, with what such a file is and what to do.
const BEGINNINGS: [(&[u8], &str); 9] = [
    (b"\xff\xfe", "text in UTF-16 (save it as UTF-8)"),
    (b"\xfe\xff", "text in UTF-16 (save it as UTF-8)"),
    (
        b"PK\x03\x04",
        "a spreadsheet or another zip archive (export it as CSV)",
    ),
    (
        b"\xd0\xcf\x11\xe0",
        "a spreadsheet of an old Excel (export it as CSV)",
    ),
    (b"PAR1", "Parquet (set 'format' to \"parquet\")"),
    (b"ARROW1", "an Arrow file (write it as Parquet)"),
    (b"Obj\x01", "Avro (write it as Parquet)"),
    (b"SQLite format 3", "a database of SQLite (export its tables)"),
    (b"%PDF", "a PDF"),
];
/// Beginnings of compressed files that only text may have.
const COMPRESSED: [(&[u8], &str); 2] = [
    (
        b"\x1f\x8b",
        "compressed with gzip (Parquet is compressed within; send it unpacked)",
    ),
    (
        b"\x28\xb5\x2f\xfd",
        "compressed with zstd (Parquet is compressed within; send it unpacked)",
    ),
];

/// Returns what the file is if it is no text of rows.
pub(crate) fn other_than_text(bytes: &[u8]) -> Option<&'static str> {
    let text = bytes.trim_ascii_start();
    let begins = |word: &[u8]| {
        text.get(..word.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(word))
    };
    if begins(b"<!doctype") || begins(b"<html") {
        return Some("a page in HTML, such as a login or an error (check the address)");
    }
    if begins(b"<?xml") {
        return Some("XML");
    }
    find(&BEGINNINGS, bytes)
}

/// Returns what the file is if it is not Parquet.
pub(crate) fn other_than_parquet(bytes: &[u8]) -> Option<&'static str> {
    find(&COMPRESSED, bytes)
        .or_else(|| other_than_text(bytes))
        .or_else(|| {
            let first = bytes.trim_ascii_start().first()?;
            matches!(first, b'{' | b'[').then_some("JSON (set 'format' to \"json\" or \"ndjson\")")
        })
}

fn find(beginnings: &[(&[u8], &'static str)], bytes: &[u8]) -> Option<&'static str> {
    let beginning = beginnings.iter().find(|(start, _)| bytes.starts_with(start));
    beginning.map(|(_, what)| *what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_kinds_are_named() {
        assert!(other_than_text(b" <!DOCTYPE html>").is_some_and(|what| what.contains("HTML")));
        assert!(other_than_text(b"PK\x03\x04...").is_some_and(|what| what.contains("spreadsheet")));
        assert_eq!(other_than_text(b"id,note\n"), None);
        assert!(other_than_parquet(b"\x1f\x8b\x08").is_some_and(|what| what.contains("gzip")));
        assert!(other_than_parquet(b"[{}]").is_some_and(|what| what.contains("JSON")));
        assert_eq!(other_than_parquet(b"id,note\n"), None);
    }
}
