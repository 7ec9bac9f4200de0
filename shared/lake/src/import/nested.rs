//! Reads nested values of a Parquet file exactly: makes text of their bytes and of times that DuckDB does not
//! read whole.
//!
//! Also finds the values that would not be kept: the first of two equal keys of a map, bytes that are no
//! text, a time of 96 bits outside of the years 0001 to 9999, and a time that DuckDB takes for an infinity.

use crate::import::int96;
use crate::import::parquet_element::Leaf;
use crate::tables::sql;

/// Type of bytes without an annotation.
pub(crate) const BYTES: &str = "BLOB";
/// Type of times in nanoseconds. DuckDB reads times in UTC only in whole microseconds.
pub(crate) const NANOSECONDS: &str = "TIMESTAMP_NS";

/// A type of DuckDB, by its name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FileType {
    List(Box<Self>),
    /// Fields with their names.
    Struct(Vec<(String, Self)>),
    Map(Box<Self>, Box<Self>),
    /// Bytes that are a time of 96 bits.
    Int96,
    /// A time in nanoseconds that is in UTC.
    UtcNanoseconds,
    /// A type without parts, or one that no Parquet file has.
    Plain(String),
}

impl FileType {
    /// Returns the type of a column, from the name of DuckDB's type and the leaves that the footer tells;
    /// None if they do not go together.
    pub(crate) fn of_column(name: &str, leaves: Option<&Vec<Leaf>>) -> Option<Self> {
        let mut file_type = Self::parse(name);
        if let Some(leaves) = leaves {
            let mut leaves = leaves.iter();
            file_type.mark(&mut leaves)?;
            if leaves.next().is_some() {
                return None;
            }
        }
        Some(file_type)
    }

    /// Marks the times that DuckDB reads as something else.
    fn mark<'a>(&mut self, leaves: &mut impl Iterator<Item = &'a Leaf>) -> Option<()> {
        match self {
            Self::List(elements) => elements.mark(leaves),
            Self::Struct(fields) => fields.iter_mut().try_for_each(|(_, field)| field.mark(leaves)),
            Self::Map(keys, values) => {
                keys.mark(leaves)?;
                values.mark(leaves)
            }
            Self::Int96 | Self::UtcNanoseconds => None,
            Self::Plain(name) => {
                *self = match (leaves.next()?, name.as_str()) {
                    (Leaf::Plain, _) => return Some(()),
                    (Leaf::Int96, BYTES) => Self::Int96,
                    (Leaf::UtcNanoseconds, NANOSECONDS) => Self::UtcNanoseconds,
                    _ => return None,
                };
                Some(())
            }
        }
    }

    /// Reads the name of a type, as `STRUCT(a INTEGER, "b c" MAP(VARCHAR, DOUBLE)[])`.
    fn parse(name: &str) -> Self {
        let name = name.trim();
        if let Some(elements) = name.strip_suffix(']').and_then(|name| name.rsplit_once('[')) {
            return Self::List(Box::new(Self::parse(elements.0)));
        }
        let plain = || Self::Plain(name.to_owned());
        let parts = |kind: &str| {
            let inner = name.strip_prefix(kind)?.strip_prefix('(')?.strip_suffix(')')?;
            Some(split(inner))
        };
        if let Some(parts) = parts("MAP") {
            return match parts.as_slice() {
                [key, value] => Self::Map(Box::new(Self::parse(key)), Box::new(Self::parse(value))),
                _ => plain(),
            };
        }
        let Some(parts) = parts("STRUCT") else {
            return plain();
        };
        let fields = parts.into_iter().map(|part| {
            let (name, field_type) = field(part)?;
            Some((name, Self::parse(field_type)))
        });
        fields.collect::<Option<_>>().map_or_else(plain, Self::Struct)
    }

    pub(crate) fn is_nested(&self) -> bool {
        matches!(self, Self::List(_) | Self::Struct(_) | Self::Map(..))
    }

    /// Returns the levels of lists, structs and maps.
    pub(crate) fn levels(&self) -> usize {
        match self {
            Self::List(elements) => 1 + elements.levels(),
            Self::Struct(fields) => 1 + fields.iter().map(|field| field.1.levels()).max().unwrap_or(0),
            Self::Map(keys, values) => 1 + keys.levels().max(values.levels()),
            Self::Int96 | Self::UtcNanoseconds | Self::Plain(_) => 0,
        }
    }

    /// Returns SQL for `value`, which is nested, with texts for bytes and for times that DuckDB reads as
    /// something else. Bytes that are no text become NULL, as does a map with equal keys. None if there is
    /// nothing to make text of.
    pub(crate) fn with_texts(&self, value: &str) -> Option<String> {
        self.with_texts_at(value, 0)
    }

    fn with_texts_at(&self, value: &str, level: usize) -> Option<String> {
        match self {
            Self::Int96 => Some(int96::text(value)),
            Self::UtcNanoseconds => Some(format!("(CAST({value} AS VARCHAR) || '+00')")),
            Self::Plain(name) if name == BYTES => Some(format!("TRY(decode({value}))")),
            Self::Plain(_) => None,
            Self::List(elements) => elements.list_with_texts(value, level),
            Self::Map(keys, values) => {
                let (old_keys, old_values) = (format!("map_keys({value})"), format!("map_values({value})"));
                let keys = keys.list_with_texts(&old_keys, level);
                let values = values.list_with_texts(&old_values, level);
                if keys.is_none() && values.is_none() {
                    return None;
                }
                let (keys, values) = (keys.unwrap_or(old_keys), values.unwrap_or(old_values));
                // A list of one element names the keys, which are long SQL, for their second use.
                let entries = format!("m{level}");
                Some(format!(
                    "list_transform([{{'k': {keys}, 'v': {values}}}], lambda {entries}: \
                     CASE WHEN len(list_distinct({entries}.k)) < len({entries}.k) THEN NULL \
                     ELSE map({entries}.k, {entries}.v) END)[1]"
                ))
            }
            Self::Struct(fields) => {
                let mut is_other = false;
                let parts = fields.iter().zip(1..).map(|((name, field), at)| {
                    let part = field_of(value, at);
                    let text = field.with_texts_at(&part, level);
                    is_other |= text.is_some();
                    format!("{}: {}", sql::literal(name), text.unwrap_or(part))
                });
                let parts = parts.collect::<Vec<_>>().join(", ");
                is_other.then(|| format!("CASE WHEN {value} IS NULL THEN NULL ELSE {{{parts}}} END"))
            }
        }
    }

    /// Like [`Self::with_texts`], for a list of values of this type.
    fn list_with_texts(&self, list: &str, level: usize) -> Option<String> {
        let element = format!("e{level}");
        let text = self.with_texts_at(&element, level + 1)?;
        Some(format!("list_transform({list}, lambda {element}: {text})"))
    }

    /// Returns whether a field has a name that SQL cannot write: none, or one with a zero.
    pub(crate) fn has_unwritable_name(&self) -> bool {
        match self {
            Self::List(elements) => elements.has_unwritable_name(),
            Self::Map(keys, values) => keys.has_unwritable_name() || values.has_unwritable_name(),
            Self::Struct(fields) => fields
                .iter()
                .any(|(name, field)| name.is_empty() || name.contains('\0') || field.has_unwritable_name()),
            Self::Int96 | Self::UtcNanoseconds | Self::Plain(_) => false,
        }
    }

    /// Returns the condition, as SQL, that a map within `value` has a key twice; None without a map.
    pub(crate) fn has_equal_keys(&self, value: &str) -> Option<String> {
        self.any(value, 0, &|part, value, level| {
            let Self::Map(keys, _) = part else {
                return None;
            };
            let list = format!("map_keys({value})");
            let list = keys.list_with_texts(&list, level).unwrap_or(list);
            Some(format!("len(list_distinct({list})) < len({list})"))
        })
    }

    /// Returns the condition, as SQL, that bytes within `value` are no text in UTF-8; None without bytes.
    pub(crate) fn is_no_text(&self, value: &str) -> Option<String> {
        self.any(value, 0, &|part, value, _| match part {
            Self::Plain(name) if name == BYTES => {
                Some(format!("({value} IS NOT NULL AND TRY(decode({value})) IS NULL)"))
            }
            _ => None,
        })
    }

    /// Returns the condition, as SQL, that a time of 96 bits within `value` is outside of the years 0001 to
    /// 9999; None without such a time.
    pub(crate) fn is_no_year(&self, value: &str) -> Option<String> {
        self.any(value, 0, &|part, value, _| {
            (*part == Self::Int96).then(|| int96::is_no_year(value))
        })
    }

    /// Returns the condition, as SQL, that DuckDB takes a time or a day within `value` for an infinity; None
    /// without one. It does so with the greatest numbers.
    pub(crate) fn is_infinite(&self, value: &str) -> Option<String> {
        self.any(value, 0, &|part, value, _| match part {
            Self::UtcNanoseconds => Some(format!("NOT isfinite({value})")),
            Self::Plain(name) if name == "DATE" || name.starts_with("TIMESTAMP") => {
                Some(format!("NOT isfinite({value})"))
            }
            _ => None,
        })
    }

    /// Returns the condition that `check` holds of any part of `value`.
    fn any(
        &self,
        value: &str,
        level: usize,
        check: &impl Fn(&Self, &str, usize) -> Option<String>,
    ) -> Option<String> {
        let element = format!("e{level}");
        let of_elements = |elements: &Self, list: &str| {
            let condition = elements.any(&element, level + 1, check)?;
            Some(format!(
                "list_bool_or(list_transform({list}, lambda {element}: {condition}))"
            ))
        };
        let mut conditions = Vec::from_iter(check(self, value, level));
        match self {
            Self::List(elements) => conditions.extend(of_elements(elements, value)),
            Self::Map(keys, values) => {
                conditions.extend(of_elements(keys, &format!("map_keys({value})")));
                conditions.extend(of_elements(values, &format!("map_values({value})")));
            }
            Self::Struct(fields) => {
                for ((_, field), at) in fields.iter().zip(1..) {
                    conditions.extend(field.any(&field_of(value, at), level, check));
                }
            }
            Self::Int96 | Self::UtcNanoseconds | Self::Plain(_) => {}
        }
        (!conditions.is_empty()).then(|| format!("({})", conditions.join(" OR ")))
    }
}

/// Returns SQL for the field of a struct at a place, counted from 1. Its name may be long.
fn field_of(value: &str, at: usize) -> String {
    format!("struct_extract_at({value}, {at})")
}

/// Splits at the commas outside of quotes and parentheses.
fn split(parts: &str) -> Vec<&str> {
    let (mut begin, mut open, mut quote) = (0, 0_usize, None);
    let mut split = Vec::new();
    for (at, letter) in parts.char_indices() {
        match (quote, letter) {
            // A quote in quotes is doubled, which closes and opens them again.
            (Some(closing), _) => quote = (closing != letter).then_some(closing),
            (None, '"' | '\'') => quote = Some(letter),
            (None, '(') => open += 1,
            (None, ')') => open = open.saturating_sub(1),
            (None, ',') if open == 0 => {
                split.extend(parts.get(begin..at));
                begin = at + 1;
            }
            (None, _) => {}
        }
    }
    split.extend(parts.get(begin..));
    split
}

/// Splits a field into its name and its type.
fn field(text: &str) -> Option<(String, &str)> {
    let text = text.trim();
    let Some(quoted) = text.strip_prefix('"') else {
        let (name, field_type) = text.split_once(' ')?;
        return Some((name.to_owned(), field_type));
    };
    let mut from = 0;
    loop {
        let quote = from + quoted.get(from..)?.find('"')?;
        let rest = quoted.get(quote + 1..)?;
        if !rest.starts_with('"') {
            return Some((quoted.get(..quote)?.replace("\"\"", "\""), rest));
        }
        from = quote + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::functions;
    use crate::import::int96::Int96Text;

    fn plain(name: &str) -> FileType {
        FileType::Plain(name.to_owned())
    }

    #[test]
    fn names_of_types_are_read_with_their_parts() {
        assert_eq!(FileType::parse("DECIMAL(18,4)"), plain("DECIMAL(18,4)"));
        assert_eq!(
            FileType::parse("ENUM('a[]', 'STRUCT(')"),
            plain("ENUM('a[]', 'STRUCT(')")
        );
        let fields = vec![
            ("a".to_owned(), plain("DECIMAL(18,4)")),
            (
                "b\"(, c".to_owned(),
                FileType::List(Box::new(FileType::Map(
                    Box::new(plain("VARCHAR")),
                    Box::new(FileType::List(Box::new(plain("TIMESTAMP WITH TIME ZONE")))),
                ))),
            ),
        ];
        assert_eq!(
            FileType::parse(
                "STRUCT(a DECIMAL(18,4), \"b\"\"(, c\" MAP(VARCHAR, TIMESTAMP WITH TIME ZONE[])[])"
            ),
            FileType::Struct(fields)
        );
    }

    #[test]
    fn conditions_reach_every_part() {
        let connection = duckdb::Connection::open_in_memory().unwrap();
        let holds = |condition: Option<String>, value: &str| {
            let query = format!(
                "SELECT coalesce({}, false) FROM (SELECT {value} AS v)",
                condition.unwrap()
            );
            connection
                .query_row(&query, [], |row| row.get::<_, bool>(0))
                .unwrap()
        };
        let file_type = |value: &str| {
            let query = format!("SELECT typeof({value})");
            let name = connection.query_row(&query, [], |row| row.get::<_, String>(0));
            FileType::parse(&name.unwrap())
        };
        for (time, expected) in [("2024-03-31", false), ("infinity", true), ("-infinity", true)] {
            for shape in [
                "TIMESTAMP '@'",
                "DATE '@'",
                "TIMESTAMP_NS '@'",
                "TIMESTAMPTZ '@'",
                "[NULL, DATE '@']",
                "MAP {DATE '@': 1}",
                "[[{'a': [MAP {'k': {'t': TIMESTAMPTZ '@'}}]}], NULL]",
            ] {
                let value = shape.replace('@', time);
                let condition = file_type(&value).is_infinite("v");
                assert_eq!(holds(condition, &value), expected, "{value}");
            }
        }
        assert_eq!(file_type("[TIME '10:00']").is_infinite("v"), None);
        assert_eq!(file_type("[{'a': 1}]").has_equal_keys("v"), None);
        let value = "[{'m': MAP {'a': MAP {1: 2, 2: 2}}}, NULL]";
        assert!(!holds(file_type(value).has_equal_keys("v"), value));
        assert!(!holds(
            file_type(value).has_equal_keys("v"),
            &format!("NULL::{}", "STRUCT(m MAP(VARCHAR, MAP(INTEGER, INTEGER)))[]")
        ));
    }

    #[test]
    fn nested_bytes_and_times_become_texts() {
        let connection = duckdb::Connection::open_in_memory().unwrap();
        functions::register::<Int96Text>(&connection, int96::NAME).unwrap();
        let time = r"'\x07\x36\xB4\x55\x94\x4E\x00\x00\x96\x8A\x25\x00'::BLOB";
        let day_after_the_last = r"'\x00\x00\x00\x00\x00\x00\x00\x00\x2D\xFE\x51\x00'::BLOB";
        let utc = "TIMESTAMP_NS '2024-03-31 01:30:00.000000001'";
        for (leaf, value, text, is_wrong) in [
            (Leaf::Int96, time, r#""2023-12-31 23:59:59.000000007""#, false),
            (
                Leaf::Int96,
                day_after_the_last,
                r#""Julian day 5373485 and 0 ns""#,
                true,
            ),
            (
                Leaf::UtcNanoseconds,
                utc,
                r#""2024-03-31 01:30:00.000000001+00""#,
                false,
            ),
            (Leaf::Plain, r"'k\xC3\xA4'::BLOB", r#""kä""#, false),
            (Leaf::Plain, r"'\xFF'::BLOB", "null", true),
        ] {
            // A value, its JSON, and the place of the leaf among all.
            for (shape, json, place, leaves) in [
                ("[@, NULL]", "[#,null]", 0, 1),
                (
                    "{'a b''c\"': [@], 'n': NULL::INTEGER[]}",
                    r#"{"a b'c\"":[#],"n":null}"#,
                    0,
                    2,
                ),
                (
                    "{'a': 1, 'b': {'c': true, 'd': @}}",
                    r#"{"a":1,"b":{"c":true,"d":#}}"#,
                    2,
                    3,
                ),
                ("MAP {'k': MAP {1: @}}", r##"{"k":{"1":#}}"##, 2, 3),
                ("MAP {@: 1}", "{#:1}", 0, 2),
                (
                    "[[{'a': [MAP {'k': {'t': @}}]}], NULL]",
                    r##"[[{"a":[{"k":{"t":#}}]}],null]"##,
                    1,
                    2,
                ),
            ] {
                let sql = shape.replace('@', value);
                let name = connection.query_row(&format!("SELECT typeof({sql})"), [], |row| row.get(0));
                let name: String = name.unwrap();
                let mut kinds = vec![Leaf::Plain; leaves];
                kinds[place] = leaf;
                let file_type = FileType::of_column(&name, Some(&kinds)).unwrap();
                let condition = match leaf {
                    Leaf::Plain => file_type.is_no_text("v"),
                    Leaf::Int96 => file_type.is_no_year("v"),
                    Leaf::UtcNanoseconds => file_type.is_infinite("v"),
                };
                let query = format!(
                    "SELECT CAST(to_json({}) AS VARCHAR), coalesce({}, false) FROM (SELECT {sql} AS v)",
                    file_type.with_texts("v").unwrap(),
                    condition.unwrap()
                );
                let row = connection.query_row(&query, [], |row| Ok((row.get(0)?, row.get(1)?)));
                let row: (Option<String>, bool) = row.unwrap();
                // A map without a key is none.
                let json = (!json.starts_with("{#") || text != "null").then(|| json.replace('#', text));
                assert_eq!(row, (json, is_wrong), "{sql}");
                for other in [&kinds[1..], &[&kinds[..], &[leaf]].concat()] {
                    assert_eq!(FileType::of_column(&name, Some(&other.to_vec())), None, "{sql}");
                }
            }
        }
        let names = FileType::parse("STRUCT(a STRUCT(\"\" BLOB)[])");
        assert!(names.has_unwritable_name());
        assert_eq!(
            FileType::parse("STRUCT(a MAP(VARCHAR, TIMESTAMP))").with_texts("v"),
            None
        );
    }
}
