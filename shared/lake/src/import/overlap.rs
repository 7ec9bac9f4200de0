//! Decides which segments can contain a key of new rows: those whose minima and maxima do not exclude it.

use std::cmp::Ordering;

use crate::schema::manifest::{ManifestColumn, Segment, TableVersion};
use crate::schema::types::ColumnType;

/// Returns whether both segments may contain the same key of `table`, according to their statistics. For a
/// key of several columns, one column with separate ranges excludes it.
pub(crate) fn may_share_a_key(table: &TableVersion, new: &Segment, existing: &Segment) -> bool {
    let overlap = |column: &ManifestColumn| may_share_a_value(column, new, existing);
    let mut primary = table
        .columns
        .iter()
        .filter(|column| column.primary_key)
        .peekable();
    let mut unique = table.columns.iter().filter(|column| column.unique);
    primary.peek().is_some() && primary.all(overlap) || unique.any(overlap)
}

fn may_share_a_value(column: &ManifestColumn, left: &Segment, right: &Segment) -> bool {
    if [left, right]
        .iter()
        .any(|segment| holds_no_value(column, segment))
    {
        return false;
    }
    let (Some(left), Some(right)) = (range(column, left), range(column, right)) else {
        return true;
    };
    !(left.1 < right.0 || right.1 < left.0)
}

fn holds_no_value(column: &ManifestColumn, segment: &Segment) -> bool {
    let statistics = segment.columns.get(&column.field_id);
    statistics.is_some_and(|statistics| statistics.null_count == Some(segment.rows))
}

/// Returns the minimum and maximum; None if they are unknown or not certain to be comparable.
fn range(column: &ManifestColumn, segment: &Segment) -> Option<(Bound, Bound)> {
    let statistics = segment.columns.get(&column.field_id)?;
    let bound = |text: &Option<String>| Bound::read(column.column_type, text.as_deref()?);
    Some((bound(&statistics.min)?, bound(&statistics.max)?))
}

/// A minimum or maximum. A file may have a narrower type than the column has now, and these values have the
/// same order in all such types.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Bound {
    Number(Number),
    /// Ordered by bytes, as DuckDB orders texts.
    Text(String),
}

impl Bound {
    fn read(column_type: ColumnType, text: &str) -> Option<Self> {
        match column_type {
            ColumnType::Integer | ColumnType::Bigint | ColumnType::Decimal { .. } => {
                Number::read(text).map(Self::Number)
            }
            ColumnType::String => Some(Self::Text(text.to_owned())),
            ColumnType::Date => follows(text, "dddd-dd-dd").then(|| Self::Text(text.to_owned())),
            ColumnType::Timestamp => {
                let (second, fraction) = text.split_once('.').unwrap_or((text, ""));
                let is_plain = follows(second, "dddd-dd-dd dd:dd:dd")
                    && fraction.bytes().all(|byte| byte.is_ascii_digit());
                is_plain.then(|| Self::Text(format!("{second}.{}", fraction.trim_end_matches('0'))))
            }
            // A FLOAT has another text than the DOUBLE to which it was widened; the other types are not
            // useful keys.
            ColumnType::Float | ColumnType::Double | ColumnType::Boolean | ColumnType::Json => None,
        }
    }
}

/// Returns whether a text has a form, in which `d` stands for a digit.
fn follows(text: &str, form: &str) -> bool {
    text.len() == form.len()
        && text
            .bytes()
            .zip(form.bytes())
            .all(|(byte, expected)| match expected {
                b'd' => byte.is_ascii_digit(),
                expected => byte == expected,
            })
}

/// A decimal number of any size.
#[derive(Debug, PartialEq, Eq)]
struct Number {
    is_negative: bool,
    /// Without leading zeros.
    whole: String,
    /// Without trailing zeros.
    fraction: String,
}

impl Number {
    fn read(text: &str) -> Option<Self> {
        let (is_negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if digits.is_empty() || digits == "." || !are_digits(whole) || !are_digits(fraction) {
            return None;
        }
        let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
        Some(Self {
            is_negative: is_negative && !(whole.is_empty() && fraction.is_empty()),
            whole: whole.to_owned(),
            fraction: fraction.to_owned(),
        })
    }

    fn size(&self) -> (usize, &str, &str) {
        (self.whole.len(), &self.whole, &self.fraction)
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.is_negative, other.is_negative) {
            (false, false) => self.size().cmp(&other.size()),
            (true, true) => other.size().cmp(&self.size()),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::manifest::ColumnStatistics;
    use proptest::prelude::*;
    use serde_json::json;

    fn table(columns: &[(&str, &str, &str)]) -> TableVersion {
        let columns: Vec<_> = columns
            .iter()
            .zip(1..)
            .map(|((name, kind, key), id)| {
                let mut column = json!({ "field_id": id, "name": name, "type": kind });
                if !key.is_empty() {
                    column[*key] = true.into();
                }
                column
            })
            .collect();
        let table = json!({ "table_id": 1, "name": "t", "next_field_id": 9, "columns": columns });
        serde_json::from_value(table).unwrap()
    }

    /// Makes a segment of ten rows from the minimum and maximum of its columns; `""` is unknown, `"null"` is
    /// null in every row.
    fn segment(ranges: &[(&str, &str)]) -> Segment {
        let known = |text: &&str| Some((*text).to_owned()).filter(|text| !text.is_empty() && text != "null");
        let columns = ranges.iter().zip(1..).map(|((min, max), id)| {
            let statistics = ColumnStatistics {
                min: known(min),
                max: known(max),
                null_count: Some(if *min == "null" { 10 } else { 0 }),
            };
            (id, statistics)
        });
        Segment {
            segment_id: "s".to_owned(),
            rows: 10,
            bytes: 1,
            sha256: String::new(),
            columns: columns.collect(),
        }
    }

    #[test]
    fn values_that_lie_apart_share_no_key() {
        for (kind, left, right, expected) in [
            ("BIGINT", ("1", "9"), ("10", "20"), false),
            ("BIGINT", ("1", "10"), ("10", "20"), true),
            ("BIGINT", ("-20", "-10"), ("-9", "5"), false),
            ("BIGINT", ("5", "6"), ("1", "10"), true),
            ("BIGINT", ("", ""), ("1", "10"), true),
            ("BIGINT", ("null", ""), ("1", "10"), false),
            ("DECIMAL(12,2)", ("1.50", "2.00"), ("2.000", "3"), true),
            ("DECIMAL(12,2)", ("1.50", "2.00"), ("2.01", "3"), false),
            ("STRING", ("a", "b"), ("c", "d"), false),
            ("STRING", ("a", "zz"), ("z", "é"), true),
            (
                "DATE",
                ("2024-01-01", "2024-12-31"),
                ("2025-01-01", "2025-01-02"),
                false,
            ),
            (
                "DATE",
                ("0044-03-15 (BC)", "2024-12-31"),
                ("2025-01-01", "2025-01-02"),
                true,
            ),
            (
                "TIMESTAMP",
                ("2024-01-01 00:00:00", "2024-01-01 00:00:00.5"),
                ("2024-01-01 00:00:00.500000", "2025-01-01 00:00:00"),
                true,
            ),
            ("DOUBLE", ("1", "2"), ("3", "4"), true),
        ] {
            let table = table(&[("k", kind, "primary_key")]);
            let shared = may_share_a_key(&table, &segment(&[left]), &segment(&[right]));
            assert_eq!(shared, expected, "{kind} {left:?} {right:?}");
        }
    }

    #[test]
    fn one_column_rules_a_key_out_and_every_key_counts() {
        let apart = (
            segment(&[("1", "5"), ("a", "z")]),
            segment(&[("6", "9"), ("a", "z")]),
        );
        let both = table(&[("a", "INTEGER", "primary_key"), ("b", "STRING", "primary_key")]);
        assert!(!may_share_a_key(&both, &apart.0, &apart.1));
        let each = table(&[("a", "INTEGER", "primary_key"), ("b", "STRING", "unique")]);
        assert!(may_share_a_key(&each, &apart.0, &apart.1));
        // A file has no statistics of a column added after it.
        let younger = segment(&[]);
        assert!(may_share_a_key(&each, &apart.0, &younger));
    }

    proptest! {
        /// The order does not depend on the way in which numbers are written.
        #[test]
        fn numbers_are_ordered_as_numbers(left in -1_000_000_i64..1_000_000, right in -1_000_000_i64..1_000_000) {
            let texts = |number: i64| {
                let sign = if number < 0 { "-" } else { "" };
                let (whole, part) = (number.abs() / 1_000, number.abs() % 1_000);
                [format!("{sign}{whole}.{part:03}"), format!("{sign}{whole}.{part:03}00")]
            };
            for left_text in texts(left) {
                for right_text in texts(right) {
                    let (l, r) = (Number::read(&left_text).unwrap(), Number::read(&right_text).unwrap());
                    prop_assert_eq!(l.cmp(&r), left.cmp(&right), "{} {}", left_text, right_text);
                }
            }
        }
    }
}
