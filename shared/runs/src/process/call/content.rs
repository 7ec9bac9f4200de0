//! Reads content types, and texts in their character sets.

use encoding_rs::{Encoding, UTF_8};

/// A content type in lower case, without its other parameters.
pub(super) struct ContentType {
    pub kind: String,
    pub charset: Option<String>,
}

impl ContentType {
    pub fn of(header: &str) -> Self {
        let mut parts = header.split(';');
        let kind = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        let charset = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            let is_charset = name.trim().eq_ignore_ascii_case("charset");
            is_charset.then(|| value.trim().trim_matches('"').to_owned())
        });
        Self { kind, charset }
    }

    pub fn is_json(&self) -> bool {
        self.kind == "application/json" || self.kind.ends_with("+json")
    }

    pub fn is_form(&self) -> bool {
        self.kind == "application/x-www-form-urlencoded"
    }

    /// Whether a body of this type has bytes that no text holds.
    pub fn is_bytes(&self) -> bool {
        const KINDS: [&str; 4] = [
            "application/octet-stream",
            "application/pdf",
            "application/zip",
            "application/gzip",
        ];
        let families = ["image/", "audio/", "video/"];
        KINDS.contains(&self.kind.as_str())
            || (families.iter().any(|family| self.kind.starts_with(family)) && !self.kind.ends_with("+xml"))
    }
}

/// Returns the text of a body: by its byte order mark, else in the character set of its content type, else
/// UTF-8. None where the bytes are no such text.
pub(super) fn text(body: &[u8], charset: Option<&str>) -> Option<String> {
    let (encoding, body) = match Encoding::for_bom(body) {
        Some((encoding, length)) => (encoding, body.get(length..).unwrap_or_default()),
        None => match charset {
            Some(charset) => (Encoding::for_label(charset.as_bytes())?, body),
            None => (UTF_8, body),
        },
    };
    let text = encoding.decode_without_bom_handling_and_without_replacement(body)?;
    Some(text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_decoded_by_mark_and_charset() {
        assert_eq!(text("é".as_bytes(), None).as_deref(), Some("é"));
        assert_eq!(text(&[0xe9], Some("ISO-8859-1")).as_deref(), Some("é"));
        assert_eq!(
            text(&[0xef, 0xbb, 0xbf, b'a'], Some("iso-8859-1")).as_deref(),
            Some("a")
        );
        assert_eq!(text(&[0xff, 0xfe, b'a', 0], None).as_deref(), Some("a"));
        assert_eq!(text(&[0xff], None), None);
        assert_eq!(text(b"a", Some("klingon")), None);
    }
}
