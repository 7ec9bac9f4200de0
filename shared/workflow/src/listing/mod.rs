//! Lists runs: chooses the indexes, and filters what these have in common.
//!
//! A page is full unless the listing ends. Only conditions that no index serves may need more reading than a
//! request has time for; then the page is short, and its token continues where the reading ended.

mod walk;

use platform::auth::Viewer;
use platform::page_token::{LOOKING_MS, PageTokens};
use platform::{Clock, Error, Result, Tenant, UtcTime, ids};
use serde::Serialize;

use crate::records::{COMPLETED, RunIndex, RunStanding, Runs};

use walk::{Place, Walk, parse};

use crate::list_filter::{Filter, Narrowed};
use crate::status::RunStatus;
use crate::summary::RunSummary;

/// Least number of runs whose state is read at a time.
const LEAST_WANTED: usize = 51;
/// Longest type, document id or subscription id of a run, in bytes.
const MAX_VALUE: usize = 800;

/// Selection of runs. An empty or missing field selects all.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RunSelection {
    pub document_id: Option<String>,
    /// Action of the event that started the run.
    pub event_name: Option<String>,
    /// Subscription that started the run.
    pub rule_id: Option<String>,
    /// Part of the type, of the subscription's name or of the run id; case does not count.
    pub search_term: Option<String>,
    pub statuses: Vec<RunStatus>,
    pub initiated_by: Option<String>,
    pub workflow_type: Option<String>,
    /// Text in the filter language.
    pub filter: String,
    /// Earliest start.
    pub start: Option<UtcTime>,
    /// Latest start.
    pub end: Option<UtcTime>,
}

/// Parses a filter; 400 with the column of a mistake.
pub fn filter(text: &str) -> Result<Filter> {
    Filter::parse(text).map_err(|error| {
        let refusal = Error::invalid(format!("The query is not as it must be at {error}."));
        refusal.at(error.place(text))
    })
}

#[derive(Debug)]
pub struct RunPage {
    /// Newest first.
    pub runs: Vec<RunSummary>,
    /// None after the last page.
    pub next_page_token: Option<String>,
}

#[derive(Clone)]
pub struct RunListings {
    runs: Runs,
    tokens: PageTokens,
    clock: Clock,
    looking_ms: u64,
}

impl RunListings {
    pub fn new(runs: Runs, tokens: PageTokens, clock: Clock) -> Self {
        Self {
            runs,
            tokens,
            clock,
            looking_ms: LOOKING_MS,
        }
    }

    /// Sets for how long a page looks for runs.
    #[must_use]
    pub const fn looking_ms(mut self, millis: u64) -> Self {
        self.looking_ms = millis;
        self
    }

    /// Returns at most `page_size` runs. 400 for an invalid filter, or a token of another listing.
    pub async fn list(
        &self,
        tenant: &Tenant,
        viewer: &Viewer,
        selection: &RunSelection,
        page_size: usize,
        token: Option<&str>,
    ) -> Result<RunPage> {
        let filter = filter(&selection.filter)?;
        let listing = (tenant.account(), tenant.project(), viewer, selection);
        let place: Option<Place> = match token {
            Some(token) => Some(self.tokens.read(&listing, ("next_page_token", token)).await?),
            None => None,
        };
        let narrowed = filter.narrowed();
        let may_match = |run: &RunSummary| {
            viewer.sees(run.about.private_to())
                && selection.takes(run)
                && (filter.asks_for_standing() || filter.matches(&run.fields()))
        };
        let matches = |run: &RunSummary| selection.takes_status(run) && filter.matches(&run.fields());
        if let Some(run_id) = selection.one_run(&narrowed) {
            let run = self.one(tenant, &run_id).await?;
            return Ok(RunPage {
                runs: run
                    .into_iter()
                    .filter(|run| may_match(run) && matches(run))
                    .collect(),
                next_page_token: None,
            });
        }
        let (from, until) = selection.range(&narrowed);
        let conditions = selection.conditions(narrowed);
        let mut values = conditions.iter().flatten().map(RunIndex::value);
        if values.any(|value| value.len() > MAX_VALUE) {
            // No run has such a value, and no index can store it.
            return Ok(RunPage {
                runs: Vec::new(),
                next_page_token: None,
            });
        }
        let ends = self.clock.now().plus_ms(self.looking_ms);
        let source = (&self.runs, tenant, &self.clock);
        let mut walk = Walk::new(source, conditions, (from, until), place);
        let mut runs: Vec<RunSummary> = Vec::new();
        let last = loop {
            let wanted = (page_size + 1 - runs.len()).max(LEAST_WANTED);
            let batch = walk.batch(wanted, &may_match, ends).await?;
            let current = self.current(tenant, batch.runs).await?;
            runs.extend(current.into_iter().filter(|run| matches(run)));
            if runs.len() > page_size {
                runs.truncate(page_size);
                break runs.last().map(|run| (run.started_at, run.run_id.clone()));
            }
            if batch.is_last {
                break None;
            }
            if self.clock.now() >= ends {
                break walk.place;
            }
        };
        let next_page_token = match last {
            Some(place) => Some(self.tokens.issue(&listing, &place).await?),
            None => None,
        };
        Ok(RunPage {
            runs,
            next_page_token,
        })
    }

    async fn one(&self, tenant: &Tenant, run_id: &str) -> Result<Option<RunSummary>> {
        if run_id.len() > MAX_VALUE {
            return Ok(None);
        }
        let Some(record) = self.runs.find(tenant, run_id).await? else {
            return Ok(None);
        };
        let mut run = parse(&record.summary)?;
        run.complete(&RunStanding {
            status: record.status,
            closed_at: record.closed_at,
        })?;
        Ok(Some(run))
    }

    /// Reads the current state of runs; leaves out those that no longer exist.
    async fn current(&self, tenant: &Tenant, runs: Vec<RunSummary>) -> Result<Vec<RunSummary>> {
        let ids: Vec<&str> = runs.iter().map(|run| run.run_id.as_str()).collect();
        let standings = self.runs.standings(tenant, &ids).await?;
        let mut current = Vec::with_capacity(runs.len());
        for (mut run, standing) in runs.into_iter().zip(standings) {
            if let Some(standing) = standing {
                run.complete(&standing)?;
                current.push(run);
            }
        }
        Ok(current)
    }
}

impl RunSelection {
    fn takes(&self, run: &RunSummary) -> bool {
        let about = &run.about;
        let is = |wanted: &Option<String>, had: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| had == Some(wanted))
        };
        let term = self.search_term.as_deref().map(str::to_lowercase);
        let found = term.is_none_or(|term| {
            [
                Some(&run.workflow_type),
                about.rule_name.as_ref(),
                Some(&run.run_id),
            ]
            .into_iter()
            .flatten()
            .any(|text| text.to_lowercase().contains(&term))
        });
        found
            && is(&self.document_id, about.document_id.as_deref())
            && is(&self.event_name, about.event_name.as_deref())
            && is(&self.rule_id, about.rule_id.as_deref())
            && is(&self.initiated_by, Some(&about.initiated_by))
            && is(&self.workflow_type, Some(&run.workflow_type))
            && self.start.is_none_or(|start| run.started_at >= start)
            && self.end.is_none_or(|end| run.started_at <= end)
    }

    fn takes_status(&self, run: &RunSummary) -> bool {
        self.statuses.is_empty() || self.statuses.contains(&run.status)
    }

    /// Returns the run id, if the selection names one run.
    fn one_run(&self, narrowed: &Narrowed) -> Option<String> {
        let searched = self.search_term.as_ref().and_then(|term| ids::read(term));
        narrowed.run_id.clone().or(searched)
    }

    /// Returns the range of start times.
    fn range(&self, narrowed: &Narrowed) -> (UtcTime, UtcTime) {
        let time = |millis: Option<i64>| millis.and_then(UtcTime::from_millis);
        let from = self.start.into_iter().chain(time(narrowed.start_from)).max();
        let until = self.end.into_iter().chain(time(narrowed.start_to)).min();
        (
            from.unwrap_or(UtcTime::EPOCH),
            until.unwrap_or(UtcTime::EPOCH.plus_ms(u64::MAX)),
        )
    }

    /// Returns the indexes of each condition that has some. The index by status excludes completed runs, so a
    /// condition that takes them has none.
    fn conditions(&self, narrowed: Narrowed) -> Vec<Vec<RunIndex>> {
        let one =
            |value: Option<String>, index: fn(String) -> RunIndex| value.map(|value| vec![index(value)]);
        let mut statuses: Option<Vec<&str>> = narrowed.status;
        if !self.statuses.is_empty() {
            let wanted = self.statuses.iter().map(|status| status.as_str());
            let wanted = wanted.filter(|status| statuses.as_ref().is_none_or(|known| known.contains(status)));
            statuses = Some(wanted.collect());
        }
        let of_statuses = statuses.filter(|statuses| !statuses.contains(&COMPLETED));
        let of_statuses = of_statuses.map(|mut statuses| {
            statuses.sort_unstable();
            statuses.dedup();
            let statuses = statuses.into_iter().map(str::to_owned);
            statuses.map(RunIndex::Status).collect()
        });
        let conditions = [
            one(
                self.document_id.clone().or(narrowed.document_id),
                RunIndex::Document,
            ),
            one(self.rule_id.clone().or(narrowed.rule_id), RunIndex::Rule),
            one(
                self.workflow_type.clone().or(narrowed.workflow_type),
                RunIndex::Type,
            ),
            of_statuses,
        ];
        let conditions: Vec<_> = conditions.into_iter().flatten().collect();
        match conditions.is_empty() {
            true => vec![vec![RunIndex::All]],
            false => conditions,
        }
    }
}
