//! Defines the body of an aggregation request.

use platform::UtcTime;
use platform::http::strict::{name, object, objects, optional_name, optional_object};
use schemars::JsonSchema;
use serde::Deserialize;

use super::dimension::{Dimension, Property, Resolution};

/// Selects the events to aggregate, their groups, and the numbers to compute for each group.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AggregateEvents {
    /// Id of a project, for account-scoped callers; a project-scoped caller always gets its own project.
    pub project_id: Option<String>,
    /// Earliest time of an event. Default: 30 days before `to`.
    pub from: Option<UtcTime>,
    /// Latest time of an event, at most 366 days after `from`. Default: the time of the request.
    pub to: Option<UtcTime>,
    /// Conditions, all of which an event must meet. Default: every event.
    #[serde(default, deserialize_with = "object")]
    pub filter: AggregateFilter,
    /// Dimensions of a group. Default: one group of all events.
    #[serde(default, deserialize_with = "objects")]
    #[schemars(length(max = 5))]
    pub group_by: Vec<Group>,
    /// Numbers to compute for each group.
    #[serde(deserialize_with = "objects")]
    #[schemars(length(min = 1, max = 20))]
    pub metrics: Vec<Metric>,
    /// Maximum number of rows of the answer. Default: 50.
    #[schemars(range(min = 1, max = 1_000))]
    pub limit: Option<u64>,
    /// Metric that orders the rows. Default: rows are in the order of their dimensions, time first.
    #[serde(default, deserialize_with = "optional_object")]
    pub order: Option<MetricOrder>,
}

/// Conditions, all of which an event must meet; a list that is left out or empty matches every event.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct AggregateFilter {
    /// Actions that match, such as `document_processed`.
    #[schemars(length(max = 100))]
    pub actions: Vec<String>,
    /// Categories that match, such as `content`.
    #[schemars(length(max = 100))]
    pub event_categories: Vec<String>,
    /// Resource types that match, such as `content_object`.
    #[schemars(length(max = 100))]
    pub resource_types: Vec<String>,
    /// Resource ids that match.
    #[schemars(length(max = 100))]
    pub resource_ids: Vec<String>,
    /// Sources that match, such as `workflow` or `external:crm`.
    #[schemars(length(max = 100))]
    pub sources: Vec<String>,
    /// Conditions on the details of an event.
    #[serde(deserialize_with = "objects")]
    #[schemars(length(max = 20))]
    pub details: Vec<PropertyFilter>,
}

/// Condition on one value in the details of an event.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PropertyFilter {
    /// Path of the value below `details`, names and places in arrays with dots between them:
    /// `verification.total`.
    #[schemars(length(min = 1, max = 500))]
    pub field: String,
    /// Texts, one of which the value must equal. A number or a boolean is compared by its JSON text.
    #[schemars(length(min = 1, max = 100))]
    pub values: Vec<String>,
}

/// Dimension of a group.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// `time`, `action`, `event_category`, `resource_type`, `resource_id`, `source`, `project_id`, or
    /// `details.` and the path of a value in the details.
    #[schemars(with = "String", length(max = 508))]
    pub dimension: Dimension,
    /// Length of the periods of the dimension `time`, in UTC; a week begins on Monday. Default: `day`.
    #[serde(default, deserialize_with = "optional_name")]
    pub resolution: Option<Resolution>,
}

/// Number to compute for each group.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Metric {
    /// Name of the number in the rows of the answer, unique in the request.
    #[schemars(length(min = 1, max = 100))]
    pub id: String,
    /// Computation of the number.
    #[serde(deserialize_with = "name")]
    pub operation: Operation,
    /// Category of the meter, such as `processing`; only for `sum_meter` and `average_meter`, which require
    /// it.
    #[schemars(length(min = 1, max = 500))]
    pub meter_category: Option<String>,
    /// Type of the meter, such as `pages`; only for `sum_meter` and `average_meter`, which require it.
    #[schemars(length(min = 1, max = 500))]
    pub meter_type: Option<String>,
    /// Property of which `count_distinct` counts the distinct values: a dimension other than `time`,
    /// `event_id` or `tenant_id`.
    #[schemars(with = "Option<String>", length(max = 508))]
    pub field: Option<Property>,
}

/// Computation of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Number of events.
    Count,
    /// Sum of a meter's quantities; 0 without an event that has the meter.
    SumMeter,
    /// Average quantity of a meter over the events that have it; null without one.
    AverageMeter,
    /// Number of distinct values of `field`; events without a value do not count.
    CountDistinct,
}

/// Order of the rows by a metric; rows with the same number are in the order of their dimensions.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricOrder {
    /// Id of the metric.
    pub metric: String,
    /// Direction of the order; null comes last in both. Default: `desc`.
    #[serde(default, deserialize_with = "optional_name")]
    pub direction: Option<Direction>,
}

/// Direction of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Smallest number first.
    Asc,
    /// Largest number first.
    Desc,
}
