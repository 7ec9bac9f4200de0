//! Reads bodies: content types, compression and character sets.

use std::io::Read as _;

use encoding_rs::{Encoding, UTF_8};
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use platform::outbound::HeaderValue;
use process::limits::MAX_OUTPUT_BYTES;

use super::request::Response;
use super::{CallError, ErrorKind};

/// Encodings of answers that a call asks for.
pub(super) const ENCODINGS: &str = "gzip, deflate";

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

/// Returns whether a header `accept-encoding` names only encodings that [`decompress`] reads.
pub(super) fn can_read(encodings: &HeaderValue) -> bool {
    let encodings = String::from_utf8_lossy(encodings.as_bytes()).to_ascii_lowercase();
    encodings.split(',').all(|encoding| {
        let name = encoding.split(';').next().unwrap_or_default().trim();
        matches!(name, "" | "identity" | "gzip" | "x-gzip" | "deflate")
    })
}

/// Undoes the compression of a body, within the limit of an answer.
pub(super) fn decompress(answer: &mut Response) -> Result<(), CallError> {
    let encoding = answer.headers.get("content-encoding");
    let encoding = encoding.map(|value| {
        String::from_utf8_lossy(value.as_bytes())
            .trim()
            .to_ascii_lowercase()
    });
    let refused = |detail: String| CallError::new(ErrorKind::Communication, detail);
    let mut decoder: Box<dyn std::io::Read + '_> = match encoding.as_deref() {
        _ if answer.body.is_empty() => return Ok(()),
        None | Some("" | "identity") => return Ok(()),
        Some("gzip" | "x-gzip") => Box::new(MultiGzDecoder::new(answer.body.as_slice())),
        Some("deflate") => Box::new(ZlibDecoder::new(answer.body.as_slice())),
        Some(other) => {
            return Err(refused(format!(
                "The answer is compressed with '{other}', which the call did not ask for."
            )));
        }
    };
    let (mut body, limit) = (Vec::new(), MAX_OUTPUT_BYTES as u64 + 1);
    let read = decoder.by_ref().take(limit).read_to_end(&mut body);
    drop(decoder);
    if read.is_err() {
        return Err(refused(
            "The answer is not compressed as its header 'content-encoding' says.".to_owned(),
        ));
    }
    if body.len() > MAX_OUTPUT_BYTES {
        return Err(refused(format!(
            "The answer has more than the {MAX_OUTPUT_BYTES} bytes that a call takes."
        )));
    }
    answer.body = body;
    answer.headers.remove("content-encoding");
    answer.headers.remove("content-length");
    Ok(())
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
