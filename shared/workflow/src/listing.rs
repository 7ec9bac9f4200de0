//! Lists runs: chooses the index, and filters the rest.
//!
//! A listing reads the most selective index and filters its entries. It reads a bounded number of runs, so a
//! page may be short or empty without being the last one; its token continues where it ended.

use platform::auth::Viewer;
use platform::page_token::PageTokens;
use platform::records::runs::{COMPLETED, RunIndex, RunPosition, RunStanding, Runs};
use platform::{Error, Result, Tenant, UtcTime, ids};
use serde::Serialize;

use crate::list_filter::Filter;
use crate::status::RunStatus;
use crate::summary::RunSummary;

/// Runs that one page reads at most.
const MAX_READ: usize = 2_000;
/// Smallest number of runs in one read.
const LEAST_READ: usize = 52;
/// Longest type or document id of a run, in bytes.
const MAX_VALUE: usize = 800;
/// Largest number of runs in one read.
const READ_AT_ONCE: usize = 500;

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
    Filter::parse(text).map_err(|error| Error::invalid(format!("The query is not as it must be at {error}.")))
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
}

impl RunListings {
    pub fn new(runs: Runs, tokens: PageTokens) -> Self {
        Self { runs, tokens }
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
        let place: Option<(UtcTime, String)> = match token {
            Some(token) => Some(self.tokens.read(&listing, token).await?),
            None => None,
        };
        let may_match = |run: &RunSummary| {
            viewer.sees(run.about.private_to())
                && selection.takes(run)
                && (filter.asks_for_standing() || filter.matches(&run.fields()))
        };
        let matches = |run: &RunSummary| selection.takes_status(run) && filter.matches(&run.fields());
        if let Some(run_id) = selection.one_run(&filter) {
            let found = match run_id.len() {
                0..=MAX_VALUE => self.runs.find(tenant, &run_id).await?,
                _ => None,
            };
            let mut summary = None;
            if let Some(record) = found {
                let mut run: RunSummary = read(&record.summary)?;
                run.complete(&RunStanding {
                    status: record.status,
                    closed_at: record.closed_at,
                })?;
                summary = Some(run).filter(|run| may_match(run) && matches(run));
            }
            return Ok(RunPage {
                runs: summary.into_iter().collect(),
                next_page_token: None,
            });
        }
        let (indexes, from, until) = selection.plan(&filter);
        if indexes.iter().any(|index| index.value().len() > MAX_VALUE) {
            // No run has such a value, and no index can store it.
            return Ok(RunPage {
                runs: Vec::new(),
                next_page_token: None,
            });
        }
        let mut streams: Vec<_> = indexes
            .into_iter()
            .map(|index| Stream::new(index, place.clone(), until))
            .collect();
        let mut runs = Vec::new();
        let mut last = None;
        for _ in 0..MAX_READ {
            let next = self
                .next(tenant, &mut streams, &may_match, (from, page_size))
                .await?;
            let Some(Candidate { run, may_match }) = next else {
                return Ok(RunPage {
                    runs,
                    next_page_token: None,
                });
            };
            if may_match && matches(&run) {
                if runs.len() == page_size {
                    break;
                }
                last = Some((run.started_at, run.run_id.clone()));
                runs.push(run);
            } else if runs.len() < page_size {
                last = Some((run.started_at, run.run_id));
            }
        }
        let next_page_token = match last {
            Some(place) => Some(self.tokens.issue(&listing, &place).await?),
            None => None,
        };
        Ok(RunPage {
            runs,
            next_page_token,
        })
    }

    /// Returns the newest run of all streams.
    async fn next(
        &self,
        tenant: &Tenant,
        streams: &mut [Stream],
        may_match: &(dyn Fn(&RunSummary) -> bool + Sync),
        (from, page_size): (UtcTime, usize),
    ) -> Result<Option<Candidate>> {
        for stream in streams.iter_mut() {
            self.fill(tenant, stream, may_match, (from, page_size)).await?;
        }
        let newest = streams
            .iter_mut()
            .filter(|stream| !stream.read.is_empty())
            .max_by(|one, another| one.head().cmp(&another.head()));
        Ok(newest.and_then(|stream| stream.read.pop()))
    }

    async fn fill(
        &self,
        tenant: &Tenant,
        stream: &mut Stream,
        may_match: &(dyn Fn(&RunSummary) -> bool + Sync),
        (from, page_size): (UtcTime, usize),
    ) -> Result<()> {
        while stream.read.is_empty() && !stream.is_over {
            // One more for the place where the page continues, which is known, and one to see whether more
            // follow.
            let most = (page_size + 2).clamp(LEAST_READ, READ_AT_ONCE);
            let (page, more) = self
                .runs
                .list(tenant, &stream.index, from, &stream.position, most)
                .await?;
            stream.is_over = !more;
            let mut read = page
                .iter()
                .map(|summary| read(summary))
                .collect::<Result<Vec<RunSummary>>>()?;
            if let Some(last) = read.last() {
                let position = RunPosition::At(last.started_at, last.run_id.clone());
                let before = std::mem::replace(&mut stream.position, position);
                if let RunPosition::At(_, known) = &before {
                    read.retain(|run| run.run_id != *known);
                }
            }
            read.reverse();
            stream.read = self.candidates(tenant, read, may_match).await?;
        }
        Ok(())
    }

    /// Reads the current state of the runs that may match.
    async fn candidates(
        &self,
        tenant: &Tenant,
        read: Vec<RunSummary>,
        may_match: &(dyn Fn(&RunSummary) -> bool + Sync),
    ) -> Result<Vec<Candidate>> {
        let of_run = |run| Candidate {
            may_match: may_match(&run),
            run,
        };
        let mut candidates: Vec<_> = read.into_iter().map(of_run).collect();
        let wanted: Vec<&str> = candidates
            .iter()
            .filter(|candidate| candidate.may_match)
            .map(|candidate| candidate.run.run_id.as_str())
            .collect();
        let standings = self.runs.standings(tenant, &wanted).await?;
        let wanted = candidates.iter_mut().filter(|candidate| candidate.may_match);
        for (candidate, standing) in wanted.zip(standings) {
            match standing {
                Some(standing) => candidate.run.complete(&standing)?,
                None => candidate.may_match = false,
            }
        }
        Ok(candidates)
    }
}

/// A run that an index returned.
struct Candidate {
    run: RunSummary,
    /// If false, the current state was not read.
    may_match: bool,
}

/// One index, read from the newest run.
struct Stream {
    index: RunIndex,
    position: RunPosition,
    /// Runs that were read and not returned, oldest first.
    read: Vec<Candidate>,
    is_over: bool,
}

impl Stream {
    fn new(index: RunIndex, place: Option<(UtcTime, String)>, until: UtcTime) -> Self {
        let position = match place {
            Some((time, run)) => RunPosition::At(time, run),
            None => RunPosition::Until(until),
        };
        Self {
            index,
            position,
            read: Vec::new(),
            is_over: false,
        }
    }

    fn head(&self) -> Option<(UtcTime, &str)> {
        let last = self.read.last().map(|candidate| &candidate.run);
        last.map(|run| (run.started_at, run.run_id.as_str()))
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
    fn one_run(&self, filter: &Filter) -> Option<String> {
        let searched = self.search_term.as_ref().and_then(|term| ids::read(term));
        filter.narrowed().run_id.or(searched)
    }

    /// Returns the indexes to read, and the range of start times.
    fn plan(&self, filter: &Filter) -> (Vec<RunIndex>, UtcTime, UtcTime) {
        let narrowed = filter.narrowed();
        let time = |millis: Option<i64>| millis.and_then(UtcTime::from_millis);
        let from = self.start.into_iter().chain(time(narrowed.start_from)).max();
        let until = self.end.into_iter().chain(time(narrowed.start_to)).min();
        let document = self.document_id.clone().or(narrowed.document_id);
        let statuses: Option<Vec<String>> = match (self.statuses.as_slice(), narrowed.status) {
            ([], None) => None,
            ([], Some(statuses)) => Some(statuses.into_iter().map(str::to_owned).collect()),
            (statuses, _) => Some(statuses.iter().map(|status| status.as_str().to_owned()).collect()),
        };
        let workflow_type = self.workflow_type.clone().or(narrowed.workflow_type);
        // The index by status excludes completed runs, because most runs complete.
        let statuses = statuses.filter(|statuses| !statuses.iter().any(|status| status == COMPLETED));
        let indexes = match (document, statuses, workflow_type) {
            (Some(document), ..) => vec![RunIndex::Document(document)],
            (None, Some(statuses), _) => {
                let mut statuses = statuses;
                statuses.sort_unstable();
                statuses.dedup();
                statuses.into_iter().map(RunIndex::Status).collect()
            }
            (None, None, Some(workflow_type)) => vec![RunIndex::Type(workflow_type)],
            (None, None, None) => vec![RunIndex::All],
        };
        (
            indexes,
            from.unwrap_or(UtcTime::EPOCH),
            until.unwrap_or(UtcTime::EPOCH.plus_ms(u64::MAX)),
        )
    }
}

fn read(summary: &str) -> Result<RunSummary> {
    serde_json::from_str(summary).map_err(Error::internal)
}
