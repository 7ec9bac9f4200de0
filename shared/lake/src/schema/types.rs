//! Defines the column types of a data store and the DuckDB types that store them.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Precision of a `DECIMAL` without parameters.
const DEFAULT_PRECISION: u8 = 18;
/// Scale of a `DECIMAL` without parameters.
const DEFAULT_SCALE: u8 = 4;
/// Most digits of DuckDB's decimals.
const MAX_PRECISION: u8 = 38;

/// The texts that parse as a type, as a regular expression. It does not compare the scale with the
/// precision.
const PATTERN: &str = concat!(
    r"^\s*(?:",
    r"[Ss][Tt][Rr][Ii][Nn][Gg]|",
    r"[Ii][Nn][Tt][Ee][Gg][Ee][Rr]|",
    r"[Bb][Ii][Gg][Ii][Nn][Tt]|",
    r"[Ff][Ll][Oo][Aa][Tt]|",
    r"[Dd][Oo][Uu][Bb][Ll][Ee]|",
    r"[Bb][Oo][Oo][Ll][Ee][Aa][Nn]|",
    r"[Dd][Aa][Tt][Ee]|",
    r"[Tt][Ii][Mm][Ee][Ss][Tt][Aa][Mm][Pp]|",
    r"[Jj][Ss][Oo][Nn]|",
    r"[Dd][Ee][Cc][Ii][Mm][Aa][Ll](?:\s*\(\s*\+?0*(?:[1-9]|[12][0-9]|3[0-8])\s*,\s*\+?0*(?:[0-9]|[12][0-9]|3[0-8])\s*\))?",
    r")\s*$",
);

/// The type of a column. As text: `STRING`, `DECIMAL(18,4)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// UTF-8 text.
    String,
    /// 32-bit signed integer.
    Integer,
    /// 64-bit signed integer.
    Bigint,
    /// 32-bit floating point.
    Float,
    /// 64-bit floating point.
    Double,
    /// Exact decimal.
    Decimal {
        /// All digits, 1 to 38.
        precision: u8,
        /// Digits after the point, at most `precision`.
        scale: u8,
    },
    /// True or false.
    Boolean,
    /// A day, without a time.
    Date,
    /// A point in time in UTC, in microseconds.
    Timestamp,
    /// Any JSON value, kept as its text.
    Json,
}

impl ColumnType {
    pub fn duckdb_type(self) -> String {
        match self {
            Self::String => "VARCHAR".to_owned(),
            Self::Decimal { precision, scale } => format!("DECIMAL({precision},{scale})"),
            other => other.to_string(),
        }
    }

    /// Returns whether every value of `self` is also a value of `wider`, so that stored files need no
    /// rewrite.
    pub fn widens_to(self, wider: Self) -> bool {
        match (self, wider) {
            (from, to) if from == to => true,
            (Self::Integer, Self::Bigint | Self::Double)
            | (Self::Float, Self::Double)
            | (Self::Json, Self::String) => true,
            (Self::Integer, Self::Decimal { precision, scale }) => precision - scale >= 10,
            (Self::Bigint, Self::Decimal { precision, scale }) => precision - scale >= 19,
            (
                Self::Decimal {
                    precision: p,
                    scale: s,
                },
                Self::Decimal { precision, scale },
            ) => scale >= s && precision - scale >= p - s,
            _ => false,
        }
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::String => "STRING",
            Self::Integer => "INTEGER",
            Self::Bigint => "BIGINT",
            Self::Float => "FLOAT",
            Self::Double => "DOUBLE",
            Self::Decimal { precision, scale } => return write!(f, "DECIMAL({precision},{scale})"),
            Self::Boolean => "BOOLEAN",
            Self::Date => "DATE",
            Self::Timestamp => "TIMESTAMP",
            Self::Json => "JSON",
        })
    }
}

impl FromStr for ColumnType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let upper = text.trim().to_ascii_uppercase();
        Ok(match upper.as_str() {
            "STRING" => Self::String,
            "INTEGER" => Self::Integer,
            "BIGINT" => Self::Bigint,
            "FLOAT" => Self::Float,
            "DOUBLE" => Self::Double,
            "DECIMAL" => Self::Decimal {
                precision: DEFAULT_PRECISION,
                scale: DEFAULT_SCALE,
            },
            "BOOLEAN" => Self::Boolean,
            "DATE" => Self::Date,
            "TIMESTAMP" => Self::Timestamp,
            "JSON" => Self::Json,
            other => return decimal(other).unwrap_or_else(|| Err(unknown(text))),
        })
    }
}

/// Parses `DECIMAL(p,s)`; None if the text has another form.
fn decimal(text: &str) -> Option<Result<ColumnType, String>> {
    let inner = text
        .strip_prefix("DECIMAL")?
        .trim_start()
        .strip_prefix('(')?
        .strip_suffix(')')?;
    let (precision, scale) = inner.split_once(',')?;
    let precision: u8 = precision.trim().parse().ok()?;
    let scale: u8 = scale.trim().parse().ok()?;
    Some(
        if (1..=MAX_PRECISION).contains(&precision) && scale <= precision {
            Ok(ColumnType::Decimal { precision, scale })
        } else {
            Err(format!(
                "DECIMAL(p,s) takes p from 1 to {MAX_PRECISION} and s from 0 to p, not ({precision},{scale})"
            ))
        },
    )
}

fn unknown(text: &str) -> String {
    format!(
        "'{text}' is not a column type; use STRING, INTEGER, BIGINT, FLOAT, DOUBLE, DECIMAL, DECIMAL(p,s), BOOLEAN, \
         DATE, TIMESTAMP or JSON"
    )
}

impl Serialize for ColumnType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ColumnType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}

impl JsonSchema for ColumnType {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ColumnType".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "Type of a column, in upper or lower case: `STRING`, `INTEGER` (32 bits), `BIGINT` (64 bits), \
                            `FLOAT` (32 bits), `DOUBLE` (64 bits), `DECIMAL(p,s)` with p digits, 1 to 38, of which s are \
                            behind the point, `DECIMAL` (that is `DECIMAL(18,4)`), `BOOLEAN`, `DATE`, `TIMESTAMP` (UTC, in \
                            microseconds) or `JSON`.",
            "pattern": PATTERN,
            "examples": ["STRING", "DECIMAL(18,4)"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> ColumnType {
        text.parse().unwrap()
    }

    #[test]
    fn every_type_reads_what_it_writes() {
        for text in [
            "STRING",
            "INTEGER",
            "BIGINT",
            "FLOAT",
            "DOUBLE",
            "DECIMAL(18,4)",
            "DECIMAL(38,0)",
            "BOOLEAN",
            "DATE",
            "TIMESTAMP",
            "JSON",
        ] {
            assert_eq!(parse(text).to_string(), text);
            assert_eq!(parse(&text.to_lowercase()), parse(text));
        }
    }

    #[test]
    fn decimal_has_a_default_and_bounds() {
        assert_eq!(parse("decimal"), parse("DECIMAL( 18 , 4 )"));
        assert!(
            "DECIMAL(39,0)"
                .parse::<ColumnType>()
                .unwrap_err()
                .contains("1 to 38")
        );
        assert!("DECIMAL(4,5)".parse::<ColumnType>().is_err());
    }

    #[test]
    fn an_unknown_type_lists_the_known_ones() {
        let error = "varchar".parse::<ColumnType>().unwrap_err();
        assert!(
            error.contains("'varchar'") && error.contains("STRING, INTEGER"),
            "{error}"
        );
    }

    #[test]
    fn widening_loses_nothing() {
        assert!(parse("INTEGER").widens_to(parse("BIGINT")));
        assert!(parse("DECIMAL(18,4)").widens_to(parse("DECIMAL(20,6)")));
        assert!(!parse("DECIMAL(18,4)").widens_to(parse("DECIMAL(18,6)")));
        assert!(!parse("BIGINT").widens_to(parse("INTEGER")));
        assert!(!parse("BIGINT").widens_to(parse("DOUBLE")));
        assert!(parse("JSON").widens_to(parse("STRING")) && !parse("STRING").widens_to(parse("JSON")));
        // Some days lie beyond the range of TIMESTAMP.
        assert!(!parse("DATE").widens_to(parse("TIMESTAMP")));
    }
}
