//! Finds the values in a Parquet file that would not be kept, also within nested values: the first of two equal
//! keys of a map, a time of 96 bits of which DuckDB reads another time, and a time that DuckDB takes for an
//! infinity.

use crate::tables::sql;

/// The times that every database can read.
const YEARS: &str = "TIMESTAMP '0001-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999'";

/// A type of DuckDB, by its name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FileType {
    List(Box<Self>),
    /// Fields with their names.
    Struct(Vec<(String, Self)>),
    Map(Box<Self>, Box<Self>),
    /// A type without parts, or one that no Parquet file has.
    Plain(String),
}

impl FileType {
    /// Reads the name of a type, as `STRUCT(a INTEGER, "b c" MAP(VARCHAR, DOUBLE)[])`. The caller has checked
    /// its levels.
    pub(crate) fn parse(name: &str) -> Self {
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

    /// Returns the condition, as SQL, that a map within `value` has a key twice; None without a map.
    pub(crate) fn has_equal_keys(&self, value: &str) -> Option<String> {
        self.any(value, 0, &|part, value| {
            let keys = format!("map_keys({value})");
            matches!(part, Self::Map(..)).then(|| format!("len(list_distinct({keys})) < len({keys})"))
        })
    }

    /// Returns the condition, as SQL, that a time within `value` is outside of the years 0001 to 9999; None
    /// without a time.
    pub(crate) fn is_no_year(&self, value: &str) -> Option<String> {
        self.any(value, 0, &|part, value| match part {
            Self::Plain(name) if name.starts_with("TIMESTAMP") => {
                Some(format!("{value} NOT BETWEEN {YEARS}"))
            }
            _ => None,
        })
    }

    /// Returns the condition, as SQL, that DuckDB takes a time or a day within `value` for an infinity; None
    /// without one. It does so with the greatest numbers.
    pub(crate) fn is_infinite(&self, value: &str) -> Option<String> {
        self.any(value, 0, &|part, value| match part {
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
        check: &impl Fn(&Self, &str) -> Option<String>,
    ) -> Option<String> {
        let element = format!("e{level}");
        let of_elements = |elements: &Self, list: &str| {
            let condition = elements.any(&element, level + 1, check)?;
            Some(format!(
                "list_bool_or(list_transform({list}, lambda {element}: {condition}))"
            ))
        };
        let mut conditions = Vec::from_iter(check(self, value));
        match self {
            Self::List(elements) => conditions.extend(of_elements(elements, value)),
            Self::Map(keys, values) => {
                conditions.extend(of_elements(keys, &format!("map_keys({value})")));
                conditions.extend(of_elements(values, &format!("map_values({value})")));
            }
            Self::Struct(fields) => {
                for (name, field) in fields {
                    let part = format!("struct_extract({value}, {})", sql::literal(name));
                    conditions.extend(field.any(&part, level, check));
                }
            }
            Self::Plain(_) => {}
        }
        (!conditions.is_empty()).then(|| format!("({})", conditions.join(" OR ")))
    }
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
        for (time, expected) in [
            ("2024-03-31", false),
            ("290000-01-01", true),
            ("0001-01-01 (BC)", true),
        ] {
            for shape in [
                "[NULL, TIMESTAMP '@']",
                "{'a b''c\"': TIMESTAMP '@', 'n': NULL::INTEGER[]}",
                "MAP {'k': [TIMESTAMP '@']}",
                "MAP {TIMESTAMP '@': 1}",
                "[[{'a': [MAP {'k': {'t': TIMESTAMPTZ '@'}}]}], NULL]",
            ] {
                let value = shape.replace('@', time);
                let condition = file_type(&value).is_no_year("v");
                assert_eq!(holds(condition, &value), expected, "{value}");
            }
        }
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
        assert_eq!(file_type("[1]").is_no_year("v"), None);
        assert_eq!(file_type("[TIME '10:00']").is_infinite("v"), None);
        assert_eq!(file_type("[{'a': 1}]").has_equal_keys("v"), None);
        let value = "[{'m': MAP {'a': MAP {1: 2, 2: 2}}}, NULL]";
        assert!(!holds(file_type(value).has_equal_keys("v"), value));
        assert!(!holds(
            file_type(value).has_equal_keys("v"),
            &format!("NULL::{}", "STRUCT(m MAP(VARCHAR, MAP(INTEGER, INTEGER)))[]")
        ));
    }
}
