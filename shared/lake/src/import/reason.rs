//! Explains to the caller why a text is no value of a type.

use crate::import::conversion::MAX_JSON_DEPTH;
use crate::schema::types::ColumnType;

/// Returns the explanation. `shown` is the text in quotes.
pub(crate) fn reason(column_type: ColumnType, is_lossy: bool, shown: &str) -> String {
    use ColumnType as T;
    let article = match column_type {
        T::Integer => "an",
        _ => "a",
    };
    let advice = match column_type {
        T::Decimal { .. } if is_lossy => {
            return format!(
                "{shown} has more digits after the point than {column_type} keeps; round it, or set 'rounding'"
            );
        }
        T::Float | T::Double if is_lossy => {
            return format!(
                "{shown} is more than a {column_type} holds exactly; send fewer digits, or change the column's type"
            );
        }
        T::String => return format!("{shown} is not text in UTF-8"),
        T::Json if is_lossy => {
            return format!(
                "the value nests deeper than {MAX_JSON_DEPTH} levels; make it flatter, or use the type STRING"
            );
        }
        T::Timestamp if is_lossy => {
            return format!(
                "{shown} has more digits of a second than a {column_type} keeps; send at most six after the point"
            );
        }
        _ if is_a_word_for_nothing(shown) => "; leave the field empty, or send null, where there is no value",
        T::Date if has_form_of_day(shown) => ": there is no such day",
        T::Date if has_form_of_time(shown) => {
            ", which holds the day alone: it takes a time only at midnight, in UTC"
        }
        T::Timestamp if has_form_of_time(shown) => ": there is no such day or time",
        T::Timestamp if is_plain_number(shown) => {
            "; write it as 2026-01-31T12:00:00Z, because a number does not tell its unit"
        }
        T::Timestamp => "; write it as 2026-01-31T12:00:00Z",
        T::Date => "; write it as 2026-01-31",
        T::Boolean => "; write true or false",
        T::Decimal { .. } | T::Float | T::Double if has_other_characters(shown) => {
            "; write it with digits and a point alone, as 1234.5"
        }
        T::Integer | T::Bigint if has_other_characters(shown) => "; write it with digits alone, as 1234",
        T::Integer if is_beyond(shown, i32::MAX.into()) => ": it is out of range",
        T::Bigint if is_beyond(shown, i64::MAX as f64) => ": it is out of range",
        T::Integer | T::Bigint if is_lossy => "; round it, or set 'rounding'",
        T::Json => "; write it as RFC 8259 says: no NaN or Infinity, and no comma after the last value",
        T::Decimal { .. } | T::Integer | T::Bigint if !has_other_characters(shown) => ": it is out of range",
        _ => "",
    };
    format!("{shown} is not {article} {column_type}{advice}")
}

/// Returns a quoted text without its quotes, and without the blanks around it, which most types allow.
fn bare(shown: &str) -> &str {
    shown.trim_matches('\'').trim()
}

/// Returns whether a quoted text stands for a missing value in other programs.
fn is_a_word_for_nothing(shown: &str) -> bool {
    let text = bare(shown).to_ascii_lowercase();
    ["", "-", "na", "n/a", "#n/a", "null", "none", "nil", "\\n", "nat"].contains(&text.as_str())
}

/// Forms of times, with zeros for all digits; a fraction or an offset may follow.
const TIMES: [&str; 3] = ["0000-00-00", "0000-00-00 00:00", "0000-00-00T00:00"];

/// Returns whether a quoted text has the form of a day.
fn has_form_of_day(shown: &str) -> bool {
    zeroed(shown) == "0000-00-00"
}

/// Returns whether a quoted text starts as a time does and goes on with characters of times.
fn has_form_of_time(shown: &str) -> bool {
    let text = zeroed(shown);
    let mut rests = TIMES.iter().filter_map(|form| text.strip_prefix(form));
    rests.any(|rest| rest.chars().all(|letter| "0:.+-Z".contains(letter)))
}

/// Returns a quoted text with zeros for all digits.
fn zeroed(shown: &str) -> String {
    let zero = |letter: char| if letter.is_ascii_digit() { '0' } else { letter };
    bare(shown).chars().map(zero).collect()
}

/// Returns whether a quoted text is a number that no rounding reduces to `most`.
fn is_beyond(shown: &str, most: f64) -> bool {
    let number: Option<f64> = bare(shown).parse().ok();
    number.is_some_and(|number| number.abs() + 0.5 >= most + 1.0)
}

/// Returns whether a quoted text is a number of digits, with at most a sign and a point.
fn is_plain_number(shown: &str) -> bool {
    let number = bare(shown).trim_start_matches(['+', '-']);
    let is_digits = |part: &str| part.chars().all(|letter| letter.is_ascii_digit());
    match number.split_once('.') {
        Some((whole, fraction)) => !whole.is_empty() && is_digits(whole) && is_digits(fraction),
        None => !number.is_empty() && is_digits(number),
    }
}

/// Returns whether a quoted text has characters that no number has, such as a currency sign or a comma.
fn has_other_characters(shown: &str) -> bool {
    bare(shown)
        .chars()
        .any(|character| !character.is_ascii_digit() && !"'+-.eE…".contains(character))
}
