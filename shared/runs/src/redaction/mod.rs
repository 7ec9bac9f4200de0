//! Strikes secrets out of what comes from outside, in the forms in which a server may return them: as they
//! are, escaped for JSON, HTML or a URL, in base64 or in hexadecimal digits, and in one of these within
//! another.
//!
//! A server that got a secret may send it back, in an answer or in a message of an error, and answers become
//! results, histories and logs.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::Value;

/// Takes the place of a secret.
const PLACEHOLDER: &str = "[secret]";
/// Minimum length of a value that is struck, in bytes: shorter ones are parts of ordinary texts.
const MIN_BYTES: usize = 6;
/// Minimum length of a form in base64, for the same reason.
const MIN_BASE64: usize = 8;
/// Minimum length of a line of a longer value, such as of a key, that is struck by itself.
const MIN_LINE: usize = 16;
/// Maximum number of digits in base64 that hold the rest of a secret beside a form of it.
const EDGE: usize = 3;
/// Number of escapes within each other that are undone.
const DEPTH: u32 = 2;
/// Maximum length of an escape of HTML, in bytes.
const MAX_HTML_ESCAPE: usize = 12;
/// Field of credentials that is no secret.
const PUBLIC: &str = "username";

/// Values to strike.
#[derive(Clone, Default)]
pub struct Redaction {
    values: Vec<String>,
    /// Made at the first use, and again when a value is added.
    finder: OnceLock<Option<Arc<Finder>>>,
}

/// Forms of all values.
struct Finder {
    automaton: AhoCorasick,
    forms: Vec<Form>,
    /// Length of the shortest form, in bytes.
    shortest: usize,
}

impl Redaction {
    /// Adds the texts and numbers of a secret.
    pub fn add_secret(&mut self, secret: &Value) {
        match secret {
            Value::String(text) => self.add(text),
            Value::Number(number) => self.add(&number.to_string()),
            Value::Array(items) => items.iter().for_each(|item| self.add_secret(item)),
            Value::Object(fields) => {
                let fields = fields.iter().filter(|(name, _)| *name != PUBLIC);
                fields.for_each(|(_, value)| self.add_secret(value));
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Adds a text, the token behind an authentication scheme, and the lines of a text of several.
    pub fn add(&mut self, text: &str) {
        let text = text.trim();
        let mut parts = vec![text];
        if let Some((scheme, token)) = text.split_once(' ')
            && scheme.bytes().all(|byte| byte.is_ascii_alphabetic())
            && !token.contains(' ')
        {
            parts.push(token);
        }
        // The user name and the password behind the scheme `Basic` are no secret but for the password.
        let basic = text
            .split_once(' ')
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"));
        let pair = basic.and_then(|(_, token)| STANDARD.decode(token).ok());
        let pair = pair.and_then(|pair| String::from_utf8(pair).ok());
        if let Some((_, password)) = pair.as_deref().and_then(|pair| pair.split_once(':')) {
            parts.push(password);
        }
        parts.extend(text.lines().map(str::trim).filter(|line| line.len() >= MIN_LINE));
        for part in parts {
            if part.len() >= MIN_BYTES && !self.values.iter().any(|value| value == part) {
                self.values.push(part.to_owned());
                self.finder = OnceLock::new();
            }
        }
    }

    /// Does work on a large text off the async threads: it takes some ten milliseconds.
    pub async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> platform::Result<T> {
        let redaction = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&redaction)).await;
        done.map_err(platform::Error::internal)
    }

    pub fn text(&self, text: String) -> String {
        match self.struck(text.as_bytes()) {
            // Matches begin and end at characters of the values, so the rest is UTF-8.
            Some(struck) => String::from_utf8_lossy(&struck).into_owned(),
            None => text,
        }
    }

    pub fn bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        self.struck(&bytes).unwrap_or(bytes)
    }

    /// Returns the bytes without the values; None where they have none.
    fn struck(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        if self.values.is_empty() {
            return None;
        }
        let mut places = Vec::new();
        match self.finder.get_or_init(|| self.make_finder().map(Arc::new)) {
            Some(finder) if bytes.len() < finder.shortest => return None,
            Some(finder) => search(&View::new(bytes), DEPTH, finder, &mut places),
            // Too many values for an automaton: nothing is let through.
            None => places.push(0..bytes.len()),
        }
        if places.is_empty() {
            return None;
        }
        places.sort_unstable_by_key(|place| place.start);
        let (mut struck, mut end) = (Vec::with_capacity(bytes.len()), 0);
        for place in places {
            if place.start >= end {
                struck.extend_from_slice(bytes.get(end..place.start).unwrap_or_default());
                struck.extend_from_slice(PLACEHOLDER.as_bytes());
            }
            end = end.max(place.end);
        }
        struck.extend_from_slice(bytes.get(end..).unwrap_or_default());
        Some(struck)
    }

    fn make_finder(&self) -> Option<Finder> {
        let forms = self.forms();
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .ascii_case_insensitive(true)
            .build(forms.iter().map(|form| &form.bytes));
        Some(Finder {
            automaton: automaton.ok()?,
            shortest: forms
                .iter()
                .map(|form| form.bytes.len())
                .min()
                .unwrap_or_default(),
            forms,
        })
    }

    fn forms(&self) -> Vec<Form> {
        let mut forms = Vec::new();
        for value in &self.values {
            let plain = |bytes: Vec<u8>| Form {
                bytes,
                is_base64: false,
            };
            forms.push(plain(value.as_bytes().to_vec()));
            if value.contains(' ') {
                // A form of a web page writes a blank as a plus.
                forms.push(plain(value.replace(' ', "+").into_bytes()));
            }
            forms.push(plain(hex::encode(value).into_bytes()));
            for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
                // Three bytes are four digits, so the digits depend on how many bytes stand before the value.
                for skipped in 0..3 {
                    let whole = value.as_bytes().get(skipped..).unwrap_or_default();
                    let whole = whole.get(..whole.len() / 3 * 3).unwrap_or_default();
                    let digits = engine.encode(whole);
                    if digits.len() >= MIN_BASE64 {
                        forms.push(Form {
                            bytes: digits.into_bytes(),
                            is_base64: true,
                        });
                    }
                }
            }
        }
        forms
    }
}

struct Form {
    bytes: Vec<u8>,
    /// Whether the digits beside it may hold the rest of the value.
    is_base64: bool,
}

/// Text whose escapes are undone, with the place of each byte in the original text.
struct View {
    bytes: Vec<u8>,
    /// Place of each byte, and then the end of the text.
    starts: Vec<usize>,
}

impl View {
    fn new(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.to_vec(),
            starts: (0..=bytes.len()).collect(),
        }
    }

    /// Undoes escapes: `escape` reads the one at the beginning of a text. None where the text has no escape.
    fn unescaped(&self, marks: &[u8], escape: fn(&[u8]) -> Option<Escape>) -> Option<Self> {
        if !self.bytes.iter().any(|byte| marks.contains(byte)) {
            return None;
        }
        let mut view = Self {
            bytes: Vec::with_capacity(self.bytes.len()),
            starts: Vec::with_capacity(self.starts.len()),
        };
        let mut at = 0;
        while let Some(rest) = self.bytes.get(at..)
            && let Some(first) = rest.first()
        {
            let start = self.starts.get(at).copied().unwrap_or_default();
            match Some(rest).filter(|_| marks.contains(first)).and_then(escape) {
                Some(Escape { bytes, length }) => {
                    view.starts.extend(bytes.iter().map(|_| start));
                    view.bytes.extend(bytes);
                    at += length;
                }
                None => {
                    view.starts.push(start);
                    view.bytes.push(*first);
                    at += 1;
                }
            }
        }
        view.starts.extend(self.starts.last());
        Some(view)
    }

    /// Returns the place of a match in the original text.
    fn place(&self, found: &Range<usize>) -> Option<Range<usize>> {
        Some(*self.starts.get(found.start)?..*self.starts.get(found.end)?)
    }

    /// Widens a match by the digits of base64 beside it.
    fn widened(&self, found: Range<usize>) -> Range<usize> {
        let is_digit = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
        let before = self.bytes.get(..found.start).unwrap_or_default();
        let after = self.bytes.get(found.end..).unwrap_or_default();
        let before = before.iter().rev().take(EDGE).take_while(is_digit).count();
        let after = after.iter().take(EDGE).take_while(is_digit).count();
        found.start - before..found.end + after
    }
}

/// Finds the forms in a view, and in what it says without its escapes.
fn search(view: &View, depth: u32, finder: &Finder, places: &mut Vec<Range<usize>>) {
    for found in finder.automaton.find_overlapping_iter(&view.bytes) {
        let is_base64 = finder
            .forms
            .get(found.pattern().as_usize())
            .is_some_and(|form| form.is_base64);
        let range = match is_base64 {
            true => view.widened(found.range()),
            false => found.range(),
        };
        places.extend(view.place(&range));
    }
    if depth == 0 {
        return;
    }
    let views = [
        view.unescaped(b"\\", json_escape),
        view.unescaped(b"%", percent_escape),
        view.unescaped(b"&", html_escape),
        // Base64 is often broken into lines.
        view.unescaped(b"\r\n", line_end),
    ];
    for view in views.into_iter().flatten() {
        search(&view, depth - 1, finder, places);
    }
}

/// Escape at the beginning of a text.
struct Escape {
    /// What it stands for.
    bytes: Vec<u8>,
    /// Its length in the text.
    length: usize,
}

#[expect(clippy::unnecessary_wraps, reason = "it is one of several escapes")]
fn line_end(_: &[u8]) -> Option<Escape> {
    Some(Escape {
        bytes: Vec::new(),
        length: 1,
    })
}

/// `&amp;`, `&#38;` or `&#x26;`
fn html_escape(text: &[u8]) -> Option<Escape> {
    let end = text.iter().take(MAX_HTML_ESCAPE).position(|byte| *byte == b';')?;
    let name = std::str::from_utf8(text.get(1..end)?).ok()?;
    let character = match name {
        "amp" => '&',
        "apos" => '\'',
        "gt" => '>',
        "lt" => '<',
        "quot" => '"',
        _ => {
            let number = name.strip_prefix('#')?;
            let number = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(number.ok()?)?
        }
    };
    Some(Escape {
        bytes: character.to_string().into_bytes(),
        length: end + 1,
    })
}

/// `%2F`
fn percent_escape(text: &[u8]) -> Option<Escape> {
    Some(Escape {
        bytes: hex::decode(text.get(1..3)?).ok()?,
        length: 3,
    })
}

/// `\n`, `\u00e4`, or a pair such as `\ud83d\ude00`
fn json_escape(text: &[u8]) -> Option<Escape> {
    let lengths = match text.get(1)? {
        b'u' => [12, 6],
        _ => [2, 2],
    };
    lengths.into_iter().find_map(|length| {
        let escape = std::str::from_utf8(text.get(..length)?).ok()?;
        let character: char = serde_json::from_str(&format!("\"{escape}\"")).ok()?;
        Some(Escape {
            bytes: character.to_string().into_bytes(),
            length,
        })
    })
}

#[cfg(test)]
mod tests;
