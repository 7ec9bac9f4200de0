//! Decides independently of DuckDB which texts a column can hold and which texts are equal.

/// A number as its sign, its digits without leading and trailing zeros, and the position of its point.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Number {
    is_negative: bool,
    digits: String,
    exponent: i64,
}

fn number(text: &str) -> Option<Number> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (is_negative, unsigned) = match mantissa.strip_prefix('-') {
        Some(unsigned) => (true, unsigned),
        None => (false, mantissa),
    };
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let all = format!("{whole}{fraction}");
    if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let exponent: i64 = exponent.parse().ok()?;
    let kept = all.trim_end_matches('0');
    let exponent =
        exponent - i64::try_from(fraction.len()).unwrap() + i64::try_from(all.len() - kept.len()).unwrap();
    let digits = kept.trim_start_matches('0').to_owned();
    Some(match digits.is_empty() {
        true => Number {
            is_negative: false,
            digits,
            exponent: 0,
        },
        false => Number {
            is_negative,
            digits,
            exponent,
        },
    })
}

/// Returns whether a type can hold the value of a text: an import must accept it then, and refuse it
/// otherwise.
pub(crate) fn fits(kind: &str, text: &str) -> bool {
    let integer = || {
        let number = number(text).filter(|number| (0..40).contains(&number.exponent))?;
        let zeros = "0".repeat(usize::try_from(number.exponent).unwrap());
        let sign = if number.is_negative { "-" } else { "" };
        format!("{sign}0{}{zeros}", number.digits).parse::<i64>().ok()
    };
    match kind {
        "STRING" => true,
        "INTEGER" => integer().is_some_and(|value| i32::try_from(value).is_ok()),
        "BIGINT" => integer().is_some(),
        "FLOAT" => floating(text, f64::from(f32::MAX), |value| {
            f64::from(value.to_string().parse::<f32>().unwrap())
        }),
        "DOUBLE" => floating(text, f64::MAX, |value| value),
        "BOOLEAN" => ["true", "false"].contains(&text),
        "DATE" => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
        "TIMESTAMP" => {
            let time = text.parse::<jiff::Timestamp>();
            time.is_ok_and(|time| time.subsec_nanosecond() % 1_000 == 0)
        }
        decimal => {
            let (precision, scale) = bounds(decimal);
            number(text).is_some_and(|number| {
                let length = i64::try_from(number.digits.len()).unwrap();
                -number.exponent <= scale && length + number.exponent <= precision - scale
            })
        }
    }
}

fn bounds(decimal: &str) -> (i64, i64) {
    let inner = decimal
        .strip_prefix("DECIMAL(")
        .unwrap()
        .strip_suffix(')')
        .unwrap();
    let (precision, scale) = inner.split_once(',').unwrap();
    (precision.parse().unwrap(), scale.parse().unwrap())
}

fn floating(text: &str, greatest: f64, nearest: impl Fn(f64) -> f64) -> bool {
    let (Some(number), Ok(value)) = (number(text), text.parse::<f64>()) else {
        return false;
    };
    if value.abs() > greatest {
        return false;
    }
    let is_integer = number.exponent >= 0 && !text.contains(['e', 'E', '.']);
    !is_integer
        || format!("{:.0}", nearest(value).abs())
            == format!(
                "{:0<1$}",
                number.digits,
                number.digits.len().max(1) + usize::try_from(number.exponent).unwrap()
            )
        || number.digits.is_empty()
}

/// Returns whether the value read back equals the value sent.
pub(crate) fn equals(kind: &str, sent: &str, read_back: &str) -> bool {
    match kind {
        "STRING" | "BOOLEAN" | "DATE" => sent == read_back,
        "FLOAT" => sent.parse::<f32>().unwrap() == read_back.parse::<f32>().unwrap(),
        "DOUBLE" => sent.parse::<f64>().unwrap() == read_back.parse::<f64>().unwrap(),
        "TIMESTAMP" => {
            sent.parse::<jiff::Timestamp>().unwrap() == read_back.parse::<jiff::Timestamp>().unwrap()
        }
        _ => number(sent) == number(read_back),
    }
}
