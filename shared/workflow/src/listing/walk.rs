//! Walks the runs that several indexes have in common, newest first.
//!
//! Each condition of a listing that has an index is read from it. Where one index has no run at a time, the
//! others skip to its next run with one query. So the walk takes about as many steps as the shortest index
//! has runs, whichever that is.

use std::ops::ControlFlow;

use futures::future::try_join_all;
use platform::{Clock, Error, Result, Tenant, UtcTime, stored_json};

use crate::records::{RunIndex, RunPosition, Runs};
use crate::summary::RunSummary;

/// Number of runs that the first read of an index takes, and the first after a skip.
const LEAST_READ: usize = 52;
/// Largest number of runs in one read.
const MOST_READ: usize = 1_000;

/// Position in a listing: the start of a run, and its id.
pub(super) type Place = (UtcTime, String);

pub(super) struct Walk<'a> {
    runs: &'a Runs,
    tenant: &'a Tenant,
    clock: &'a Clock,
    /// Earliest start.
    from: UtcTime,
    /// Each run of the listing is in each of these.
    conditions: Vec<Condition>,
    /// The walk has passed this run and all later ones.
    pub place: Option<Place>,
}

/// Runs of a walk, and how far they reach.
pub(super) struct Batch {
    /// Newest first.
    pub runs: Vec<RunSummary>,
    pub is_last: bool,
}

/// A condition, and the indexes whose runs meet it: several if it names several statuses.
struct Condition(Vec<Stream>);

/// One index, read from the newest run.
struct Stream {
    index: RunIndex,
    position: RunPosition,
    /// Run at `position` that the walk has passed.
    passed: Option<String>,
    /// Runs that were read and not passed, oldest first.
    unread: Vec<RunSummary>,
    is_over: bool,
    read_at_once: usize,
}

impl<'a> Walk<'a> {
    pub fn new(
        (runs, tenant, clock): (&'a Runs, &'a Tenant, &'a Clock),
        conditions: Vec<Vec<RunIndex>>,
        (from, until): (UtcTime, UtcTime),
        place: Option<Place>,
    ) -> Self {
        let stream = |index| Stream::new(index, place.as_ref(), until);
        let conditions = conditions.into_iter();
        let conditions = conditions.map(|indexes| Condition(indexes.into_iter().map(stream).collect()));
        Self {
            runs,
            tenant,
            clock,
            from,
            conditions: conditions.collect(),
            place,
        }
    }

    /// Returns the next `wanted` runs that may match, or those until the listing or the time ends. Takes at
    /// least one step.
    pub async fn batch(
        &mut self,
        wanted: usize,
        may_match: &(dyn Fn(&RunSummary) -> bool + Sync),
        ends: UtcTime,
    ) -> Result<Batch> {
        let mut runs = Vec::new();
        let mut is_last = false;
        while runs.len() < wanted {
            match self.step(wanted).await? {
                ControlFlow::Continue(run) => runs.extend(run.filter(may_match)),
                ControlFlow::Break(()) => {
                    is_last = true;
                    break;
                }
            }
            if self.clock.now() >= ends {
                break;
            }
        }
        Ok(Batch { runs, is_last })
    }

    /// Takes the next run, or skips a time at which no run meets all conditions. Breaks at the end.
    async fn step(&mut self, wanted: usize) -> Result<ControlFlow<(), Option<RunSummary>>> {
        let reads = self.conditions.iter_mut().flat_map(|condition| &mut condition.0);
        let reads = reads.filter(|stream| stream.unread.is_empty() && !stream.is_over);
        let reads = reads.map(|stream| stream.read(self.runs, self.tenant, self.from, wanted));
        try_join_all(reads).await?;
        let heads: Option<Vec<Place>> = self.conditions.iter().map(Condition::head).collect();
        let Some((oldest, newest)) = heads.and_then(|heads| {
            let oldest = heads.iter().min()?.clone();
            Some((oldest, heads.into_iter().max()?))
        }) else {
            return Ok(ControlFlow::Break(()));
        };
        if oldest != newest {
            for stream in self.conditions.iter_mut().flat_map(|condition| &mut condition.0) {
                stream.skip_to(&oldest);
            }
            self.place = Some(newest);
            return Ok(ControlFlow::Continue(None));
        }
        // A run whose status changes may be in two of the indexes of a condition for a moment.
        let streams = self.conditions.iter_mut().flat_map(|condition| &mut condition.0);
        let run = streams.filter_map(|stream| stream.pop(&oldest)).last();
        self.place = Some(oldest);
        Ok(ControlFlow::Continue(run))
    }
}

impl Condition {
    fn head(&self) -> Option<Place> {
        let head = self.0.iter().filter_map(Stream::head).max();
        head.map(|(started_at, run_id)| (started_at, run_id.to_owned()))
    }
}

impl Stream {
    fn new(index: RunIndex, place: Option<&Place>, until: UtcTime) -> Self {
        Self {
            index,
            position: match place {
                Some((time, run)) => RunPosition::At(*time, run.clone()),
                None => RunPosition::Until(until),
            },
            passed: place.map(|(_, run)| run.clone()),
            unread: Vec::new(),
            is_over: false,
            read_at_once: LEAST_READ,
        }
    }

    fn head(&self) -> Option<(UtcTime, &str)> {
        let newest = self.unread.last();
        newest.map(|run| (run.started_at, run.run_id.as_str()))
    }

    async fn read(&mut self, runs: &Runs, tenant: &Tenant, from: UtcTime, wanted: usize) -> Result<()> {
        while self.unread.is_empty() && !self.is_over {
            // One more for the passed run, and one to see whether more follow.
            let most = self.read_at_once.max(wanted + 2).min(MOST_READ);
            self.read_at_once = (most * 2).min(MOST_READ);
            let (page, more) = runs.list(tenant, &self.index, from, &self.position, most).await?;
            self.is_over = !more;
            let parsed = page.iter().map(|summary| parse(summary));
            self.unread = parsed.collect::<Result<_>>()?;
            if let Some(last) = self.unread.last() {
                self.position = RunPosition::At(last.started_at, last.run_id.clone());
                let last = last.run_id.clone();
                if let Some(passed) = self.passed.replace(last) {
                    self.unread.retain(|run| run.run_id != passed);
                }
            }
            self.unread.reverse();
        }
        Ok(())
    }

    /// Passes the runs after a place.
    fn skip_to(&mut self, (time, run): &Place) {
        while self.head().is_some_and(|head| head > (*time, run.as_str())) {
            self.unread.pop();
        }
        if self.unread.is_empty() && !self.is_over {
            self.position = RunPosition::At(*time, run.clone());
            self.passed = None;
            self.read_at_once = LEAST_READ;
        }
    }

    /// Takes the run at a place, if it is there.
    fn pop(&mut self, (time, run): &Place) -> Option<RunSummary> {
        let is_there = self.head() == Some((*time, run.as_str()));
        is_there.then(|| self.unread.pop()).flatten()
    }
}

pub(super) fn parse(summary: &str) -> Result<RunSummary> {
    let json = stored_json::read(summary.to_owned())?;
    serde_json::from_str(&json).map_err(Error::internal)
}
