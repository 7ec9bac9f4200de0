//! Reads the records of a CSV file. Its compression and its header row were checked before.

use super::batches::{Batches, Value};
use super::reading::{AnyError, Reading};
use crate::import::compression::Compression;
use crate::import::records::{Fault, MAX_MB, Malformed, Records};

const NOT_UTF_8: &str = "the text is not UTF-8; convert the file, for example with iconv -f latin1 -t utf-8, or these rows \
                         alone if the others are UTF-8";

pub(super) fn read(reading: &Reading, batches: &mut Batches<'_>) -> Result<(), AnyError> {
    let columns = reading.columns.len();
    let mut records = Records::new(Compression::detect(&reading.path)?.open(&reading.path)?);
    // A header row with a fault is refused before.
    let _ = records.header();
    for row in 1_u64.. {
        match records.next() {
            Ok(None) => break,
            Ok(Some(record)) if record.fields() != columns => {
                batches.add_flawed(miscount(record.fields(), columns))?;
            }
            Ok(Some(record)) => match record.texts() {
                Some(texts) => {
                    let values = texts.map(|text| text.map_or(Value::Null, Value::Text));
                    batches.add(values, None)?;
                }
                None => batches.add_flawed(NOT_UTF_8)?,
            },
            Err(Fault::Malformed(malformed)) => return batches.add_flawed(reason(malformed, row)),
            Err(Fault::Io(error)) => return Err(error.into()),
        }
    }
    Ok(())
}

fn miscount(fields: usize, columns: usize) -> String {
    let advice = match fields > columns {
        true => "; a text with a comma stands in double quotes",
        false => "",
    };
    let fields = match fields {
        1 => "1 field".to_owned(),
        more => format!("{more} fields"),
    };
    format!("{fields} where the header row has {columns}{advice}")
}

fn reason(malformed: Malformed, row: u64) -> String {
    match malformed {
        Malformed::OpenQuote => {
            format!("the quote opened in row {row} is not closed; the rows after it were not read")
        }
        Malformed::TooLong => {
            format!(
                "the row is longer than {MAX_MB} MB, perhaps because a quote is not closed; the rows after it were not read"
            )
        }
        Malformed::TextAfterQuote => {
            "text or a blank follows a closing quote; a quote in a text is written twice".to_owned()
        }
        Malformed::BlankBeforeQuote => {
            "a blank stands before a quote; remove it, or put the whole field in quotes, with each quote of the \
             text twice"
                .to_owned()
        }
        Malformed::LineEnd => {
            "the line ends must be LF or CRLF, the same as that of the header row; a text with other ones stands \
             in double quotes"
                .to_owned()
        }
    }
}
