//! Splits CSV into records, as RFC 4180 says: the one reader of CSV.
//!
//! Nothing is repaired: DuckDB, like most readers, drops text after a closing quote, blanks around quotes, an
//! empty field too many, and all that follows an open quote. Line ends are LF or CRLF, the same in each
//! record. A text in quotes is told from one without, because only the latter is NULL when it is empty.

use std::borrow::Cow;
use std::io::{self, Read};
use std::ops::Range;

use memchr::{memchr, memchr3};

/// Longest record, with its line end, in megabytes.
pub(crate) const MAX_MB: usize = 2;
const MAX_BYTES: usize = MAX_MB * 1_000_000;
/// Bytes read at a time.
const PIECE_BYTES: usize = 1_024 * 1_024;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What is wrong with a record so that its end, and all after it, is uncertain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Malformed {
    /// The quote is not closed in its line; a quote of a later row, or none, closes it.
    OpenQuote,
    /// The closing quote has something after it.
    TextAfterQuote,
    /// The opening quote has blanks before it.
    BlankBeforeQuote,
    /// A carriage return stands alone, or the line ends otherwise than the first one.
    LineEnd,
    TooLong,
}

/// The reason why no further record can be read.
#[derive(Debug)]
pub(crate) enum Fault {
    Malformed(Malformed),
    Io(io::Error),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Malformed> for Fault {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEnd {
    Lf,
    Crlf,
}

/// Records of a stream, the header row first. In a file with several columns, empty lines are no records.
pub(crate) struct Records<R> {
    csv: R,
    bytes: Vec<u8>,
    begin: usize,
    filled: usize,
    is_end: bool,
    fields: Vec<Field>,
    /// Line end of the header row.
    line_end: Option<LineEnd>,
    skips_empty: bool,
}

/// Place of a field in its record, without its quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    range: Range<usize>,
    is_quoted: bool,
    has_quotes: bool,
}

pub(crate) struct Record<'a> {
    bytes: &'a [u8],
    fields: &'a [Field],
}

impl<R: Read> Records<R> {
    pub(crate) fn new(csv: R) -> Self {
        Self {
            csv,
            bytes: vec![0; PIECE_BYTES],
            begin: 0,
            filled: 0,
            is_end: false,
            fields: Vec::new(),
            line_end: None,
            skips_empty: false,
        }
    }

    /// Returns bytes from the start of the stream, without a byte order mark. To be called before the first
    /// record is read.
    pub(crate) fn beginning(&mut self) -> io::Result<&[u8]> {
        while self.filled < PIECE_BYTES && !self.is_end {
            self.fill()?;
        }
        if self.unread().starts_with(BYTE_ORDER_MARK) {
            self.begin = BYTE_ORDER_MARK.len();
        }
        Ok(self.unread())
    }

    /// Returns the header row.
    pub(crate) fn header(&mut self) -> Result<Option<Record<'_>>, Fault> {
        self.beginning()?;
        let Some((length, line_end)) = self.split()? else {
            return Ok(None);
        };
        self.line_end = line_end;
        self.skips_empty = self.fields.len() > 1;
        Ok(Some(self.take(length)))
    }

    /// Returns the next record after the header row. After a fault there is none.
    pub(crate) fn next(&mut self) -> Result<Option<Record<'_>>, Fault> {
        while let Some((length, line_end)) = self.split()? {
            let is_empty =
                matches!(self.fields.as_slice(), [only] if only.range.is_empty() && !only.is_quoted);
            if self.skips_empty && is_empty {
                self.begin += length;
                continue;
            }
            if line_end.is_some() && line_end != self.line_end {
                return Err(Malformed::LineEnd.into());
            }
            return Ok(Some(self.take(length)));
        }
        Ok(None)
    }

    fn unread(&self) -> &[u8] {
        self.bytes.get(self.begin..self.filled).unwrap_or_default()
    }

    fn take(&mut self, length: usize) -> Record<'_> {
        let begin = self.begin;
        self.begin += length;
        Record {
            bytes: self.bytes.get(begin..self.begin).unwrap_or_default(),
            fields: &self.fields,
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.bytes.copy_within(self.begin..self.filled, 0);
        self.filled -= self.begin;
        self.begin = 0;
        if self.filled == self.bytes.len() {
            self.bytes.resize(self.filled + PIECE_BYTES, 0);
        }
        let count = self
            .csv
            .read(self.bytes.get_mut(self.filled..).unwrap_or_default())?;
        self.filled += count;
        self.is_end = count == 0;
        Ok(())
    }

    /// Finds the fields of the next record; returns its length and its line end.
    fn split(&mut self) -> Result<Option<(usize, Option<LineEnd>)>, Fault> {
        loop {
            let unread = self.bytes.get(self.begin..self.filled).unwrap_or_default();
            if unread.is_empty() && self.is_end {
                return Ok(None);
            }
            let record = split(unread, self.is_end, &mut self.fields)?;
            let length = record.map_or(unread.len(), |(length, _)| length);
            if length > MAX_BYTES {
                return Err(Malformed::TooLong.into());
            }
            if record.is_some() {
                return Ok(record);
            }
            self.fill()?;
        }
    }
}

impl<'a> Record<'a> {
    pub(crate) fn fields(&self) -> usize {
        self.fields.len()
    }

    /// Returns the bytes of each field without its quotes, and whether it has some.
    pub(crate) fn bytes(&self) -> impl Iterator<Item = (&'a [u8], bool)> + use<'a> {
        let bytes = self.bytes;
        let fields = self.fields.iter();
        fields.map(move |field| {
            (
                bytes.get(field.range.clone()).unwrap_or_default(),
                field.is_quoted,
            )
        })
    }

    /// Returns the texts of the fields, None for an empty one without quotes; None if the record is not text
    /// in UTF-8.
    pub(crate) fn texts(&self) -> Option<impl Iterator<Item = Option<Cow<'a, str>>> + use<'a>> {
        let record = str::from_utf8(self.bytes).ok()?;
        let texts = self.fields.iter().map(move |field| {
            let text = record.get(field.range.clone()).unwrap_or_default();
            match (field.is_quoted, field.has_quotes) {
                (false, _) if text.is_empty() => None,
                (_, true) => Some(Cow::Owned(text.replace("\"\"", "\""))),
                _ => Some(Cow::Borrowed(text)),
            }
        });
        Some(texts)
    }
}

/// Finds the fields of the record at the start of a buffer; returns its length and its line end, which the
/// last record may lack. None if the record is incomplete.
fn split(
    bytes: &[u8],
    is_end: bool,
    fields: &mut Vec<Field>,
) -> Result<Option<(usize, Option<LineEnd>)>, Malformed> {
    fields.clear();
    let mut at = 0;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let (length, field) = match rest.strip_prefix(b"\"") {
            Some(inner) => match quoted(inner, is_end) {
                Some((length, has_quotes)) => (
                    length + 2,
                    Field {
                        range: at + 1..at + 1 + length,
                        is_quoted: true,
                        has_quotes,
                    },
                ),
                None if is_end => return Err(Malformed::OpenQuote),
                None => return Ok(None),
            },
            None => match memchr3(b',', b'\n', b'\r', rest) {
                None if !is_end => return Ok(None),
                end => {
                    let length = end.unwrap_or(rest.len());
                    let field = Field {
                        range: at..at + length,
                        is_quoted: false,
                        has_quotes: false,
                    };
                    (length, field)
                }
            },
        };
        let (text, after) = rest.split_at(length);
        if matches!(text, [b' ' | b'\t', ..]) && after_blanks(text).starts_with(b"\"") {
            return Err(Malformed::BlankBeforeQuote);
        }
        fields.push(field);
        at += length;
        return match after {
            [b',', ..] => {
                at += 1;
                continue;
            }
            [b'\n', ..] => Ok(Some((at + 1, Some(LineEnd::Lf)))),
            [b'\r', b'\n', ..] => Ok(Some((at + 2, Some(LineEnd::Crlf)))),
            [b'\r'] if is_end => Ok(Some((at + 1, Some(LineEnd::Crlf)))),
            [] if is_end => Ok(Some((at, None))),
            [] | [b'\r'] => Ok(None),
            [b'\r', ..] => Err(Malformed::LineEnd),
            _ if text.contains(&b'\n') => Err(Malformed::OpenQuote),
            _ => Err(Malformed::TextAfterQuote),
        };
    }
}

/// Returns the length of a text up to the quote that closes it, and whether it has quotes, which are doubled;
/// None if the bytes end before.
fn quoted(bytes: &[u8], is_end: bool) -> Option<(usize, bool)> {
    let (mut at, mut has_quotes) = (0, false);
    loop {
        at += memchr(b'"', bytes.get(at..)?)?;
        match bytes.get(at + 1) {
            Some(b'"') => (at, has_quotes) = (at + 2, true),
            // The next byte tells whether the quote is doubled.
            None if !is_end => return None,
            _ => return Some((at, has_quotes)),
        }
    }
}

fn after_blanks(text: &[u8]) -> &[u8] {
    let blanks = text
        .iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count();
    text.get(blanks..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns a few bytes per read.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = self.1.min(self.0.len()).min(buffer.len());
            let (now, later) = self.0.split_at(length);
            buffer[..length].copy_from_slice(now);
            self.0 = later;
            Ok(length)
        }
    }

    /// Writes records for a comparison: `-` for nothing, texts in brackets, then what is malformed.
    fn written(csv: impl Read) -> String {
        let mut records = Records::new(csv);
        let mut written = Vec::new();
        let mut record = records.header();
        while let Ok(Some(texts)) = &record {
            let texts = texts.texts().map(|texts| {
                let texts = texts.map(|text| text.map_or("-".to_owned(), |text| format!("[{text}]")));
                texts.collect::<Vec<_>>().join("")
            });
            written.push(texts.unwrap_or_else(|| "not text".to_owned()));
            record = records.next();
        }
        if let Err(Fault::Malformed(malformed)) = record {
            written.push(format!("{malformed:?}"));
        }
        written.join(" ")
    }

    fn check(csv: &str, expected: &str) {
        assert_eq!(written(csv.as_bytes()), expected, "{csv:?}");
    }

    #[test]
    fn records_are_split_as_rfc_4180_says() {
        check("", "");
        check("a,b ,\"c,d\"", "[a][b ][c,d]");
        check("\u{feff}\"say \"\"hi\"\"\",x\n", "[say \"hi\"][x]");
        check("a,b\n\"\",\"\"\"\"\n,\n", "[a][b] [][\"] --");
        check("a,b\r\n1,\"x\r\ny\"\r\n2,z\r", "[a][b] [1][x\r\ny] [2][z]");
        check("a,b\n x\"y\", \n \t,\" \"", "[a][b] [ x\"y\"][ ] [ \t][ ]");
        check("a,b\n1\n1,2,3,", "[a][b] [1] [1][2][3]-");
        assert_eq!(written(&b"a,b\n1,\xff\n1,2"[..]), "[a][b] not text [1][2]");
    }

    #[test]
    fn empty_line_is_a_record_of_one_column_and_none_of_several() {
        check("a,b\n1,2\n\n\r\n3,4\n", "[a][b] [1][2] [3][4]");
        check(
            "a,b\n \n,\n\"\"\n\n1,\"x\n\ny\"\n\n",
            "[a][b] [ ] -- [] [1][x\n\ny]",
        );
        check("a\n\n1\n\n", "[a] - [1] -");
    }

    #[test]
    fn nothing_is_read_after_a_malformed_record() {
        for (csv, records, malformed) in [
            ("a,b\n1,\"x\n", "[a][b]", Malformed::OpenQuote),
            (
                "a,b\n1,x\n2,\"y\n3,z\n4,\"w\"\n",
                "[a][b] [1][x]",
                Malformed::OpenQuote,
            ),
            ("a\n\"\"\"", "[a]", Malformed::OpenQuote),
            (
                "a,b\n1,\"x\ny\"\n2,\"z\"z\n3,\"\n",
                "[a][b] [1][x\ny]",
                Malformed::TextAfterQuote,
            ),
            ("a,b\n1,\"x\" \n", "[a][b]", Malformed::TextAfterQuote),
            (
                "a,b\n1,2\n \t\"x\",2\n",
                "[a][b] [1][2]",
                Malformed::BlankBeforeQuote,
            ),
            ("a,b\n1,2\r3,4\n", "[a][b]", Malformed::LineEnd),
            ("a,b\n1,\"2\"\r3,4\n", "[a][b]", Malformed::LineEnd),
            ("a,b\n1,2\r\n3,4\n", "[a][b]", Malformed::LineEnd),
            ("a,b\r\n1,2\r\n3,4\n", "[a][b] [1][2]", Malformed::LineEnd),
        ] {
            check(csv, &format!("{records} {malformed:?}"));
        }
    }

    #[test]
    fn record_may_be_longer_than_a_piece_but_not_by_much() {
        for (quote, bytes) in [
            ("", MAX_BYTES - 1),
            ("", MAX_BYTES),
            ("\"", MAX_BYTES - 3),
            ("\"", 3 * MAX_BYTES),
        ] {
            let text = "x".repeat(bytes);
            let csv = format!("a\n{quote}{text}{quote}\n1\n");
            let is_read = bytes < MAX_BYTES;
            let expected = if is_read {
                format!("[a] [{text}] [1]")
            } else {
                "[a] TooLong".to_owned()
            };
            assert!(written(csv.as_bytes()) == expected, "{quote} {bytes}");
        }
    }

    proptest! {
        #[test]
        fn where_a_piece_ends_changes_nothing(rows in "([a1\",\r\n ]{0,6}[,\n]){0,12}") {
            for rows in [rows.clone(), rows.replace('\n', "\r\n")] {
                let whole = written(rows.as_bytes());
                for step in [1, 2, 3, 7] {
                    prop_assert_eq!(&written(Slow(rows.as_bytes(), step)), &whole, "{} by {}", rows, step);
                }
            }
        }
    }
}
