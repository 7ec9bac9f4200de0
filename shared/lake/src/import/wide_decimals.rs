//! Reads decimals of more than 38 digits in a Parquet file exactly.
//!
//! DuckDB reads them as doubles, and shorter ones among them as other numbers. So the footer is changed:
//! other bytes hide what says that a column has decimals, and DuckDB reads their bytes as they are. A
//! function makes text of these, which is then converted like a number in a CSV file.

use std::error::Error as StdError;
use std::sync::Arc;

use duckdb::arrow::array::{Array, BinaryArray, Int32Array, RecordBatch, StringArray};
use duckdb::arrow::datatypes::{DataType, i256};
use duckdb::vscalar::{ArrowFunctionSignature, VArrowScalar};

pub(crate) const NAME: &str = "decimal_text";
/// Most digits of a decimal type: those of 256 bits, with room for types that are wider than their values.
pub(crate) const MAX_DIGITS: i32 = 1_000;
/// Bytes of the widest value: 76 digits.
const MAX_BYTES: usize = 32;

/// Returns SQL for the text of a decimal whose bytes are `value`.
pub(crate) fn text(value: &str, scale: i32) -> String {
    format!("{NAME}({value}, {scale}::INTEGER)")
}

/// The function: bytes of an unscaled number, the highest first, and digits after the point.
pub(crate) struct DecimalText;

impl VArrowScalar for DecimalText {
    type State = ();

    fn invoke((): &(), input: RecordBatch) -> Result<Arc<dyn Array>, Box<dyn StdError>> {
        let values = input.column(0).as_any().downcast_ref::<BinaryArray>();
        let scales = input.column(1).as_any().downcast_ref::<Int32Array>();
        let (Some(values), Some(scales)) = (values, scales) else {
            return Err("the function takes bytes and a number".into());
        };
        let texts = values.iter().zip(scales).map(|(value, scale)| {
            let (Some(value), Some(scale)) = (value, scale) else {
                return Ok(None);
            };
            Ok(Some(decimal_text(value, usize::try_from(scale)?)?))
        });
        let texts = texts.collect::<Result<StringArray, Box<dyn StdError>>>()?;
        Ok(Arc::new(texts))
    }

    fn signatures() -> Vec<ArrowFunctionSignature> {
        let parameters = vec![DataType::Binary, DataType::Int32];
        vec![ArrowFunctionSignature::exact(parameters, DataType::Utf8)]
    }
}

/// Fails for a number of more than 256 bits.
fn decimal_text(bytes: &[u8], scale: usize) -> Result<String, &'static str> {
    let sign = match bytes.first() {
        Some(first) if *first >= 0x80 => 0xff,
        Some(_) => 0,
        None => return Err("a decimal has no bytes"),
    };
    let (above, low) = bytes.split_at(bytes.len().saturating_sub(MAX_BYTES));
    let is_wide = low.first().is_none_or(|first| (*first >= 0x80) != (sign == 0xff));
    if above.iter().any(|byte| *byte != sign) || is_wide {
        return Err("a decimal has more than 256 bits");
    }
    let mut number = [sign; MAX_BYTES];
    let (_, place) = number.split_at_mut(MAX_BYTES - low.len());
    place.copy_from_slice(low);
    let number = i256::from_be_bytes(number).to_string();
    let (minus, digits) = match number.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", number.as_str()),
    };
    let digits = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let point = if fraction.is_empty() { "" } else { "." };
    Ok(format!("{minus}{whole}{point}{fraction}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_their_number() {
        let mut least = [0; 32];
        least[0] = 0x80;
        let short_of_least = "57896044618658097711785492504343953926634992332820282019728792003956564819968";
        for (bytes, scale, expected) in [
            (&[0x07, 0xcf][..], 2, "19.99"),
            (&[0xf8, 0x31], 2, "-19.99"),
            (&[0], 0, "0"),
            (&[0xff], 3, "-0.001"),
            (&[5], 2, "0.05"),
            (&[0; 40], 2, "0.00"),
            (&[0xff; 40], 0, "-1"),
            (&[0x00, 0x80], 0, "128"),
            (&least, 0, &format!("-{short_of_least}")),
        ] {
            assert_eq!(decimal_text(bytes, scale).as_deref(), Ok(expected), "{bytes:?}");
        }
        let mut wide = [0; 33];
        wide[1] = 0x80;
        assert!(decimal_text(&wide, 0).is_err());
        assert!(decimal_text(&[], 0).is_err());
    }
}
