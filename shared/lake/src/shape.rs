//! How a CSV file is divided into records, plain or not: what DuckDB does not tell of a file that it cannot read.

use std::io::{self, Read};

use memchr::{memchr, memchr2};

/// What is read at a time.
const PIECE_BYTES: usize = 1_024 * 1_024;

/// How a CSV file is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The longest record, with the end of its line.
    pub(crate) longest_bytes: u64,
    /// The first quotes that are at fault.
    pub(crate) fault: Option<QuoteFault>,
    /// Whether the last field begins with a quote that nothing closes.
    pub(crate) is_open: bool,
}

/// Quotes that do not enclose a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QuoteFault {
    /// The row in which the quote is opened; the header row is 0.
    pub(crate) row: u64,
    /// Whether it is not closed in its line. Then a quote of a later row, or none, closes it.
    pub(crate) is_open: bool,
}

/// The shape of a file. A quote counts at the beginning of a field alone, as for DuckDB.
pub(crate) fn shape(mut csv: impl Read) -> io::Result<Shape> {
    let mut shape = Shape::default();
    let mut place = Place::FieldStart;
    let (mut record, mut row) = (0, 0);
    let mut opened = QuoteFault { row, is_open: false };
    let mut bytes = vec![0; PIECE_BYTES];
    loop {
        let read = csv.read(&mut bytes)?;
        let mut rest = bytes.get(..read).unwrap_or_default();
        if rest.is_empty() {
            shape.longest_bytes = shape.longest_bytes.max(record);
            shape.is_open = place == Place::Quoted;
            if shape.is_open {
                opened.is_open = true;
                shape.fault.get_or_insert(opened);
            }
            return Ok(shape);
        }
        while let Some(first) = rest.first() {
            let length = match place {
                Place::FieldStart | Place::QuoteInQuoted => 0,
                Place::Unquoted => memchr2(b',', b'\n', rest).unwrap_or(rest.len()),
                Place::Quoted => memchr(b'"', rest).unwrap_or(rest.len()),
            };
            if place == Place::Quoted && !opened.is_open {
                opened.is_open = memchr(b'\n', rest.get(..length).unwrap_or_default()).is_some();
            }
            let Some(byte) = rest.get(length) else {
                record += rest.len() as u64;
                break;
            };
            let byte = if length == 0 { first } else { byte };
            if place == Place::FieldStart && *byte == b'"' {
                opened = QuoteFault { row, is_open: false };
            }
            if place == Place::QuoteInQuoted && !matches!(byte, b'"' | b',' | b'\n' | b'\r') {
                shape.fault.get_or_insert(opened);
            }
            place = match (place, byte) {
                (Place::FieldStart | Place::QuoteInQuoted, b'"') => Place::Quoted,
                (Place::Quoted, _) => Place::QuoteInQuoted,
                (_, b',' | b'\n') => Place::FieldStart,
                _ => Place::Unquoted,
            };
            record += length as u64 + 1;
            if place == Place::FieldStart && *byte == b'\n' {
                shape.longest_bytes = shape.longest_bytes.max(record);
                record = 0;
                row += 1;
            }
            rest = rest.get(length + 1..).unwrap_or_default();
        }
    }
}

/// Where the next byte of a CSV file stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    FieldStart,
    Unquoted,
    Quoted,
    /// Behind a quote in quotes, which closes them unless another follows.
    QuoteInQuoted,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(csv: &str, row: u64, is_open: bool) {
        let shape = shape(csv.as_bytes()).unwrap();
        assert_eq!(shape.fault, Some(QuoteFault { row, is_open }), "{csv:?}");
    }

    #[test]
    fn quotes_at_fault_are_found_where_they_are_opened() {
        check("a,b\n1,\"x\n", 1, true);
        check("a,b\n1,x\n2,\"y\n3,z\n4,\"w\"\n", 2, true);
        check("a,b\n1,\"x\ny\"\n2,\"z\"z\n3,\"\n", 2, false);
        check("a\n\"\"\"", 1, true);
        for csv in [
            "",
            "a,b\r\n1,\"x\"\r\n",
            "a\n\"x\"\"\ny\"\n",
            "a\nx\"y\n",
            "a\n\"\"",
        ] {
            assert_eq!(shape(csv.as_bytes()).unwrap().fault, None, "{csv:?}");
        }
    }
}
