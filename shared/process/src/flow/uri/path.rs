//! Checks what values do to the path of an address.
//!
//! A value is judged with what it becomes in the address: the whole segment in which it stands, decoded as
//! often as a server may decode it, and with `\` for `/`.

/// Where a value stands in an address, in bytes.
pub struct Span<'a> {
    pub name: &'a str,
    pub start: usize,
    pub end: usize,
}

/// Part of a path between two slashes.
struct Segment<'a> {
    text: &'a str,
    start: usize,
}

impl Segment<'_> {
    fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Returns the first value in the segment, of values in the order of the address.
    fn first_of<'a>(&self, spans: &'a [Span<'a>]) -> Option<&'a Span<'a>> {
        let first = spans.partition_point(|span| span.end < self.start);
        spans.get(first).filter(|span| span.start <= self.end())
    }
}

/// Fails if a value makes a segment of the path empty, `.` or `..`, or leaves an address without a host. The
/// spans are in the order of the address.
pub fn check(address: &str, spans: &[Span<'_>]) -> Result<(), String> {
    if let Some(authority) = authority(address)
        && authority.is_empty()
    {
        return Err("The address has no host.".to_owned());
    }
    for segment in segments(address) {
        let Some(span) = segment.first_of(spans) else {
            continue;
        };
        let decoded = decoded(segment.text);
        // A folder's name may end in a slash, and so may a whole address.
        let is_of_folder = segment.text.is_empty() && ends_folder(address, spans, segment.end());
        if (is_empty(&decoded) && !is_of_folder) || has_dots(&decoded) {
            return Err(format!(
                "The variable '{}' of the address makes a part of its path empty, '.' or '..', which leads elsewhere.",
                span.name
            ));
        }
    }
    Ok(())
}

/// Fails if a value whose reserved characters are kept ends the path before the rest of the template, or
/// continues the host.
pub fn check_open(name: &str, value: &str, before: &str, is_last: bool) -> Result<(), String> {
    if !is_last && value.contains(['?', '#']) {
        return Err(format!(
            "The variable '{name}' of the address holds '?' or '#', which cuts off what comes after it."
        ));
    }
    let host = authority(before).filter(|authority| !authority.is_empty());
    let is_in_host = host.is_some_and(|host| before.split_once("://").is_some_and(|(_, rest)| rest == host));
    if is_in_host && !value.starts_with(['/', '?', '#']) {
        return Err(format!(
            "The variable '{name}' of the address does not begin with '/', so it would continue the host's name."
        ));
    }
    Ok(())
}

/// Whether a path has a part `.` or `..`, which parsers of URLs remove with what stands before.
pub fn has_dot_segment(address: &str) -> bool {
    segments(address).any(|segment| has_dots(&decoded(segment.text)))
}

/// Returns what stands between `://` and the path; None for an address without a scheme.
fn authority(address: &str) -> Option<&str> {
    let (scheme, rest) = address.split_once("://")?;
    if scheme.contains(['/', '?', '#']) {
        return None;
    }
    // A parser of URLs takes a backslash for a slash.
    let end = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
    rest.get(..end)
}

fn path_end(address: &str) -> usize {
    address.find(['?', '#']).unwrap_or(address.len())
}

/// Returns the segments of the path. The slash before the first one begins no segment.
fn segments(address: &str) -> impl Iterator<Item = Segment<'_>> {
    let begin = authority(address).map_or(0, |authority| {
        address.find("://").unwrap_or_default() + "://".len() + authority.len()
    });
    let path = address.get(begin..path_end(address)).unwrap_or_default();
    let has_none = path.is_empty() && begin > 0;
    let (path, begin) = match path.strip_prefix('/') {
        Some(rest) => (rest, begin + 1),
        None => (path, begin),
    };
    let mut start = begin;
    let segments = path.split('/').map(move |text| {
        let segment = Segment { text, start };
        start = segment.end() + 1;
        segment
    });
    segments.filter(move |_| !has_none)
}

/// Whether the path ends here, in the slash of a value that has more than slashes.
fn ends_folder(address: &str, spans: &[Span<'_>], end: usize) -> bool {
    end == path_end(address)
        && spans.iter().filter(|span| span.end >= end).any(|span| {
            let value = address.get(span.start..end).unwrap_or_default();
            value.ends_with('/') && !value.trim_matches('/').is_empty()
        })
}

/// Decodes percent-encoded characters, also those that decoding makes. Leaves out what parsers of URLs do.
fn decoded(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text.bytes().filter(|byte| !matches!(byte, b'\t' | b'\n' | b'\r')) {
        out.push(byte);
        while let [.., b'%', high, low] = out.as_slice()
            && let (Some(high), Some(low)) = (digit(*high), digit(*low))
        {
            out.truncate(out.len() - 3);
            out.push(high * 16 + low);
        }
    }
    out
}

fn digit(byte: u8) -> Option<u8> {
    let digit = char::from(byte).to_digit(16)?;
    u8::try_from(digit).ok()
}

fn pieces(segment: &[u8]) -> impl Iterator<Item = &[u8]> {
    segment.split(|byte| matches!(byte, b'/' | b'\\'))
}

fn is_empty(segment: &[u8]) -> bool {
    pieces(segment).all(|piece| trimmed(piece).is_empty())
}

/// Some servers cut off parameters behind `;` before they look at the path.
fn has_dots(segment: &[u8]) -> bool {
    pieces(segment).any(|piece| {
        let name = piece.split(|byte| *byte == b';').next().unwrap_or_default();
        matches!(trimmed(name), b"." | b"..")
    })
}

fn trimmed(piece: &[u8]) -> &[u8] {
    let is_blank = |byte: &u8| *byte <= b' ';
    let begin = piece
        .iter()
        .position(|byte| !is_blank(byte))
        .unwrap_or(piece.len());
    let end = piece
        .iter()
        .rposition(|byte| !is_blank(byte))
        .map_or(begin, |last| last + 1);
    piece.get(begin..end).unwrap_or_default()
}
