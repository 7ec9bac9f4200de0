//! Checks an aggregation request and converts it to a plan.

use std::collections::BTreeSet;

use events::Category;
use platform::{Error, Result, UtcTime};

use super::dimension::{Dimension, Property, Resolution};
use super::request::{AggregateEvents, AggregateFilter, Direction, Group, Metric, Operation, PropertyFilter};

const DAY_MS: u64 = 86_400_000;
/// Default length of the aggregated range.
const DEFAULT_RANGE_MS: u64 = 30 * DAY_MS;
/// Maximum length of the aggregated range.
const MAX_RANGE_DAYS: u64 = 366;
const DEFAULT_LIMIT: u64 = 50;
const MAX_LIMIT: u64 = 1_000;
const MAX_GROUPS: usize = 5;
const MAX_METRICS: usize = 20;
const MAX_METRIC_ID_CHARACTERS: usize = 100;
/// Maximum number of values of one condition.
const MAX_VALUES: usize = 100;
/// Maximum number of conditions on details.
const MAX_DETAILS_FILTERS: usize = 20;
/// Maximum length of a condition's value, in bytes.
const MAX_VALUE_BYTES: usize = 1_000;
/// Maximum length of a meter's category and type, in bytes.
const MAX_METER_BYTES: usize = 500;

#[derive(Clone, Debug)]
pub struct AggregatePlan {
    /// Earliest time of an event.
    pub from: UtcTime,
    /// Latest time of an event.
    pub to: UtcTime,
    pub(super) conditions: Vec<Condition>,
    pub(super) groups: Vec<PlannedGroup>,
    pub(super) metrics: Vec<PlannedMetric>,
    pub(super) limit: u64,
    /// Position of the metric that orders the rows.
    pub(super) order: Option<(usize, Direction)>,
}

/// Requires that a property has one of these values.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub property: Property,
    pub values: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) struct PlannedGroup {
    pub name: String,
    pub by: GroupKey,
}

#[derive(Clone, Debug)]
pub(super) enum GroupKey {
    Time(Resolution),
    Property(Property),
}

#[derive(Clone, Debug)]
pub(super) struct PlannedMetric {
    pub id: String,
    pub measure: Measure,
}

#[derive(Clone, Debug)]
pub(super) enum Measure {
    Count,
    Sum(MeterName),
    Average(MeterName),
    Distinct(Property),
}

#[derive(Clone, Debug)]
pub(super) struct MeterName {
    pub category: String,
    pub kind: String,
}

impl AggregateEvents {
    /// Checks the request, made at `now`. Fails with 400 and the JSON path of the fault.
    pub fn plan(self, now: UtcTime) -> Result<AggregatePlan> {
        let (from, to) = range(self.from, self.to, now)?;
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(refused("limit", &format!("it must be from 1 to {MAX_LIMIT}")));
        }
        let conditions = conditions(self.filter)?;
        let groups = groups(self.group_by)?;
        let metrics = metrics(self.metrics)?;
        let order = self.order.map(|order| {
            let position = metrics.iter().position(|metric| metric.id == order.metric);
            let position = position
                .ok_or_else(|| refused("order.metric", "it must be the id of a metric of the request"))?;
            Ok::<_, Error>((position, order.direction.unwrap_or(Direction::Desc)))
        });
        Ok(AggregatePlan {
            from,
            to,
            conditions,
            groups,
            metrics,
            limit,
            order: order.transpose()?,
        })
    }
}

fn refused(path: &str, rule: &str) -> Error {
    Error::invalid(format!("The body is not as it must be at $.{path}: {rule}."))
}

fn range(from: Option<UtcTime>, to: Option<UtcTime>, now: UtcTime) -> Result<(UtcTime, UtcTime)> {
    let to = to.unwrap_or(now);
    let default_from = || {
        let millis = i64::try_from(DEFAULT_RANGE_MS)
            .ok()
            .and_then(|range| to.as_millis().checked_sub(range));
        millis.and_then(UtcTime::from_millis).unwrap_or(to)
    };
    let from = from.unwrap_or_else(default_from);
    for (name, time) in [("from", from), ("to", to)] {
        if !time.is_in_common_era() {
            return Err(refused(name, "the year must be from 0001 to 9999"));
        }
    }
    if from > to {
        return Err(refused(
            "from",
            &format!("it must not be after 'to', which is {to}"),
        ));
    }
    if to.millis_since(from) > MAX_RANGE_DAYS * DAY_MS {
        return Err(refused(
            "from",
            &format!("it must be at most {MAX_RANGE_DAYS} days before 'to', which is {to}"),
        ));
    }
    Ok((from, to))
}

fn conditions(filter: AggregateFilter) -> Result<Vec<Condition>> {
    for (index, category) in filter.event_categories.iter().enumerate() {
        if !Category::ALL.iter().any(|known| known.as_str() == category) {
            let known = Category::ALL.map(Category::as_str).join(", ");
            return Err(refused(
                &format!("filter.eventCategories[{index}]"),
                &format!("there are {known}"),
            ));
        }
    }
    let mut conditions = Vec::new();
    for (name, column, values) in [
        ("actions", "action", filter.actions),
        ("eventCategories", "event_category", filter.event_categories),
        ("resourceTypes", "resource_type", filter.resource_types),
        ("resourceIds", "resource_id", filter.resource_ids),
        ("sources", "source", filter.sources),
    ] {
        check_values(&format!("filter.{name}"), &values)?;
        if !values.is_empty() {
            let property = Property::Column(column);
            conditions.push(Condition { property, values });
        }
    }
    if filter.details.len() > MAX_DETAILS_FILTERS {
        let rule = format!("at most {MAX_DETAILS_FILTERS} conditions");
        return Err(refused("filter.details", &rule));
    }
    for (index, condition) in filter.details.into_iter().enumerate() {
        conditions.push(on_details(&format!("filter.details[{index}]"), condition)?);
    }
    Ok(conditions)
}

fn on_details(at: &str, condition: PropertyFilter) -> Result<Condition> {
    let path = condition
        .field
        .parse()
        .map_err(|rule: String| refused(&format!("{at}.field"), &rule))?;
    let values_at = format!("{at}.values");
    check_values(&values_at, &condition.values)?;
    if condition.values.is_empty() {
        return Err(refused(&values_at, "it must name at least one value"));
    }
    Ok(Condition {
        property: Property::Details(path),
        values: condition.values,
    })
}

fn check_values(at: &str, values: &[String]) -> Result<()> {
    if values.len() > MAX_VALUES {
        return Err(refused(at, &format!("at most {MAX_VALUES} values")));
    }
    match values.iter().position(|value| value.len() > MAX_VALUE_BYTES) {
        Some(index) => Err(refused(
            &format!("{at}[{index}]"),
            &format!("at most {MAX_VALUE_BYTES} bytes"),
        )),
        None => Ok(()),
    }
}

fn groups(groups: Vec<Group>) -> Result<Vec<PlannedGroup>> {
    if groups.len() > MAX_GROUPS {
        return Err(refused("groupBy", &format!("at most {MAX_GROUPS} dimensions")));
    }
    let mut names = BTreeSet::new();
    let mut planned = Vec::with_capacity(groups.len());
    for (index, group) in groups.into_iter().enumerate() {
        let name = group.dimension.to_string();
        if !names.insert(name.clone()) {
            let at = format!("groupBy[{index}].dimension");
            return Err(refused(&at, "the same dimension is named before it"));
        }
        let by = match (group.dimension, group.resolution) {
            (Dimension::Time, resolution) => GroupKey::Time(resolution.unwrap_or(Resolution::Day)),
            (Dimension::Property(property), None) => GroupKey::Property(property),
            (Dimension::Property(_), Some(_)) => {
                let at = format!("groupBy[{index}].resolution");
                return Err(refused(&at, "only the dimension 'time' has a resolution"));
            }
        };
        planned.push(PlannedGroup { name, by });
    }
    Ok(planned)
}

fn metrics(metrics: Vec<Metric>) -> Result<Vec<PlannedMetric>> {
    if !(1..=MAX_METRICS).contains(&metrics.len()) {
        return Err(refused("metrics", &format!("1 to {MAX_METRICS} metrics")));
    }
    let mut ids = BTreeSet::new();
    let mut planned = Vec::with_capacity(metrics.len());
    for (index, metric) in metrics.into_iter().enumerate() {
        let at = format!("metrics[{index}]");
        if !(1..=MAX_METRIC_ID_CHARACTERS).contains(&metric.id.chars().count()) {
            let rule = format!("1 to {MAX_METRIC_ID_CHARACTERS} characters");
            return Err(refused(&format!("{at}.id"), &rule));
        }
        if !ids.insert(metric.id.clone()) {
            return Err(refused(&format!("{at}.id"), "a metric before it has the same id"));
        }
        let measure = measure(&at, &metric)?;
        let id = metric.id;
        planned.push(PlannedMetric { id, measure });
    }
    Ok(planned)
}

fn measure(at: &str, metric: &Metric) -> Result<Measure> {
    let unused = |name: &str, is_given: bool, users: &str| match is_given {
        true => Err(refused(&format!("{at}.{name}"), &format!("only {users} take it"))),
        false => Ok(()),
    };
    let is_of_meter = matches!(metric.operation, Operation::SumMeter | Operation::AverageMeter);
    if !is_of_meter {
        let users = "sum_meter and average_meter";
        unused("meterCategory", metric.meter_category.is_some(), users)?;
        unused("meterType", metric.meter_type.is_some(), users)?;
    }
    if metric.operation != Operation::CountDistinct && metric.field.is_some() {
        return Err(refused(&format!("{at}.field"), "only count_distinct takes it"));
    }
    Ok(match metric.operation {
        Operation::Count => Measure::Count,
        Operation::SumMeter => Measure::Sum(meter(at, metric)?),
        Operation::AverageMeter => Measure::Average(meter(at, metric)?),
        Operation::CountDistinct => {
            let field = metric.field.clone();
            Measure::Distinct(
                field.ok_or_else(|| refused(&format!("{at}.field"), "count_distinct needs it"))?,
            )
        }
    })
}

fn meter(at: &str, metric: &Metric) -> Result<MeterName> {
    let text = |name: &str, given: &Option<String>| {
        let at = format!("{at}.{name}");
        match given {
            None => Err(refused(&at, "sum_meter and average_meter need it")),
            Some(text) if !(1..=MAX_METER_BYTES).contains(&text.len()) => {
                Err(refused(&at, &format!("1 to {MAX_METER_BYTES} bytes")))
            }
            Some(text) => Ok(text.clone()),
        }
    };
    Ok(MeterName {
        category: text("meterCategory", &metric.meter_category)?,
        kind: text("meterType", &metric.meter_type)?,
    })
}
