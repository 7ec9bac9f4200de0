//! Runs statements over one version of a store in a leased child.
//!
//! A statement takes two steps: the child checks it and returns the tables that it needs, the caller fetches
//! the files of these tables, then the child runs it. Before the run, only the check has processed the
//! statement's text.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use platform::{Error, Result};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::engine::leased::Leased;
use crate::engine::pool::Pool;
use crate::engine::scope::Scope;
use crate::jobs::describe::ResultColumn;
use crate::jobs::protocol::{Job, JobOutput};
use crate::jobs::query::PlanReply;
use crate::query::answer::{Answer, AnswerSize, Format};
use crate::schema::manifest::TableVersion;
use crate::statement::messages::blame_the_statement;
use crate::tables::bound::BoundTable;
use crate::tables::native::{Tier, Tiers};

/// A child bound to one version. If dropped between two steps, it leaves the child to the next session; if
/// dropped during a step, it ends the child.
pub struct Session<'a> {
    scope: Scope<'a>,
    leased: Leased<'a>,
}

/// A statement that passed the check. The child keeps it until the next statement.
pub struct QueryPlan<'a> {
    /// Tables that the statement needs.
    pub tables: Vec<&'a TableVersion>,
    /// What to read the tables from; their segments, unless the caller sets others.
    pub tiers: Tiers,
    /// Whether the answer may change although the data does not.
    pub is_volatile: bool,
    /// The tier that each table's view reads now, as far as the child has views.
    views: HashMap<String, Tier>,
}

impl<'a> Session<'a> {
    pub(crate) async fn open(pool: &'a Pool, scope: Scope<'a>, allowed: Duration) -> Result<Self> {
        let (leased, is_bound) = Leased::take(pool, scope.key.to_owned(), scope.account, allowed).await?;
        let mut session = Self { scope, leased };
        if !is_bound {
            let bind = Job::Bind {
                tables: scope.tables.iter().map(|table| table.name.clone()).collect(),
                files: scope.files(),
            };
            let bound = session.leased.run(bind).await;
            if bound.is_err() {
                // A half-bound child must not be reused as a bound one.
                session.leased.discard();
            }
            bound?;
        }
        Ok(session)
    }

    /// Returns the end of the session's time limit.
    pub fn due(&self) -> Instant {
        self.leased.due()
    }

    /// Checks a statement; fails with 400 and its error. Without `params` the statement cannot be run.
    pub async fn plan(&mut self, sql: &str, params: Option<&Map<String, Value>>) -> Result<QueryPlan<'a>> {
        let job = Job::Plan {
            sql: sql.to_owned(),
            params: params.cloned(),
        };
        let output = self.leased.run(job).await.map_err(blame_the_statement)?;
        let reply: PlanReply = read(output.value)?;
        let tables = self.scope.tables.iter();
        let tables = tables.filter(|table| reply.tables.iter().any(|planned| planned.name == table.name));
        let tables: Vec<_> = tables.collect();
        let views = reply.tables.into_iter();
        let views = views.filter_map(|planned| Some((planned.name, planned.tier?)));
        Ok(QueryPlan {
            tables,
            tiers: Tiers::default(),
            is_volatile: reply.is_volatile,
            views: views.collect(),
        })
    }

    /// Runs the statement of a plan and returns its first `rows` rows. The files of its tables must exist, in
    /// the tiers from which they are read.
    ///
    /// Fails with 400 for errors found only at run time, with 408 after the deadline, with 422 if it needs
    /// too much memory or its answer is larger than `max_bytes`.
    pub async fn query(
        &mut self,
        plan: &QueryPlan<'a>,
        rows: usize,
        format: Format,
        max_bytes: usize,
    ) -> Result<Answer> {
        let missing = plan.tables.iter().filter_map(|table| {
            let tier = plan.tiers.of(table);
            let has_view = plan.views.get(&table.name) == Some(&tier);
            (!has_view).then(|| self.scope.tiered(table, tier))
        });
        let job = Job::Query {
            tables: missing.collect(),
            rows,
            bytes: max_bytes,
            format,
        };
        let output = self.leased.run(job).await;
        let JobOutput { value, body } = output.map_err(|error| match plan.tiers.may_have_caused(&error) {
            true => error,
            false => blame_the_statement(error),
        })?;
        let size: AnswerSize = read(value)?;
        Ok(Answer {
            body: Bytes::from(body),
            row_count: size.rows as u64,
            is_truncated: size.is_truncated,
        })
    }

    /// Lets DuckDB bind the statement of a plan, without running it and without any file.
    pub async fn validate(&mut self, plan: &QueryPlan<'a>) -> Result<()> {
        let tables = without_files(plan);
        let output = self.leased.run(Job::Validate { tables }).await;
        output.map(drop).map_err(blame_the_statement)
    }

    /// Describes the columns of a plan's result, without running it and without any file. Fails with 400 if
    /// DuckDB cannot bind the statement.
    pub async fn describe(&mut self, plan: &QueryPlan<'a>) -> Result<Vec<ResultColumn>> {
        let tables = without_files(plan);
        let output = self.leased.run(Job::Describe { tables }).await;
        read(output.map_err(blame_the_statement)?.value)
    }

    /// Returns up to `limit` rows of a table as a JSON array of objects. The table's files must exist.
    pub async fn sample(&mut self, table: &str, limit: usize, max_bytes: usize) -> Result<Bytes> {
        let mut tables = self.scope.tables.iter();
        let table = tables
            .find(|candidate| candidate.name.eq_ignore_ascii_case(table))
            .ok_or_else(|| Error::not_found("table", table))?;
        let job = Job::Sample {
            table: self.scope.bound(table),
            rows: limit,
            bytes: max_bytes,
        };
        Ok(Bytes::from(self.leased.run(job).await?.body))
    }

    /// Returns the 408 of a session whose time limit is exceeded.
    pub fn too_slow(&self) -> Error {
        self.leased.too_slow()
    }
}

fn without_files(plan: &QueryPlan<'_>) -> Vec<BoundTable> {
    let tables = plan.tables.iter().map(|table| BoundTable {
        name: table.name.clone(),
        columns: table.columns.clone(),
        files: Vec::new(),
    });
    tables.collect()
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T> {
    serde_json::from_value(value).map_err(Error::internal)
}
