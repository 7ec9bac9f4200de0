//! Reads and writes the values of expressions as JSON.

use jaq_json::{Num, Val, read};

use crate::limits::{MAX_DATA_LEVELS, MAX_OUTPUT_BYTES};
use crate::source::is_beyond_double;

pub(super) fn parsed(json: &str) -> Result<Val, String> {
    read::parse_single(json.as_bytes()).map_err(|error| format!("its data is not JSON: {error}"))
}

/// Writes a result. As in jq, NaN becomes null, and an infinite number the largest finite one; a number of
/// the data that is beyond the range of a double is an error, because no reader of JSON keeps it.
pub(super) fn written(value: &Val) -> Result<String, String> {
    let mut out = String::new();
    Writer { is_checked: true }.write(value, 0, &mut out)?;
    Ok(out)
}

/// As [`written`], for values that are not yet a result.
pub(super) fn append(value: &Val, out: &mut String) {
    // Without checks it has no error.
    drop(Writer { is_checked: false }.write(value, 0, out));
}

struct Writer {
    /// Whether to hold the value against the limits of a result.
    is_checked: bool,
}

impl Writer {
    fn write(&self, value: &Val, level: usize, out: &mut String) -> Result<(), String> {
        if self.is_checked && level > MAX_DATA_LEVELS {
            return Err(format!("its result nests deeper than {MAX_DATA_LEVELS} levels"));
        }
        match value {
            Val::Null => out.push_str("null"),
            Val::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Val::Num(number) => self.write_number(number, out)?,
            Val::TStr(bytes) => self.write_text(bytes, out)?,
            Val::BStr(_) if self.is_checked => {
                return Err("its result has bytes, which JSON lacks; use @base64".to_owned());
            }
            Val::BStr(bytes) => self.write_text(bytes, out)?,
            Val::Arr(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    self.write(item, level + 1, out)?;
                }
                out.push(']');
            }
            Val::Obj(fields) => {
                out.push('{');
                for (index, (name, value)) in fields.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    match name {
                        Val::TStr(bytes) => self.write_text(bytes, out)?,
                        _ if self.is_checked => {
                            return Err("its result has a key that is no text; use tostring".to_owned());
                        }
                        name => self.write(name, level + 1, out)?,
                    }
                    out.push(':');
                    self.write(value, level + 1, out)?;
                }
                out.push('}');
            }
        }
        self.bounded(out.len())
    }

    fn bounded(&self, bytes: usize) -> Result<(), String> {
        match self.is_checked && bytes > MAX_OUTPUT_BYTES {
            true => Err(format!("its result is larger than {MAX_OUTPUT_BYTES} bytes")),
            false => Ok(()),
        }
    }

    fn write_text(&self, bytes: &[u8], out: &mut String) -> Result<(), String> {
        self.bounded(bytes.len())?;
        let text = crate::source::quoted(&String::from_utf8_lossy(bytes));
        match self.is_checked {
            true => out.push_str(&text),
            // As in jq, so that texts of values are equal.
            false => out.push_str(&text.replace('\u{7f}', "\\u007f")),
        }
        Ok(())
    }

    fn write_number(&self, number: &Num, out: &mut String) -> Result<(), String> {
        let text = match number {
            Num::Float(number) => {
                write_float(*number, out);
                return Ok(());
            }
            Num::Int(number) => number.to_string(),
            Num::BigInt(number) => number.to_string(),
            Num::Dec(text) => text.to_string(),
        };
        if self.is_checked && is_beyond_double(&text) {
            return Err(format!(
                "its result has a number that no double holds, {}; send it as text",
                shortened(&text)
            ));
        }
        // Input numbers are written unchanged. A number literal of the expression may not be valid JSON.
        match number {
            Num::Dec(_) if serde_json::from_str::<&serde_json::value::RawValue>(&text).is_err() => {
                write_float(text.parse().unwrap_or(f64::NAN), out);
            }
            _ => out.push_str(&text),
        }
        Ok(())
    }
}

fn shortened(number: &str) -> String {
    /// Maximum length of a quoted number; it has ASCII characters only.
    const MAX_QUOTED: usize = 24;
    match number.get(..MAX_QUOTED) {
        Some(start) if number.len() > MAX_QUOTED => format!("{start}…"),
        _ => number.to_owned(),
    }
}

fn write_float(number: f64, out: &mut String) {
    /// Whole numbers below this are exact.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.is_nan() {
        out.push_str("null");
    } else if number == 0.0 && number.is_sign_negative() {
        out.push_str("-0");
    } else if number.fract() == 0.0 && number.abs() < EXACT {
        out.push_str(&format!("{number:.0}"));
    } else {
        out.push_str(&serde_json::Value::from(number.clamp(f64::MIN, f64::MAX)).to_string());
    }
}
