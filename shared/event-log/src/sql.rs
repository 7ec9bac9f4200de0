//! Builds statements in which every text of a caller is a parameter.

use platform::UtcTime;
use platform::auth::Viewer;
use serde_json::Value;

use crate::columns::PRIVATE_TO;

/// A statement with the values of its `?`, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statement {
    /// Contains a `?` for each text of a caller.
    pub sql: String,
    /// Values in the order of their `?`.
    pub params: Vec<Value>,
}

impl Statement {
    /// Adds SQL that contains no text of a caller.
    pub(crate) fn push(&mut self, sql: &str) {
        self.sql.push_str(sql);
    }

    pub(crate) fn text(&mut self, value: &str) {
        self.push("?");
        self.params.push(value.into());
    }

    pub(crate) fn time(&mut self, time: UtcTime) {
        self.push("CAST(? AS TIMESTAMPTZ)");
        self.params.push(sql_time(time).to_string().into());
    }

    /// Adds a condition: the record is not private, or this viewer may see it.
    pub(crate) fn and_visible_to(&mut self, viewer: &Viewer) {
        if !viewer.sees_all {
            self.push(&format!(" AND ({PRIVATE_TO} IS NULL OR {PRIVATE_TO} = "));
            self.text(&viewer.reference);
            self.push(")");
        }
    }

    /// Adds the end of a condition: the value before it is one of these texts.
    pub(crate) fn is_one_of<T: AsRef<str>>(&mut self, values: impl IntoIterator<Item = T>) {
        self.push(" IN (");
        for (index, value) in values.into_iter().enumerate() {
            self.push(if index > 0 { ", " } else { "" });
            self.text(value.as_ref());
        }
        self.push(")");
    }
}

/// Returns the time, or the first time of the year 1 for an earlier one: DuckDB does not parse earlier years
/// in ISO 8601.
pub(crate) fn sql_time(time: UtcTime) -> UtcTime {
    const FIRST_OF_YEAR_1_MS: i64 = -62_135_596_800_000;
    let first = UtcTime::from_millis(FIRST_OF_YEAR_1_MS).unwrap_or(UtcTime::EPOCH);
    time.max(first)
}
