//! Splits a CSV file into records to locate its faults, which DuckDB does not report for a file that it
//! cannot read.

use std::io::{self, Read};

use memchr::{memchr, memchr2};

use crate::import::faults::MAX_ROW_ERRORS;

/// Bytes read at a time.
const PIECE_BYTES: usize = 1_024 * 1_024;

/// Most empty lines that are remembered: 8 MB. In a file with more, errors in later rows have too high a row
/// number.
const MAX_BLANK: usize = 1_000_000;

/// Result of splitting a CSV file into records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Length of the longest record, including the end of its line.
    pub(crate) longest_bytes: u64,
    /// The first faulty quote.
    pub(crate) fault: Option<QuoteFault>,
    /// Records that are empty lines, in order; the header row is record 0.
    pub(crate) blank: Vec<u64>,
    /// The first records with more fields than the header row. DuckDB drops a surplus field that is empty,
    /// and so takes a row whose values are shifted.
    pub(crate) surplus: Vec<Surplus>,
}

/// A record with more fields than the header row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Surplus {
    pub(crate) record: u64,
    pub(crate) fields: usize,
}

impl Shape {
    /// Returns the row number of a record. In a file with several columns, empty lines are not rows.
    pub(crate) fn row(&self, record: u64, columns: usize) -> u64 {
        match columns {
            0 | 1 => record,
            _ => record - self.blank.partition_point(|blank| *blank < record) as u64,
        }
    }

    fn count(&mut self, record: u64, fields: usize, columns: usize) {
        if fields > columns && self.surplus.len() <= MAX_ROW_ERRORS {
            self.surplus.push(Surplus { record, fields });
        }
    }
}

/// Quotes that do not enclose a whole field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QuoteFault {
    /// The record in which the quote opens; the header row is 0.
    pub(crate) record: u64,
    pub(crate) kind: FaultKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// The quote is not closed in its line; a quote of a later row, or none, closes it.
    Open,
    /// The closing quote has something after it. DuckDB drops blanks there.
    Followed,
    /// The opening quote has blanks before it. DuckDB drops one, and takes more for text.
    AfterBlanks,
}

/// Returns the shape of a file. A quote counts at the start of a field, and as a fault after blanks there.
pub(crate) fn shape(mut csv: impl Read, columns: usize) -> io::Result<Shape> {
    let mut shape = Shape::default();
    let mut place = Place::FieldStart;
    let (mut record, mut record_bytes) = (0, 0);
    let mut is_blank = true;
    let mut fields = 1;
    let mut opened = QuoteFault {
        record,
        kind: FaultKind::Followed,
    };
    let mut bytes = vec![0; PIECE_BYTES];
    loop {
        let read = csv.read(&mut bytes)?;
        let mut rest = bytes.get(..read).unwrap_or_default();
        if rest.is_empty() {
            shape.longest_bytes = shape.longest_bytes.max(record_bytes);
            shape.count(record, fields, columns);
            if place == Place::Quoted {
                opened.kind = FaultKind::Open;
                shape.fault.get_or_insert(opened);
            }
            return Ok(shape);
        }
        while !rest.is_empty() {
            let length = match place {
                Place::FieldStart | Place::Blanks | Place::QuoteInQuoted => 0,
                Place::Unquoted => memchr2(b',', b'\n', rest).unwrap_or(rest.len()),
                Place::Quoted => memchr(b'"', rest).unwrap_or(rest.len()),
            };
            if place == Place::Quoted && memchr(b'\n', rest.get(..length).unwrap_or_default()).is_some() {
                opened.kind = FaultKind::Open;
            }
            let Some(byte) = rest.get(length) else {
                record_bytes += rest.len() as u64;
                is_blank &= rest.iter().all(|byte| *byte == b'\r');
                break;
            };
            if place == Place::FieldStart && *byte == b'"' {
                opened = QuoteFault {
                    record,
                    kind: FaultKind::Followed,
                };
            }
            if place == Place::Blanks && *byte == b'"' {
                let kind = FaultKind::AfterBlanks;
                shape.fault.get_or_insert(QuoteFault { record, kind });
            }
            if place == Place::QuoteInQuoted && !matches!(byte, b'"' | b',' | b'\n' | b'\r') {
                shape.fault.get_or_insert(opened);
            }
            place = match (place, byte) {
                (Place::FieldStart | Place::QuoteInQuoted, b'"') => Place::Quoted,
                (Place::Quoted, _) => Place::QuoteInQuoted,
                (_, b',' | b'\n') => Place::FieldStart,
                (Place::FieldStart | Place::Blanks, b' ' | b'\t') => Place::Blanks,
                _ => Place::Unquoted,
            };
            record_bytes += length as u64 + 1;
            let ends = place == Place::FieldStart && *byte == b'\n';
            fields += usize::from(place == Place::FieldStart && *byte == b',');
            is_blank &= ends || (length == 0 && *byte == b'\r');
            if ends {
                is_blank &= record_bytes <= 2;
                if is_blank && shape.blank.len() < MAX_BLANK {
                    shape.blank.push(record);
                }
                shape.longest_bytes = shape.longest_bytes.max(record_bytes);
                shape.count(record, fields, columns);
                (record_bytes, is_blank, fields) = (0, true, 1);
                record += 1;
            }
            rest = rest.get(length + 1..).unwrap_or_default();
        }
    }
}

/// State of the parser before the next byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    FieldStart,
    /// After blanks at the start of a field.
    Blanks,
    Unquoted,
    Quoted,
    /// After a quote inside quotes; it closes them unless another quote follows.
    QuoteInQuoted,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(csv: &str, record: u64, kind: FaultKind) {
        let shape = shape(csv.as_bytes(), 2).unwrap();
        assert_eq!(shape.fault, Some(QuoteFault { record, kind }), "{csv:?}");
    }

    #[test]
    fn empty_lines_are_no_rows_of_several_columns() {
        for (csv, blank) in [
            ("a,b\n1,2\n\n\r\n3,4\n", vec![2, 3]),
            ("a,b\n \n,\n\"\"\n\r1\n\n1,\"x\n\ny\"\n\n", vec![5, 7]),
            ("a,b\n1,2", vec![]),
        ] {
            let shape = shape(csv.as_bytes(), 2).unwrap();
            assert_eq!(shape.blank, blank, "{csv:?}");
        }
        let shape = shape("a,b\n\n1,2\n\n3\n".as_bytes(), 2).unwrap();
        assert_eq!([2, 4].map(|record| shape.row(record, 2)), [1, 2]);
        assert_eq!(shape.row(4, 1), 4);
    }

    #[test]
    fn records_with_surplus_fields_are_counted() {
        let shape = shape("a,b\n1,2,\n\"x,y\",z\n1,\"2\"\r\n,,,".as_bytes(), 2).unwrap();
        let surplus = |record, fields| Surplus { record, fields };
        assert_eq!(shape.surplus, [surplus(1, 3), surplus(4, 4)]);
    }

    #[test]
    fn quotes_at_fault_are_found_where_they_are_opened() {
        check("a,b\n1,\"x\n", 1, FaultKind::Open);
        check("a,b\n1,x\n2,\"y\n3,z\n4,\"w\"\n", 2, FaultKind::Open);
        check("a,b\n1,\"x\ny\"\n2,\"z\"z\n3,\"\n", 2, FaultKind::Followed);
        check("a\n\"\"\"", 1, FaultKind::Open);
        check("a,b\n1,\"x\" \n", 1, FaultKind::Followed);
        check("a,b\n1,2\n \t\"x\",2\n", 2, FaultKind::AfterBlanks);
        for csv in [
            "",
            "a,b\r\n1,\"x\"\r\n",
            "a\n\"x\"\"\ny\"\n",
            "a\nx\"y\n",
            "a,b\n x\"y\", \n \t,\" \"",
            "a\n\"\"",
        ] {
            assert_eq!(shape(csv.as_bytes(), 2).unwrap().fault, None, "{csv:?}");
        }
    }
}
