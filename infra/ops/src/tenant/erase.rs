//! `ops tenant erase`: erases everything of a project.
//!
//! The order makes each moment explainable: first what lets new work begin, then items before the objects
//! that they name. The statement that the project is erased is signed only once its data is gone, and before
//! the first file of its logs goes. Each step finds what is left by itself, so a repetition continues.

use clap::Args;
use event_log::digest::Erasure;
use event_log::erasure::Eraser;
use event_log::logs::Logs;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use platform::http::text::check_name;
use platform::records::audit::AuditAction;
use platform::records::logs::{KnownLogs, LogKind};
use platform::records::{Condition, Key, Query, Table, keys};
use platform::{Error, Result};
use serde::Deserialize;
use serde_json::json;

use super::contents::{self, Contents, LogContents};
use super::steps::Step;
use crate::output::Output;
use crate::target::{Target, TargetArguments, refused};

/// Number of passes over a project that is still written to.
const MAX_PASSES: u32 = 5;
const AT_ONCE: usize = 32;
/// Number of items of a partition that are read at a time.
const PAGE: usize = 1_000;

#[derive(Args)]
pub struct EraseArguments {
    /// Erases this project, which --account and --project name too. Without it, nothing is changed.
    #[arg(long, value_name = "ACCOUNT/PROJECT", requires_all = ["operator", "reason"])]
    yes: Option<String>,
    /// Name of the operator, for the signed statement, which stays.
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
    /// Reason, for the signed statement, which stays: without personal data.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

#[derive(Deserialize)]
struct ItemKey {
    pk: String,
    sk: String,
}

pub async fn run(arguments: &EraseArguments, targets: &TargetArguments, output: Output) -> Result<()> {
    let (operator, reason) = (
        arguments.operator.as_deref().unwrap_or("-"),
        arguments.reason.as_deref().unwrap_or("-"),
    );
    check_name("--operator", operator)?;
    check_name("--reason", reason)?;
    let target = targets.open().await?;
    let logs = Logs::new(target.events.clone(), target.audit_table.clone());
    let key = targets.digest_key().await?;
    let eraser = Eraser {
        logs: &logs,
        objects: &target.objects,
        key: key.as_ref(),
        clock: &target.clock,
    };
    let contents = Contents::read(&target, &eraser).await?;
    if contents.is_unknown() {
        return Err(Error::invalid(format!(
            "There is nothing of {}. Name the project with --account and --project.",
            target.tenant
        )));
    }
    let Some(confirmed) = &arguments.yes else {
        return show(&contents, &target, output);
    };
    if *confirmed != target.tenant.to_string() {
        return Err(Error::invalid(format!(
            "--yes names {confirmed}, but --account and --project name {}. Nothing was erased.",
            target.tenant
        )));
    }
    target.require_alone()?;
    let environment = platform::config::Environment::read().map_err(refused)?;
    let erasing = Erasing {
        crash_at: Step::from_environment(&environment).map_err(refused)?,
        target: &target,
        eraser,
        operator,
        reason,
    };
    let passes = erasing.run(contents).await?;
    erasing.reached(Step::Erased);
    target.scrub().await?;
    let sentence = match passes {
        0 => format!("{} is erased already.", target.tenant),
        _ => format!(
            "{} is erased. `ops audit verify` shows the signed statements; docs/tenants.md says what is left elsewhere.",
            target.tenant
        ),
    };
    output.print(&json!({ "erased": passes > 0 }), &sentence)
}

fn show(contents: &Contents, target: &Target, output: Output) -> Result<()> {
    let mut lines = Vec::new();
    for (name, items) in &contents.items {
        lines.push(format!("{items:>12}  items of the table {name}"));
    }
    let (objects, bytes) = (contents.objects.len(), contents.bytes());
    lines.push(format!("{objects:>12}  objects with {bytes} bytes"));
    for log in &contents.logs {
        lines.push(format!(
            "{:>12}  records in {} file(s) of the log of {}",
            log.records,
            log.files,
            log.log.kind.as_str()
        ));
    }
    lines.push(match contents.is_empty() {
        true => format!("{} is erased already.", target.tenant),
        false => format!(
            "Nothing was erased. `--yes {0}` with --operator and --reason erases this of {0} for good; `ops tenant export` \
             keeps a copy.",
            target.tenant
        ),
    });
    let items: serde_json::Map<_, _> = contents
        .items
        .iter()
        .map(|(name, items)| ((*name).to_owned(), json!(items)))
        .collect();
    let value = json!({ "items": items, "objects": objects, "bytes": bytes });
    output.print(&value, &lines.join("\n"))
}

struct Erasing<'a> {
    target: &'a Target,
    eraser: Eraser<'a>,
    operator: &'a str,
    reason: &'a str,
    crash_at: Option<Step>,
}

impl Erasing<'_> {
    /// Erases until nothing is left. Returns the number of passes. 409 where others write all the time.
    async fn run(&self, mut contents: Contents) -> Result<u32> {
        for passes in 0..MAX_PASSES {
            if contents.is_empty() {
                return Ok(passes);
            }
            self.pass(&contents).await?;
            contents = Contents::read(self.target, &self.eraser).await?;
        }
        match contents.is_empty() {
            true => Ok(MAX_PASSES),
            false => Err(Error::conflict(format!(
                "{} is erased, and written to again and again. Stop its callers, as docs/tenants.md says, and repeat the command.",
                self.target.tenant
            ))),
        }
    }

    async fn pass(&self, contents: &Contents) -> Result<()> {
        let (target, tenant) = (self.target, &self.target.tenant);
        self.stop_work().await?;
        self.reached(Step::WorkStopped);
        // Runs first: they write the most.
        for table in [&target.runs, &target.records, &target.events, &target.audit_table] {
            self.empty(table).await?;
            self.reached(Step::TableEmptied);
        }
        for folder in target.objects.project_folders(tenant).await? {
            if !folder.starts_with("log/") {
                let objects = target.objects.list(&folder).await?;
                let keys = objects.into_iter().map(|object| object.key);
                self.remove_objects(keys.collect()).await?;
            }
        }
        self.reached(Step::DataRemoved);
        self.sign(contents).await?;
        target
            .audit_in_account(AuditAction::Delete, tenant.project())
            .await?;
        self.reached(Step::Recorded);
        self.remove_logs().await
    }

    /// Removes the doors of the project and what waits: callers with keys, members, senders, and runs that
    /// events would start or resume.
    async fn stop_work(&self) -> Result<()> {
        let (records, tenant) = (&self.target.records, &self.target.tenant);
        let members: Vec<ItemKey> = records.all(&Query::partition(keys::members(tenant))).await?;
        let memberships = members.iter().map(|member| keys::membership(&member.sk, tenant));
        self.remove(records, memberships.collect()).await?;
        for partition in [
            keys::api_keys(tenant),
            keys::members(tenant),
            keys::channels(tenant),
            keys::subscriptions_changed(tenant).pk,
            keys::subscriptions(tenant),
            keys::listeners(tenant),
        ] {
            self.empty_partition(records, &partition).await?;
        }
        Ok(())
    }

    /// Removes the project's items in a table, except those of its logs.
    async fn empty(&self, table: &Table) -> Result<()> {
        let tenant = &self.target.tenant;
        let mut start = None;
        loop {
            let (items, next) = contents::items(table, tenant, start).await?;
            let keys = items.into_iter().map(|(key, _)| key);
            let keys = keys.filter(|key| !contents::is_head(tenant, key) && !self.is_of_logs(&key.pk));
            self.remove(table, keys.collect()).await?;
            match next {
                Some(_) => start = next,
                None => return Ok(()),
            }
        }
    }

    /// Whether a partition goes with the logs: their files, or audit records.
    fn is_of_logs(&self, pk: &str) -> bool {
        let tenant = &self.target.tenant;
        let is_files = contents::logs(tenant).iter().any(|log| log.files() == pk);
        is_files || keys::audit(tenant.account(), Some(tenant.project())) == pk
    }

    async fn empty_partition(&self, table: &Table, pk: &str) -> Result<()> {
        loop {
            let (items, _): (Vec<ItemKey>, _) = table.page(&Query::partition(pk), PAGE, None).await?;
            if items.is_empty() {
                return Ok(());
            }
            let keys = items.into_iter().map(|item| Key::new(item.pk, item.sk));
            self.remove(table, keys.collect()).await?;
        }
    }

    async fn remove(&self, table: &Table, keys: Vec<Key>) -> Result<()> {
        let removals = keys.into_iter().map(|key| async move {
            let outcome = table.delete(&key, Condition::Present).await?;
            outcome.took_effect("an item of an erased project").map(drop)
        });
        stream::iter(removals)
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await
    }

    async fn remove_objects(&self, keys: Vec<String>) -> Result<()> {
        let removals = keys.into_iter().map(|key| async move {
            self.target.objects.remove(&key).await?;
            self.reached(Step::ObjectRemoved);
            Ok(())
        });
        stream::iter(removals)
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await
    }

    /// Signs the erasure of each log. A project without an audit log gets one, which has the statement.
    async fn sign(&self, contents: &Contents) -> Result<()> {
        let (target, now) = (self.target, self.target.clock.now());
        for LogContents { log, files, records } in &contents.logs {
            if log.kind == LogKind::Audit {
                KnownLogs::default().ensure(&target.audit_table, log, now).await?;
            }
            let erasure = Erasure {
                operator: self.operator.to_owned(),
                reason: self.reason.to_owned(),
                files: *files,
                records: *records,
                project_items: contents.number_of_items(),
                project_objects: contents.objects.len() as u64,
            };
            self.eraser.sign(log, &erasure).await?;
            self.reached(Step::LogSigned);
        }
        Ok(())
    }

    /// Removes the logs, the digests last: they prove the files that are still there.
    async fn remove_logs(&self) -> Result<()> {
        let (target, tenant) = (self.target, &self.target.tenant);
        let audit = keys::audit(tenant.account(), Some(tenant.project()));
        self.empty_partition(&target.audit_table, &audit).await?;
        for log in contents::logs(tenant) {
            let table = match log.kind {
                LogKind::Events => &target.events,
                LogKind::Audit => &target.audit_table,
            };
            self.empty_partition(table, &log.files()).await?;
        }
        self.reached(Step::LogItemsRemoved);
        // Both logs of a project are in one folder.
        let [log, _] = contents::logs(tenant);
        let objects = target.objects.list(&format!("{}/", log.folder())).await?;
        let objects = contents::erasable(&self.eraser, objects).await?;
        let keys = objects.into_iter().map(|object| object.key);
        let (digests, files) = keys.partition(|key| key.ends_with(".jws"));
        self.remove_objects(files).await?;
        self.reached(Step::LogFilesRemoved);
        self.remove_objects(digests).await
    }

    fn reached(&self, step: Step) {
        if self.crash_at == Some(step) {
            std::process::abort();
        }
    }
}
