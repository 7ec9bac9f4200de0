//! Builds the answer of an aggregation.

use std::collections::BTreeMap;

use platform::{Error, Result, UtcTime};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Number, Value};

use super::plan::{AggregatePlan, GroupKey};

/// Largest whole number that every JSON reader parses exactly.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Rows of an aggregation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Aggregation {
    /// Groups that have events, in the order of their dimensions or of a metric. Grouped by `time` alone,
    /// every period of the range has a row, as far as the limit allows.
    pub rows: Vec<AggregateRow>,
    /// Start of the aggregated time range.
    pub from: UtcTime,
    /// End of the aggregated time range, which is included.
    pub to: UtcTime,
    /// True where the limit left out rows.
    pub truncated: bool,
}

/// One group.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct AggregateRow {
    /// Value of each dimension. `time` is the beginning of the period; null stands for events without the
    /// value.
    pub dimensions: BTreeMap<String, Option<String>>,
    /// Number of each metric, by its id; null for an average without an event that has the meter.
    pub metrics: BTreeMap<String, Option<Number>>,
}

impl AggregatePlan {
    /// Builds the answer from the rows of the [statement](AggregatePlan::statement).
    pub fn answer(&self, mut rows: Vec<Vec<Value>>) -> Result<Aggregation> {
        let limit = usize::try_from(self.limit).map_err(Error::internal)?;
        let truncated = rows.len() > limit;
        rows.truncate(limit);
        let rows = rows.into_iter().map(|row| self.row(row));
        Ok(Aggregation {
            rows: rows.collect::<Result<_>>()?,
            from: self.from,
            to: self.to,
            truncated,
        })
    }

    fn row(&self, row: Vec<Value>) -> Result<AggregateRow> {
        if row.len() != self.groups.len() + self.metrics.len() {
            return Err(Error::internal("an aggregated row has another number of columns"));
        }
        let mut values = row.into_iter();
        let mut dimensions = BTreeMap::new();
        for (group, value) in self.groups.iter().zip(values.by_ref()) {
            dimensions.insert(group.name.clone(), dimension(&group.by, value)?);
        }
        let mut metrics = BTreeMap::new();
        for (metric, value) in self.metrics.iter().zip(values) {
            metrics.insert(metric.id.clone(), number(value)?);
        }
        Ok(AggregateRow { dimensions, metrics })
    }
}

fn dimension(by: &GroupKey, value: Value) -> Result<Option<String>> {
    match (by, value) {
        (GroupKey::Time(_), value) => {
            let time = value.as_i64().and_then(UtcTime::from_millis);
            let time = time.ok_or_else(|| Error::internal(format!("{value} is no time of a group")))?;
            Ok(Some(time.to_string()))
        }
        (GroupKey::Property(_), Value::String(text)) => Ok(Some(text)),
        (GroupKey::Property(_), Value::Null) => Ok(None),
        (GroupKey::Property(_), other) => Err(Error::internal(format!("{other} is no text of a group"))),
    }
}

/// Writes whole numbers without a decimal point.
fn number(value: Value) -> Result<Option<Number>> {
    let number = match value {
        Value::Null => return Ok(None),
        Value::Number(number) => number,
        other => return Err(Error::internal(format!("{other} is no number of a group"))),
    };
    let whole = number
        .as_f64()
        .filter(|value| number.is_f64() && value.fract() == 0.0 && value.abs() <= MAX_EXACT);
    #[expect(clippy::cast_possible_truncation, reason = "whole, and within the range")]
    Ok(Some(whole.map_or(number, |value| Number::from(value as i64))))
}
