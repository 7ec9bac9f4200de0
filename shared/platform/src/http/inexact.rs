//! Finds the numbers of a JSON text that a double does not hold: read and written again, they have other
//! digits.

use std::cell::OnceCell;
use std::fmt;

use memchr::memchr2;

/// Most digits of which a double holds every number.
const HELD_DIGITS: usize = f64::DIGITS as usize;
/// Most characters of a number that an error shows.
const MAX_SHOWN: usize = 60;

/// A number that a double does not hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inexact<'a> {
    /// The number as it was sent.
    text: &'a str,
    /// The double that it is read as.
    nearest: f64,
}

/// The digits of a JSON text. They are looked through when the first number is asked for: most of a large body is
/// rows, whose numbers keep their digits.
#[derive(Debug)]
pub struct Digits<'a> {
    json: &'a [u8],
    inexact: OnceCell<Vec<Inexact<'a>>>,
}

impl<'a> Digits<'a> {
    pub const fn new(json: &'a [u8]) -> Self {
        Self {
            json,
            inexact: OnceCell::new(),
        }
    }

    /// Returns the number of the text that is read as this double, which does not hold it; None without one.
    pub fn inexact(&self, number: f64) -> Option<&Inexact<'a>> {
        let inexact = self.inexact.get_or_init(|| inexact(self.json));
        // Asked as often as the text has numbers.
        let bits = number.to_bits();
        let place = inexact.binary_search_by_key(&bits, |inexact| inexact.nearest.to_bits());
        place.ok().and_then(|place| inexact.get(place))
    }
}

impl fmt::Display for Inexact<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shown, rest) = self.text.split_at(self.text.len().min(MAX_SHOWN));
        let cut = if rest.is_empty() { "" } else { "…" };
        let nearest = serde_json::Number::from_f64(self.nearest).ok_or(fmt::Error)?;
        write!(
            f,
            "the number {shown}{cut} would be rounded to {nearest}; send it as a string, which keeps its digits"
        )
    }
}

/// Returns the numbers that a double does not hold, in the order of the bits of their doubles. Of a text that
/// is not JSON, the result is arbitrary.
fn inexact(json: &[u8]) -> Vec<Inexact<'_>> {
    let mut inexact = Vec::new();
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        let rest = json.get(at..).unwrap_or_default();
        at += match byte {
            b'"' => string_length(rest),
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
                let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
                let number = rest
                    .get(..length)
                    .and_then(|number| std::str::from_utf8(number).ok());
                inexact.extend(number.and_then(rounded));
                length
            }
            _ => 1,
        };
    }
    inexact.sort_unstable_by_key(|inexact| inexact.nearest.to_bits());
    inexact
}

/// Returns the number of bytes of the string that a text begins with, with its quotes.
fn string_length(json: &[u8]) -> usize {
    let mut length = 1;
    while let Some(next) = json.get(length..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        length += next;
        match json.get(length) {
            Some(b'"') => return length + 1,
            _ => length += 2,
        }
    }
    json.len()
}

fn rounded(number: &str) -> Option<Inexact<'_>> {
    let is_short = number.len() <= HELD_DIGITS && !number.contains(['e', 'E']);
    if is_short || number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok() {
        return None;
    }
    let nearest: f64 = number.parse().ok()?;
    // Where two numbers of the fewest digits are equally near, programs write one or the other.
    let shortest = [format!("{nearest:e}"), serde_json::json!(nearest).to_string()];
    let is_held = shortest.iter().any(|text| digits(text) == digits(number));
    (!is_held).then_some(Inexact {
        text: number,
        nearest,
    })
}

/// Returns the digits of a number without the zeros around them, and how many of them stand before the point;
/// a negative count is one of zeros after the point.
fn digits(number: &str) -> (String, i64) {
    let number = number.trim_start_matches('-');
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = [whole, fraction].concat();
    let significant = all.trim_start_matches('0');
    if significant.is_empty() {
        return (String::new(), 0);
    }
    let zeros = all.len() - significant.len();
    // An exponent of more digits is one of no double.
    let exponent: i64 = exponent.parse().unwrap_or(i64::MIN);
    let count = |length: usize| i64::try_from(length).unwrap_or(i64::MAX);
    let point = exponent
        .saturating_add(count(whole.len()))
        .saturating_sub(count(zeros));
    (significant.trim_end_matches('0').to_owned(), point)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(json: &str) -> Vec<&str> {
        inexact(json.as_bytes())
            .iter()
            .map(|inexact| inexact.text)
            .collect()
    }

    #[test]
    fn numbers_whose_digits_a_double_changes_are_found() {
        for number in [
            "12345678901234567.89",
            "18446744073709551616",
            "-9223372036854775809",
            "9007199254740993.0",
            "0.1234567890123456789",
            "0.10000000000000001",
            "1e-400",
            "1.0000000000000000001e5",
        ] {
            assert_eq!(texts(number), [number]);
            let json = format!(r#"{{"\\": "1e-400", "\"9007199254740993.0": [ {number} , 1.5]}}"#);
            assert_eq!(texts(&json), [number], "{json}");
        }
    }

    #[test]
    fn numbers_that_a_double_holds_are_not_found() {
        for number in [
            "0",
            "-0",
            "0e9",
            "0.0000",
            "1.50",
            "10.0",
            "1E5",
            "1e+23",
            "123456789012345.60",
            "1.7976931348623157e308",
            "5e-324",
            "18446744073709551615",
            "-9223372036854775808",
            "18446744073709552000",
            "0.30000000000000004",
            "100000000000000000000000",
            "1584697683568435.2",
            "1584697683568435.3",
            "0.000000000000000000000001",
            "15000000000000000.000",
        ] {
            assert_eq!(texts(number), [""; 0]);
        }
    }

    #[test]
    fn text_that_is_not_json_is_no_fault() {
        for text in ["\"", "\"\\", "--", "1e", "é1", "\"\\\"12345678901234567.89", "-"] {
            inexact(text.as_bytes());
        }
    }

    proptest! {
        #[test]
        fn what_a_double_is_written_as_is_held(number in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL) {
            for text in [number.to_string(), format!("{number:e}"), serde_json::json!(number).to_string()] {
                prop_assert_eq!(inexact(text.as_bytes()), []);
            }
        }

        #[test]
        fn what_is_not_found_keeps_its_digits(text in "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,25})?([eE][+-]?[0-9]{1,2})?") {
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            let double = value.as_f64().unwrap();
            let again = [value.to_string(), format!("{double:e}")].map(|text| digits(&text));
            prop_assert_eq!(inexact(text.as_bytes()).is_empty(), again.contains(&digits(&text)));
        }
    }
}
