//! Compares values as jq does, with all digits of their numbers. The library compares numbers with a point as
//! doubles.

use std::cmp::Ordering;

use jaq_json::{Num, Rc, Val};

/// Whole numbers up to this size are doubles, so they compare with fractions as doubles do.
const MAX_WHOLE_DOUBLE: isize = 1 << 53;

pub(super) fn compare(left: &Val, right: &Val) -> Ordering {
    match (left, right) {
        (Val::Num(left), Val::Num(right)) => compare_numbers(left, right),
        (Val::Arr(left), Val::Arr(right)) => compare_all(left.iter(), right.iter()),
        (Val::Obj(left), Val::Obj(right)) => {
            let sorted = |fields: &jaq_json::Map| {
                let mut fields: Vec<_> = fields
                    .iter()
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect();
                fields.sort_by(|left, right| left.0.cmp(&right.0));
                fields
            };
            let (left, right) = (sorted(left), sorted(right));
            let names = left
                .iter()
                .map(|(name, _)| name)
                .cmp(right.iter().map(|(name, _)| name));
            names.then_with(|| {
                compare_all(
                    left.iter().map(|field| &field.1),
                    right.iter().map(|field| &field.1),
                )
            })
        }
        _ => left.cmp(right),
    }
}

fn compare_all<'v>(
    left: impl Iterator<Item = &'v Val>,
    mut right: impl Iterator<Item = &'v Val>,
) -> Ordering {
    for left in left {
        match right.next().map(|right| compare(left, right)) {
            None => return Ordering::Greater,
            Some(Ordering::Equal) => {}
            Some(unequal) => return unequal,
        }
    }
    right.next().map_or(Ordering::Equal, |_| Ordering::Less)
}

fn compare_numbers(left: &Num, right: &Num) -> Ordering {
    let is_small = |number: &Num| matches!(number, Num::Int(whole) if whole.abs() <= MAX_WHOLE_DOUBLE);
    let is_fast = |number: &Num| is_small(number) || matches!(number, Num::Float(_));
    match (left, right) {
        (Num::Dec(left), Num::Dec(right)) if Rc::ptr_eq(left, right) => Ordering::Equal,
        (Num::Int(_) | Num::BigInt(_), Num::Int(_) | Num::BigInt(_)) => left.cmp(right),
        _ if is_fast(left) && is_fast(right) => left.cmp(right),
        _ => match (Decimal::of(left), Decimal::of(right)) {
            (Some(left), Some(right)) => left.cmp(&right),
            // Infinities, and what is no number.
            _ => left.cmp(right),
        },
    }
}

/// A finite number by its digits; a result of a computation by the shortest ones that make its double.
#[derive(PartialEq, Eq)]
struct Decimal {
    is_negative: bool,
    /// Power of ten of the place before the first digit; 0 for zero.
    magnitude: i64,
    /// Without zeros at both ends; empty for zero.
    digits: Vec<u8>,
}

impl Decimal {
    fn of(number: &Num) -> Option<Self> {
        let text = number.to_string();
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(text) => (true, text),
            None => (false, text.as_str()),
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        // An exponent beyond 64 bits is clamped: such numbers differ by more than any digits.
        let exponent = exponent.parse().unwrap_or(match exponent.starts_with('-') {
            true => i64::MIN / 2,
            false => i64::MAX / 2,
        });
        let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
        let significant: Vec<u8> = digits.into_iter().skip(zeros).collect();
        let end = significant
            .iter()
            .rposition(|digit| *digit != b'0')
            .map_or(0, |last| last + 1);
        let magnitude = exponent + i64::try_from(whole.len()).ok()? - i64::try_from(zeros).ok()?;
        Some(Self {
            is_negative: is_negative && end > 0,
            magnitude: if end > 0 { magnitude } else { 0 },
            digits: significant.into_iter().take(end).collect(),
        })
    }

    fn size(&self) -> (bool, i64, &[u8]) {
        (!self.digits.is_empty(), self.magnitude, &self.digits)
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.is_negative, other.is_negative) {
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self.size().cmp(&other.size()),
            (true, true) => other.size().cmp(&self.size()),
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Num {
        match text.parse() {
            Ok(whole) => Num::Int(whole),
            Err(_) => Num::Dec(Rc::new(text.to_owned())),
        }
    }

    #[test]
    fn numbers_are_compared_by_all_digits() {
        let ascending = [
            "-1e400",
            "-12345678901234567.89",
            "-12345678901234567.88",
            "-1.5",
            "-1e-400",
            "0",
            "1e-400",
            "0.1",
            "0.10000000000000000001",
            "1",
            "1.00000000000000000001",
            "100000000000000000.5",
            "100000000000000001",
            "1e300",
            "1.1e400",
        ];
        for (place, left) in ascending.iter().enumerate() {
            for (other, right) in ascending.iter().enumerate() {
                assert_eq!(
                    compare_numbers(&number(left), &number(right)),
                    place.cmp(&other),
                    "{left} {right}"
                );
            }
        }
        for (left, right) in [
            ("1.10", "1.1"),
            ("1e2", "100"),
            ("-0.0", "0"),
            ("0e5", "0"),
            ("100e-2", "1"),
        ] {
            assert_eq!(
                compare_numbers(&number(left), &number(right)),
                Ordering::Equal,
                "{left} {right}"
            );
        }
    }

    #[test]
    fn computed_number_is_compared_by_its_shortest_digits() {
        let sum = Num::Float(0.1 + 0.2);
        assert_eq!(
            compare_numbers(&sum, &number("0.30000000000000004")),
            Ordering::Equal
        );
        assert_eq!(compare_numbers(&sum, &number("0.3")), Ordering::Greater);
        assert_eq!(compare_numbers(&Num::Float(2.0), &number("2.0")), Ordering::Equal);
    }
}
