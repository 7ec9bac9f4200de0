//! Conversions between texts and numbers as JavaScript has them, for the languages of callers that are
//! defined by it.

/// Parses an array index as JavaScript writes it: no sign, no leading zero.
pub fn index(name: &str) -> Option<usize> {
    let is_plain = name == "0" || !name.starts_with('0');
    let has_digits = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    name.parse::<u32>()
        .ok()
        .filter(|index| is_plain && has_digits && *index != u32::MAX)
        .and_then(|index| usize::try_from(index).ok())
}

/// Converts a text as JavaScript's `Number` does.
pub fn number_of_text(text: &str) -> f64 {
    let text = text.trim_matches(is_white_space);
    let digits = |prefixes: [&str; 2]| prefixes.iter().find_map(|prefix| text.strip_prefix(prefix));
    for (prefixes, radix) in [(["0x", "0X"], 16), (["0o", "0O"], 8), (["0b", "0B"], 2)] {
        if let Some(digits) = digits(prefixes) {
            return whole_number(digits, radix);
        }
    }
    match text {
        "" => 0.0,
        "Infinity" | "+Infinity" => f64::INFINITY,
        "-Infinity" => f64::NEG_INFINITY,
        _ if decimal_length(text) == text.len() => text.parse().unwrap_or(f64::NAN),
        _ => f64::NAN,
    }
}

/// Returns the number at the beginning of a text, as JavaScript's `parseFloat` does.
pub fn parse_float(text: &str) -> f64 {
    let text = text.trim_start_matches(is_white_space);
    for (name, number) in [
        ("Infinity", f64::INFINITY),
        ("+Infinity", f64::INFINITY),
        ("-Infinity", f64::NEG_INFINITY),
    ] {
        if text.starts_with(name) {
            return number;
        }
    }
    let number = text.get(..decimal_length(text)).unwrap_or_default();
    number.parse().unwrap_or(f64::NAN)
}

/// White space and line ends of JavaScript.
fn is_white_space(c: char) -> bool {
    (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}'
}

/// Returns the length of the decimal number at the beginning of a text; 0 if there is none.
fn decimal_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |at: usize| {
        let rest = bytes.get(at..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let is = |at: usize, any: &[u8]| bytes.get(at).is_some_and(|byte| any.contains(byte));
    let start = usize::from(is(0, b"+-"));
    let whole = digits(start);
    let mut end = start + whole;
    let mut fraction = 0;
    if is(end, b".") {
        fraction = digits(end + 1);
        if whole + fraction > 0 {
            end += 1 + fraction;
        }
    }
    if whole + fraction == 0 {
        return 0;
    }
    if is(end, b"eE") {
        let exponent = end + 1 + usize::from(is(end + 1, b"+-"));
        if digits(exponent) > 0 {
            end = exponent + digits(exponent);
        }
    }
    end
}

fn whole_number(digits: &str, radix: u32) -> f64 {
    if digits.is_empty() {
        return f64::NAN;
    }
    // Exact up to 2^53; longer ones are rounded at each digit.
    let digits = digits.chars().map(|digit| digit.to_digit(radix));
    let number = digits
        .map(|digit| digit.map(f64::from))
        .try_fold(0.0, |number, digit| {
            digit.map(|digit| number * f64::from(radix) + digit)
        });
    number.unwrap_or(f64::NAN)
}

/// Converts a number to text as JavaScript's `Number.prototype.toString` does.
pub fn number_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if number.trunc() == number && number.abs() < 1e15 {
        return format!("{}", number as i64);
    }
    // Shortest digits that parse to the same number: `-1.2345e-7`.
    let text = format!("{number:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(mantissa) => ("-", mantissa),
        None => ("", mantissa),
    };
    let digits = mantissa.replace('.', "");
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or_default());
    match exponent {
        0..=20 if count <= exponent + 1 => format!("{sign}{digits}{}", zeros(exponent + 1 - count)),
        0..=20 => {
            let (whole, part) = digits
                .split_at_checked(usize::try_from(exponent + 1).unwrap_or_default())
                .unwrap_or((&digits, ""));
            format!("{sign}{whole}.{part}")
        }
        -6..0 => format!("{sign}0.{}{digits}", zeros(-exponent - 1)),
        _ => {
            let plus = if exponent > 0 { "+" } else { "" };
            format!("{sign}{mantissa}e{plus}{exponent}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_the_numbers_of_javascript() {
        for (text, number, start) in [
            ("", 0.0, f64::NAN),
            (" \u{feff}12\n", 12.0, 12.0),
            ("0x1F", 31.0, 0.0),
            ("0b11", 3.0, 0.0),
            ("0x", f64::NAN, 0.0),
            ("-0x1", f64::NAN, 0.0),
            ("5 items", f64::NAN, 5.0),
            (".5", 0.5, 0.5),
            ("5.", 5.0, 5.0),
            (".", f64::NAN, f64::NAN),
            ("1e3x", f64::NAN, 1_000.0),
            ("1e", f64::NAN, 1.0),
            ("1_000", f64::NAN, 1.0),
            ("inf", f64::NAN, f64::NAN),
            ("nan", f64::NAN, f64::NAN),
            ("-Infinity", f64::NEG_INFINITY, f64::NEG_INFINITY),
            ("1e999", f64::INFINITY, f64::INFINITY),
            ("1,5", f64::NAN, 1.0),
        ] {
            let is = |one: f64, other: f64| one == other || (one.is_nan() && other.is_nan());
            assert!(
                is(number_of_text(text), number),
                "{text:?}: {}",
                number_of_text(text)
            );
            assert!(is(parse_float(text), start), "{text:?}: {}", parse_float(text));
        }
    }

    #[test]
    fn numbers_become_the_texts_of_javascript() {
        for (number, text) in [
            (0.1 + 0.2, "0.30000000000000004"),
            (1e21, "1e+21"),
            (1e-7, "1e-7"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (-0.0, "0"),
            (1.5e-6, "0.0000015"),
        ] {
            assert_eq!(number_text(number), text);
        }
    }
}
