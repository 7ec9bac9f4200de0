//! Compares values as jq does, with all digits of their numbers. The library compares numbers with a point as
//! doubles.

use std::cmp::Ordering;

use jaq_json::{Map, Num, Rc, Val};

/// Whole numbers up to this size are doubles, so they compare with fractions as doubles do.
const MAX_WHOLE_DOUBLE: isize = 1 << 53;

/// Orders values; what is no number equals itself, so that the order is total.
pub(super) fn compare(left: &Val, right: &Val) -> Ordering {
    compare_with(left, right, Ordering::Equal)
}

/// As the operators of jq: what is no number is less than itself.
pub(super) fn compare_by_operator(left: &Val, right: &Val) -> Ordering {
    compare_with(left, right, Ordering::Less)
}

/// `nan` is the order of two values that are no numbers.
fn compare_with(left: &Val, right: &Val, nan: Ordering) -> Ordering {
    match (left, right) {
        (Val::Num(left), Val::Num(right)) => compare_numbers(left, right, nan),
        (Val::Arr(left), Val::Arr(right)) => compare_all(left.iter(), right.iter(), nan),
        (Val::Obj(left), Val::Obj(right)) => {
            let (left, right) = (sorted(left), sorted(right));
            let names = left
                .iter()
                .map(|(name, _)| name)
                .cmp(right.iter().map(|(name, _)| name));
            let left = left.into_iter().map(|(_, value)| value);
            names.then_with(|| compare_all(left, right.into_iter().map(|(_, value)| value), nan))
        }
        _ => left.cmp(right),
    }
}

fn sorted(fields: &Map) -> Vec<(&Val, &Val)> {
    let mut fields: Vec<_> = fields.iter().collect();
    fields.sort_by_key(|(name, _)| *name);
    fields
}

fn compare_all<'v>(
    left: impl Iterator<Item = &'v Val>,
    mut right: impl Iterator<Item = &'v Val>,
    nan: Ordering,
) -> Ordering {
    for left in left {
        match right.next().map(|right| compare_with(left, right, nan)) {
            None => return Ordering::Greater,
            Some(Ordering::Equal) => {}
            Some(unequal) => return unequal,
        }
    }
    right.next().map_or(Ordering::Equal, |_| Ordering::Less)
}

fn compare_numbers(left: &Num, right: &Num, nan: Ordering) -> Ordering {
    match (left, right) {
        (Num::Int(left), Num::Int(right)) => left.cmp(right),
        (Num::Dec(left), Num::Dec(right)) if Rc::ptr_eq(left, right) => Ordering::Equal,
        _ => match (double(left), double(right)) {
            (Some(left), Some(right)) if !left.is_nan() && !right.is_nan() => {
                left.partial_cmp(&right).unwrap_or(Ordering::Equal)
            }
            _ => match (Size::of(left), Size::of(right)) {
                (Size::NoNumber, Size::NoNumber) => nan,
                (left, right) => left.cmp(&right),
            },
        },
    }
}

/// Returns a number that is a double as it is.
fn double(number: &Num) -> Option<f64> {
    match number {
        Num::Float(number) => Some(*number),
        Num::Int(whole) if whole.abs() <= MAX_WHOLE_DOUBLE => Some(*whole as f64),
        _ => None,
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Size {
    NoNumber,
    NegativeInfinity,
    Finite(Decimal),
    Infinity,
}

impl Size {
    fn of(number: &Num) -> Self {
        match number {
            Num::Float(number) if number.is_nan() => Self::NoNumber,
            Num::Float(f64::NEG_INFINITY) => Self::NegativeInfinity,
            Num::Float(f64::INFINITY) => Self::Infinity,
            // As in jq, where a number beyond a double is infinite.
            Num::Dec(text) => match text.parse::<f64>() {
                Ok(f64::INFINITY) => Self::Infinity,
                Ok(f64::NEG_INFINITY) => Self::NegativeInfinity,
                _ => Self::finite(text),
            },
            _ => Self::finite(&number.to_string()),
        }
    }

    fn finite(text: &str) -> Self {
        Decimal::of(text).map_or(Self::NoNumber, Self::Finite)
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
    fn of(text: &str) -> Option<Self> {
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(text) => (true, text),
            None => (false, text),
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        // An exponent beyond 64 bits is clamped: such numbers differ by more than any digits.
        let exponent = exponent.parse().unwrap_or(match exponent.starts_with('-') {
            true => i64::MIN,
            false => i64::MAX,
        });
        let exponent = exponent.clamp(i64::MIN / 2, i64::MAX / 2);
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
        match text {
            "nan" => Num::Float(f64::NAN),
            "inf" => Num::Float(f64::INFINITY),
            "-inf" => Num::Float(f64::NEG_INFINITY),
            _ => match text.parse() {
                Ok(whole) => Num::Int(whole),
                Err(_) => Num::Dec(Rc::new(text.to_owned())),
            },
        }
    }

    fn compared(left: &Num, right: &Num) -> Ordering {
        compare(&Val::Num(left.clone()), &Val::Num(right.clone()))
    }

    const ASCENDING: [&str; 17] = [
        "nan",
        "-inf",
        "-12345678901234567.89",
        "-12345678901234567.88",
        "-1.5",
        "-1e-400",
        "0",
        "1e-9223372036854775808",
        "1e-400",
        "0.1",
        "0.10000000000000000001",
        "1",
        "1.00000000000000000001",
        "100000000000000000.5",
        "100000000000000001",
        "1e300",
        "inf",
    ];

    #[test]
    fn numbers_are_compared_by_all_digits() {
        for (place, left) in ASCENDING.iter().enumerate() {
            for (other, right) in ASCENDING.iter().enumerate() {
                let order = compared(&number(left), &number(right));
                assert_eq!(order, place.cmp(&other), "{left} {right}");
            }
        }
        for (left, right) in [
            ("1.10", "1.1"),
            ("1e2", "100"),
            ("-0.0", "0"),
            ("0e5", "0"),
            ("100e-2", "1"),
            ("1e400", "inf"),
            ("1e9223372036854775807", "1.1e400"),
            ("-1e9223372036854775807", "-inf"),
        ] {
            assert_eq!(
                compared(&number(left), &number(right)),
                Ordering::Equal,
                "{left} {right}"
            );
        }
    }

    #[test]
    fn order_of_many_values_is_total() {
        let mut values: Vec<_> = (0..400)
            .map(|place| Val::Num(number(ASCENDING[place * 7 % ASCENDING.len()])))
            .collect();
        values.sort_by(compare);
        assert!(values.is_sorted_by(|left, right| compare(left, right) != Ordering::Greater));
    }

    #[test]
    fn what_is_no_number_is_less_than_itself_by_the_operators() {
        let nan = Val::Num(number("nan"));
        assert_eq!(compare_by_operator(&nan, &nan), Ordering::Less);
        assert_eq!(compare(&nan, &nan), Ordering::Equal);
    }

    #[test]
    fn computed_number_is_compared_by_its_shortest_digits() {
        let sum = Num::Float(0.1 + 0.2);
        assert_eq!(compared(&sum, &number("0.30000000000000004")), Ordering::Equal);
        assert_eq!(compared(&sum, &number("0.3")), Ordering::Greater);
        assert_eq!(compared(&Num::Float(2.0), &number("2.0")), Ordering::Equal);
    }
}
