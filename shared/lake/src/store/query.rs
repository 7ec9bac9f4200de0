//! Runs queries over a version of a store.

use std::time::Duration;

use platform::http::sent_size::{MAX_SENT_BYTES, sent_bytes};
use platform::trace::{Kind, Span};
use platform::{Error, Result, Tenant, metrics};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout_at};

use super::files::Files;
use super::{DataStores, Loaded};
use crate::child::limits::EngineLimits;
use crate::engine::Scope;
use crate::engine::Session;
use crate::query::answer::{Answer, Format};
use crate::schema::manifest::TableVersion;

#[derive(Clone, Debug)]
pub struct Query<'a> {
    pub sql: &'a str,
    pub params: &'a Map<String, Value>,
    /// Most rows of the answer; it is cut to [`crate::child::limits::MAX_ROWS`].
    pub limit: Option<usize>,
    pub format: Format,
}

/// An answer, and whether it can be cached.
#[derive(Clone, Debug)]
pub struct Answered {
    pub answer: Answer,
    /// Whether the same query over the same version can have another answer, because it depends on randomness
    /// or the time.
    pub is_volatile: bool,
}

/// Most bytes of an answer as sent, without the handler's envelope.
pub(super) const MAX_ANSWER_BYTES: usize = MAX_SENT_BYTES - 50_000;

impl DataStores {
    /// Runs one read-only statement over a loaded version; see [`Session::query`] for errors.
    pub async fn query(&self, tenant: &Tenant, loaded: &Loaded, query: &Query<'_>) -> Result<Answered> {
        let limits = self.inner.engine.limits();
        let span = Span::start(Kind::Internal, || "query data store");
        if span.is_recorded() {
            span.set("db.system.name", "duckdb");
            span.set("millrace.store.id", &loaded.manifest.store_id);
        }
        let work = self.query_within(tenant, loaded, query, limits.deadline, MAX_ANSWER_BYTES);
        let answered = span.within(work).await;
        if let Err(error) = &answered {
            span.fail(error.kind().code());
        }
        answered
    }

    /// Runs a statement like [`query`](Self::query), with at most `room` bytes as sent.
    pub(super) async fn query_within(
        &self,
        tenant: &Tenant,
        loaded: &Loaded,
        query: &Query<'_>,
        allowed: Duration,
        room: usize,
    ) -> Result<Answered> {
        let max_bytes = room.min(self.inner.engine.limits().max_result_bytes);
        let max_bytes = match query.format {
            // A binary answer is sent as base64, which is a third larger.
            Format::Arrow => max_bytes / 4 * 3,
            Format::Json | Format::Csv => max_bytes,
        };
        let began = Instant::now();
        let mut session = self.session(loaded, allowed).await?;
        let mut plan = session.plan(query.sql, Some(query.params)).await?;
        let sources = self.inner.copies.sources(&plan.tables);
        plan.tiers = sources.tiers;
        let files = self
            .files_in_time(&session, tenant, loaded, &sources.of_segments)
            .await?;
        let rows = EngineLimits::rows(query.limit);
        let answer = session.query(&plan, rows, query.format, max_bytes).await;
        if let Err(error) = &answer
            && plan.tiers.may_have_caused(error)
        {
            drop((files, sources.copies));
            self.inner.copies.discard(&plan.tables, error);
            let remaining = session.due().saturating_duration_since(std::time::Instant::now());
            drop(session);
            return Box::pin(self.query_within(tenant, loaded, query, remaining, room)).await;
        }
        let answer = answer?;
        let bytes = sent_bytes(&answer.body);
        if query.format != Format::Arrow && bytes > room {
            return Err(Error::unprocessable(format!(
                "The answer takes {bytes} bytes, in which a quote and a backslash count twice, of the {room} that it may; \
                 lower 'limit', or select fewer columns."
            )));
        }
        metrics::query_done(began.elapsed());
        let store = &loaded.manifest.store_id;
        self.inner.copies.count_reads(tenant, store, &plan.tables);
        Ok(Answered {
            answer,
            is_volatile: plan.is_volatile,
        })
    }

    /// Returns up to `limit` rows of a table of a loaded version, as a JSON array of objects with members in
    /// the order of the columns.
    pub async fn sample(
        &self,
        tenant: &Tenant,
        loaded: &Loaded,
        table: &TableVersion,
        limit: usize,
    ) -> Result<Box<RawValue>> {
        let limits = self.inner.engine.limits();
        let mut session = self.session(loaded, limits.deadline).await?;
        let _files = self.files_in_time(&session, tenant, loaded, &[table]).await?;
        let rows = session
            .sample(&table.name, limit, limits.max_result_bytes)
            .await?;
        serde_json::from_slice(&rows).map_err(Error::internal)
    }

    pub(super) async fn session<'a>(&'a self, loaded: &'a Loaded, allowed: Duration) -> Result<Session<'a>> {
        self.inner.engine.open(self.scope(loaded), allowed).await
    }

    pub(super) fn scope<'a>(&'a self, loaded: &'a Loaded) -> Scope<'a> {
        Scope {
            account: loaded.tenant.account(),
            key: &loaded.manifest.version_id,
            tables: &loaded.manifest.tables,
            directory: self.inner.files.cache.directory(),
        }
    }

    /// Fetches the files that a session needs; fails with 408 after the session's time limit.
    async fn files_in_time(
        &self,
        session: &Session<'_>,
        tenant: &Tenant,
        loaded: &Loaded,
        tables: &[&TableVersion],
    ) -> Result<Files> {
        let bytes: u64 = tables.iter().map(|table| table.bytes()).sum();
        let most = self.inner.files.cache.max_bytes();
        if bytes > most {
            return Err(Error::unprocessable(format!(
                "The tables of this statement have {} MB of data files, and a query can read {} MB. Keep what it does not need in \
                 tables of their own.",
                bytes / 1_000_000,
                most / 1_000_000
            )));
        }
        let tables = tables.iter().copied();
        let files = self.inner.files.of(tenant, &loaded.manifest.store_id, tables);
        timeout_at(Instant::from_std(session.due()), files)
            .await
            .map_err(|_| session.too_slow())?
    }
}
