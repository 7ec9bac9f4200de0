//! Aggregates events: counts and sums of meters, grouped by time and by properties of the events.
//!
//! A request is parsed strictly and checked ([`AggregateEvents::plan`]), then becomes one SQL statement over
//! the files of the log and its tail. No text of a caller is part of the SQL: column names come from lists in
//! this module, and everything else is a parameter.

mod answer;
mod dimension;
mod plan;
mod request;
mod statement;
#[cfg(test)]
mod tests;

pub use answer::{AggregateRow, Aggregation};
pub use dimension::{Dimension, Property, Resolution};
pub use plan::AggregatePlan;
pub use request::{
    AggregateEvents, AggregateFilter, Direction, Group, Metric, MetricOrder, Operation, PropertyFilter,
};

use platform::Result;
use platform::auth::Viewer;
use platform::records::logs::LogKind;

use crate::LogStore;

impl LogStore {
    /// Aggregates the events of an account, or of one of its projects, that the viewer may see.
    pub async fn aggregate(
        &self,
        account: &str,
        project: Option<&str>,
        plan: &AggregatePlan,
        viewer: &Viewer,
    ) -> Result<Aggregation> {
        let logs = self.logs_of(account, project, LogKind::Events).await?;
        let snapshot = self.snapshot(&logs, plan.from, plan.to).await?;
        let statement = plan.statement(snapshot.source(), viewer);
        plan.answer(snapshot.rows(&statement.sql, &statement.params).await?)
    }
}
