//! Parses the dimensions that group events, and the properties whose distinct values can be counted.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};

/// Maximum length of a path of a value in the details, in characters.
const MAX_PATH_CHARACTERS: usize = 500;
/// Maximum number of steps of such a path.
const MAX_PATH_STEPS: usize = 10;
/// Prefix of the name of a value in the details.
const DETAILS: &str = "details.";

/// Columns that are dimensions under their own name.
const COLUMNS: [&str; 6] = [
    "action",
    "event_category",
    "resource_type",
    "resource_id",
    "source",
    "project_id",
];
/// More columns whose distinct values can be counted.
const COUNTED_COLUMNS: [&str; 2] = ["event_id", "tenant_id"];

/// Length of the periods that events are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Resolution {
    /// From one full hour to the next.
    Hour,
    /// From midnight to midnight.
    Day,
    /// Seven days from a Monday.
    Week,
    /// From the first of a month.
    Month,
}

/// Property of an event, whose value is a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Property {
    /// Column of the log with this name.
    Column(&'static str),
    /// The text of a JSON value, or its JSON where it is an object or a list.
    Details(DetailsPath),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// Period of the event's timestamp.
    Time,
    Property(Property),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetailsPath(String);

impl DetailsPath {
    /// Returns the path as a JSON pointer, which is passed as data: a name may contain any character.
    pub fn pointer(&self) -> String {
        let escaped = |step: &str| format!("/{}", step.replace('~', "~0").replace('/', "~1"));
        self.0.split('.').map(escaped).collect()
    }
}

impl FromStr for DetailsPath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let steps = text.split('.').count();
        if steps > MAX_PATH_STEPS
            || text.chars().count() > MAX_PATH_CHARACTERS
            || text.split('.').any(str::is_empty)
        {
            return Err(format!(
                "a path has 1 to {MAX_PATH_STEPS} names with dots between them and at most {MAX_PATH_CHARACTERS} \
                 characters, such as verification.total"
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

impl Property {
    fn among(text: &str, columns: impl Iterator<Item = &'static str>) -> Option<Result<Self, String>> {
        if let Some(path) = text.strip_prefix(DETAILS) {
            return Some(path.parse().map(Self::Details));
        }
        let mut columns = columns;
        columns
            .find(|column| *column == text)
            .map(|column| Ok(Self::Column(column)))
    }
}

impl FromStr for Dimension {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "time" {
            return Ok(Self::Time);
        }
        let property = Property::among(text, COLUMNS.into_iter());
        property
            .unwrap_or_else(|| {
                Err(format!(
                    "unknown dimension {}; there are time, {} and details.<path>",
                    shown(text),
                    COLUMNS.join(", ")
                ))
            })
            .map(Self::Property)
    }
}

impl FromStr for Property {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let columns = COLUMNS.into_iter().chain(COUNTED_COLUMNS);
        Self::among(text, columns.clone()).unwrap_or_else(|| {
            let columns: Vec<_> = columns.collect();
            Err(format!(
                "unknown field {}; there are {} and details.<path>",
                shown(text),
                columns.join(", ")
            ))
        })
    }
}

/// Returns the beginning of a text for a refusal.
fn shown(text: &str) -> String {
    let beginning: String = text.chars().take(100).collect();
    format!("`{beginning}`")
}

/// Name in requests and answers.
impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time => f.write_str("time"),
            Self::Property(Property::Column(column)) => f.write_str(column),
            Self::Property(Property::Details(path)) => write!(f, "{DETAILS}{}", path.0),
        }
    }
}

impl<'de> Deserialize<'de> for Dimension {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Property {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for name in [
            "time",
            "action",
            "project_id",
            "details.a.b",
            "details.a'b\"c~/ .0",
        ] {
            let dimension: Dimension = name.parse().unwrap();
            assert_eq!(dimension.to_string(), name);
        }
        for name in ["event_id", "tenant_id", "source", "details.x"] {
            name.parse::<Property>().unwrap();
        }
    }

    #[test]
    fn other_names_are_refused() {
        let long = format!("details.{}", "a".repeat(501));
        for name in [
            "",
            "Time",
            "time ",
            "event_id",
            "timestamp",
            "details",
            "details.",
            "details.a..b",
            &long,
        ] {
            assert!(name.parse::<Dimension>().is_err(), "{name}");
        }
        for name in ["time", "timestamp", "meters", "details.a.b.c.d.e.f.g.h.i.j.k"] {
            assert!(name.parse::<Property>().is_err(), "{name}");
        }
    }

    #[test]
    fn a_path_is_a_json_pointer() {
        for (path, pointer) in [
            ("a", "/a"),
            ("a.0.b", "/a/0/b"),
            ("a/b.c~d", "/a~1b/c~0d"),
            ("~1.'\"", "/~01/'\""),
        ] {
            assert_eq!(path.parse::<DetailsPath>().unwrap().pointer(), pointer);
        }
    }
}
