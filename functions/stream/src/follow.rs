//! Follows a run: streams its messages, a keep-alive while there are none, and the end.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, Stream as Frames};
use platform::fair::Permit;
use platform::{Result, Tenant};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use tracing::warn;
use workflow::records::UpdatesHead;
use workflow::state::RunState;
use workflow::updates::{MAX_UPDATES, next_updates};
use workflow::views::RunUpdate;

use crate::access::Access;
use crate::{Stream, frame};

/// Time between two keep-alive comments.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Position at which a stream starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// Only future messages.
    Now,
    /// Messages after this timestamp.
    Since(i64),
    /// Messages after the one with this number.
    After(u64),
}

impl Beginning {
    /// True if the caller has already seen the end of a closed run.
    fn is_after_end(self, state: &RunState, head: UpdatesHead) -> bool {
        match self {
            Self::Now => false,
            Self::Since(timestamp) => timestamp >= frame::end_timestamp(state, head),
            Self::After(number) => number > head.last,
        }
    }
}

struct Following {
    stream: Stream,
    tenant: Tenant,
    run_id: String,
    /// Run and message numbers as read at the start, for the first look.
    seen: Option<(RunState, UpdatesHead)>,
    /// Number of the last sent message.
    last: u64,
    /// Timestamp of the last sent message.
    last_timestamp: i64,
    since: i64,
    ready: VecDeque<Bytes>,
    /// True if the last read may have left messages behind.
    has_more: bool,
    has_ended: bool,
    access: Access,
    news: Option<watch::Receiver<()>>,
    ending: Option<watch::Receiver<bool>>,
    /// Time at which the answer ends, even if the run is still open.
    ends_at: Option<Instant>,
    _permit: Permit,
    next_sign: Instant,
    /// Pause before the next look.
    pause: Duration,
    /// Time at which the state is read even if no message came.
    state_due: Instant,
}

/// Streams the frames of a run that was read after `news` was subscribed. Returns None where the caller has
/// already seen the run's end.
pub async fn follow(
    stream: Stream,
    (tenant, access): (Tenant, Access),
    state: RunState,
    news: Option<watch::Receiver<()>>,
    beginning: Beginning,
) -> Result<Option<impl Frames<Item = Result<Bytes, std::convert::Infallible>> + Send + 'static>> {
    let permit = stream.permits.acquire(tenant.account(), Duration::ZERO).await?;
    let followers = stream.followers.clone();
    let head = stream.runs.updates_head(&tenant, &state.run_id).await?;
    if state.is_closed() && beginning.is_after_end(&state, head) {
        return Ok(None);
    }
    // Older messages are not kept.
    let oldest = head.last.saturating_sub(MAX_UPDATES);
    let (last, since) = match beginning {
        Beginning::Now => (head.last, i64::MIN),
        Beginning::Since(timestamp) => (oldest, timestamp),
        Beginning::After(number) => (number.max(oldest), i64::MIN),
    };
    let now = Instant::now();
    let following = Following {
        ending: followers.as_ref().map(|followers| followers.ending()),
        ends_at: stream.lifetime.map(|lifetime| now + lifetime),
        pause: stream.polls.shortest,
        state_due: now + stream.polls.state,
        stream,
        tenant,
        access,
        run_id: state.run_id.clone(),
        seen: Some((state, head)),
        last,
        last_timestamp: head.last_timestamp,
        since,
        ready: VecDeque::from([frame::opening()]),
        has_more: false,
        has_ended: false,
        news,
        next_sign: now + KEEP_ALIVE,
        _permit: permit,
    };
    Ok(Some(stream::unfold(following, |mut following| async move {
        let frame = following.next().await?;
        Some((Ok(frame), following))
    })))
}

impl Following {
    /// Returns the next frame; None at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if !self.has_ended && !self.access.holds().await {
                // The client's next request is answered 401.
                self.has_ended = true;
                self.ready.clear();
                return Some(frame::credentials_ended());
            }
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            if self.has_ended || self.is_over() {
                return None;
            }
            if let Err(cause) = self.look().await {
                // The client reconnects and continues after its last event id.
                warn!(run_id = self.run_id, %cause, "a stream ends early");
                return None;
            }
            if self.ready.is_empty() && !self.has_more {
                self.wait().await;
            }
        }
    }

    fn is_over(&self) -> bool {
        self.ends_at.is_some_and(|at| at <= Instant::now())
            || self.ending.as_ref().is_some_and(|ending| *ending.borrow())
    }

    /// Reads new messages, and the state where it is due.
    async fn look(&mut self) -> Result<()> {
        let (engine, runs) = (&self.stream.engine, &self.stream.runs);
        let (state, head) = match self.seen.take() {
            Some(seen) => seen,
            None => {
                let mut head = runs.updates_head(&self.tenant, &self.run_id).await?;
                if !self.is_due(head) {
                    self.pause = (self.pause * 2).min(self.stream.polls.longest);
                    return Ok(());
                }
                let state = engine.get(&self.tenant, &self.run_id).await?;
                // A run's last message is written before its end or with it, so read the head again.
                if state.is_closed() {
                    head = runs.updates_head(&self.tenant, &self.run_id).await?;
                }
                (state, head)
            }
        };
        self.state_due = Instant::now() + self.stream.polls.state;
        if head.last > self.last {
            self.pause = self.stream.polls.shortest;
        }
        let messages = if head.last > self.last {
            next_updates(engine, runs, &self.tenant, &self.run_id, self.last).await?
        } else {
            Vec::new()
        };
        let found_none = messages.is_empty();
        for (number, message) in messages {
            self.last = number;
            self.last_timestamp = message.timestamp;
            if message.timestamp > self.since {
                let view = RunUpdate::new(&self.run_id, message);
                self.ready.push_back(frame::update(number, &view)?);
            }
        }
        let was_last = found_none || self.last >= head.last;
        self.has_more = !was_last;
        if state.is_closed() && was_last {
            let seen = UpdatesHead {
                last: self.last,
                last_timestamp: self.last_timestamp,
                expires_at: None,
            };
            self.ready.push_back(frame::end(&state, seen)?);
            self.has_ended = true;
        }
        Ok(())
    }

    /// True if a message came, or if the run may have ended since the last look.
    fn is_due(&self, head: UpdatesHead) -> bool {
        self.has_more || head.last > self.last || Instant::now() >= self.state_due
    }

    /// Waits until there may be news, or until the next keep-alive is due.
    async fn wait(&mut self) {
        let now = Instant::now();
        let until = (now + self.pause).min(self.next_sign).min(self.access.due());
        let until = self.ends_at.map_or(until, |at| at.min(until));
        let news = async {
            match &mut self.news {
                Some(news) => drop(news.changed().await),
                None => std::future::pending().await,
            }
        };
        let ending = async {
            match &mut self.ending {
                Some(ending) => drop(ending.changed().await),
                None => std::future::pending().await,
            }
        };
        let _ = timeout_at(until, async {
            tokio::select! { () = news => {}, () = ending => {} }
        })
        .await;
        if Instant::now() >= self.next_sign {
            self.next_sign = Instant::now() + KEEP_ALIVE;
            self.ready.push_back(frame::keep_alive());
        }
    }
}
