//! Builds the SQL of an aggregation: one statement, in which every text of the caller is a parameter.

use std::fmt::Write as _;

use platform::UtcTime;
use platform::auth::Viewer;

use super::dimension::{Property, Resolution};
use super::plan::{AggregatePlan, Condition, GroupKey, Measure, MeterName};
use super::request::Direction;
use crate::columns::flat_meter;
use crate::sql::{Statement, sql_time};

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
const WEEK_MS: i64 = 7 * DAY_MS;
/// The first Monday after the Unix epoch, 5 January 1970.
const FIRST_MONDAY_MS: i64 = 4 * DAY_MS;

impl AggregatePlan {
    /// Builds the statement over the events of a relation that the viewer may see. It returns one row more
    /// than the limit where there are more.
    ///
    /// The columns are the dimensions, then the metrics, as in the request. A time is the start of its
    /// period, in milliseconds since the Unix epoch.
    pub fn statement(&self, relation: &str, viewer: &Viewer) -> Statement {
        let mut statement = Statement::default();
        statement.push("WITH found AS (SELECT ");
        for (index, group) in self.groups.iter().enumerate() {
            statement.group_key(&group.by);
            statement.push(&format!(" AS d{index}, "));
        }
        for (index, metric) in self.metrics.iter().enumerate() {
            statement.push(if index > 0 { ", " } else { "" });
            statement.measure(&metric.measure);
            statement.push(&format!(" AS m{index}"));
        }
        statement.push(&format!(" FROM {relation} AS events WHERE timestamp >= "));
        statement.time(self.from);
        statement.push(" AND timestamp <= ");
        statement.time(self.to);
        statement.and_visible_to(viewer);
        for condition in &self.conditions {
            statement.condition(condition);
        }
        if !self.groups.is_empty() {
            let positions: Vec<_> = (1..=self.groups.len())
                .map(|position| position.to_string())
                .collect();
            statement.push(&format!(" GROUP BY {}", positions.join(", ")));
        }
        statement.push(") ");
        match self.groups.as_slice() {
            [only] => match only.by {
                GroupKey::Time(resolution) => self.with_empty_periods(resolution, &mut statement),
                GroupKey::Property(_) => statement.push("SELECT * FROM found"),
            },
            _ => statement.push("SELECT * FROM found"),
        }
        self.order_and_limit(&mut statement);
        statement
    }

    /// Adds a row for every period of the range.
    fn with_empty_periods(&self, resolution: Resolution, statement: &mut Statement) {
        statement.push("SELECT periods.d0");
        for (index, metric) in self.metrics.iter().enumerate() {
            match metric.measure {
                Measure::Average(_) => statement.push(&format!(", m{index}")),
                _ => statement.push(&format!(", coalesce(m{index}, 0) AS m{index}")),
            }
        }
        statement.push(" FROM (SELECT unnest(");
        let (first, last) = (sql_time(self.from), sql_time(self.to));
        match fixed_length(resolution) {
            Some((length, origin)) => {
                let begin = |time: UtcTime| {
                    let millis = time.as_millis();
                    millis - (millis - origin).rem_euclid(length)
                };
                statement.push("generate_series(CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT))");
                statement
                    .params
                    .extend([begin(first).into(), begin(last).into(), length.into()]);
            }
            None => {
                statement.push(
                    "list_transform(generate_series(date_trunc('month', epoch_ms(CAST(? AS BIGINT))), \
                     epoch_ms(CAST(? AS BIGINT)), INTERVAL 1 MONTH), lambda period: epoch_ms(period))",
                );
                let params = [first.as_millis().into(), last.as_millis().into()];
                statement.params.extend(params);
            }
        }
        statement.push(") AS d0) AS periods LEFT JOIN found USING (d0)");
    }

    fn order_and_limit(&self, statement: &mut Statement) {
        let is_time = |index: &usize| {
            let group = self.groups.get(*index);
            group.is_some_and(|group| matches!(group.by, GroupKey::Time(_)))
        };
        let (times, others): (Vec<_>, Vec<_>) = (0..self.groups.len()).partition(is_time);
        let by_metric = self.order.map(|(position, direction)| match direction {
            Direction::Asc => format!("m{position} ASC NULLS LAST"),
            Direction::Desc => format!("m{position} DESC NULLS LAST"),
        });
        let dimensions = times
            .into_iter()
            .chain(others)
            .map(|index| format!("d{index} ASC NULLS LAST"));
        let order: Vec<_> = by_metric.into_iter().chain(dimensions).collect();
        if !order.is_empty() {
            statement.push(&format!(" ORDER BY {}", order.join(", ")));
        }
        statement.push(&format!(" LIMIT {}", self.limit + 1));
    }
}

impl Statement {
    fn group_key(&mut self, key: &GroupKey) {
        match key {
            GroupKey::Time(resolution) => self.push(&period(*resolution)),
            GroupKey::Property(property) => self.property(property),
        }
    }

    /// Adds the text of a property. Details that are no JSON have no properties.
    fn property(&mut self, property: &Property) {
        match property {
            Property::Column(column) => self.push(column),
            Property::Details(path) => {
                self.push("json_text(details, ");
                self.text(&path.pointer());
                self.push(")");
            }
        }
    }

    fn condition(&mut self, condition: &Condition) {
        self.push(" AND ");
        self.property(&condition.property);
        self.is_one_of(&condition.values);
    }

    fn measure(&mut self, measure: &Measure) {
        match measure {
            Measure::Count => self.push("count(*)"),
            Measure::Sum(meter) => {
                self.push("coalesce(sum(");
                self.quantity(meter);
                self.push("), 0)");
            }
            Measure::Average(meter) => {
                self.push("avg(");
                self.quantity(meter);
                self.push(")");
            }
            Measure::Distinct(property) => {
                self.push("count(DISTINCT ");
                self.property(property);
                self.push(")");
            }
        }
    }

    /// Adds the sum of a meter in one event; null where the event does not have the meter.
    fn quantity(&mut self, meter: &MeterName) {
        if let Some(column) = flat_meter(&meter.category, &meter.kind) {
            self.push(column);
            return;
        }
        self.push("list_sum(list_transform(list_filter(meters, lambda meter: meter.category = ");
        self.text(&meter.category);
        self.push(" AND meter.type = ");
        self.text(&meter.kind);
        self.push("), lambda meter: meter.quantity))");
    }
}

/// Returns the length of a resolution's periods, and the start of one of them; None for months.
fn fixed_length(resolution: Resolution) -> Option<(i64, i64)> {
    match resolution {
        Resolution::Hour => Some((HOUR_MS, 0)),
        Resolution::Day => Some((DAY_MS, 0)),
        Resolution::Week => Some((WEEK_MS, FIRST_MONDAY_MS)),
        Resolution::Month => None,
    }
}

/// Returns the start of an event's period. It uses whole numbers, because functions of TIMESTAMPTZ take ten
/// times as long.
fn period(resolution: Resolution) -> String {
    let mut sql = String::new();
    let written = match fixed_length(resolution) {
        // The remainder of a time before the origin is negative, so a second remainder is needed.
        Some((length, origin)) => write!(
            sql,
            "epoch_ms(timestamp) - ((epoch_ms(timestamp) - {origin}) % {length} + {length}) % {length}"
        ),
        None => write!(
            sql,
            "epoch_ms(date_trunc('month', make_timestamp(epoch_us(timestamp))))"
        ),
    };
    debug_assert!(written.is_ok(), "a String takes all that is written");
    sql
}
