//! Finds everything of a project: in every table by its keys, in the bucket by its folders.
//!
//! It reads all tables whole, because only a scan finds every partition of a project. So no kind of record
//! can be forgotten here.

use event_log::digest::PublicKeys;
use event_log::erasure::Eraser;
use event_log::logs::Logs;
use platform::objects::ListedObject;
use platform::records::logs::{LogHead, LogId, LogKind};
use platform::records::{Key, Position, Table, keys};
use platform::{Result, Tenant};
use serde_json::Value;

use crate::target::Target;

/// Returns the tables, with the names of their files in an export.
pub fn tables(target: &Target) -> [(&'static str, &Table); 4] {
    [
        ("records", &target.records),
        ("runs", &target.runs),
        ("events", &target.events),
        ("audit", &target.audit_table),
    ]
}

/// Returns the next items of a project in a table, and where the scan continues.
pub async fn items(
    table: &Table,
    tenant: &Tenant,
    start: Option<Position>,
) -> Result<(Vec<(Key, Value)>, Option<Position>)> {
    let (mut items, next) = table.scan(start).await?;
    items.retain(|(key, _)| keys::is_of(tenant, key));
    Ok((items, next))
}

pub fn logs(tenant: &Tenant) -> [LogId; 2] {
    LogKind::ALL.map(|kind| LogId::new(tenant.account(), Some(tenant.project()), kind))
}

/// What of a project can be erased. The heads of its logs and the signed erasures are no part of it.
#[derive(Default)]
pub struct Contents {
    /// Numbers of items by table.
    pub items: Vec<(&'static str, u64)>,
    pub objects: Vec<ListedObject>,
    pub heads: Vec<LogHead>,
    pub logs: Vec<LogContents>,
}

/// Files of a log, without replaced ones.
pub struct LogContents {
    pub log: LogId,
    pub files: u64,
    pub records: u64,
}

impl Contents {
    pub async fn read(target: &Target, eraser: &Eraser<'_>) -> Result<Self> {
        let logs = logs(&target.tenant);
        let mut contents = Self::default();
        for (name, table) in tables(target) {
            contents.items.push((name, count(table, &target.tenant).await?));
        }
        for log in logs {
            contents.heads.extend(eraser.logs.head(&log).await?);
            contents.logs.push(log_contents(eraser.logs, log).await?);
        }
        contents.objects = contents.list_objects(target, eraser).await?;
        Ok(contents)
    }

    async fn list_objects(&self, target: &Target, eraser: &Eraser<'_>) -> Result<Vec<ListedObject>> {
        let mut objects = Vec::new();
        for folder in target.objects.project_folders(&target.tenant).await? {
            objects.extend(target.objects.list(&folder).await?);
        }
        // Without an erasure in the heads, there is no signed one to look for.
        if self.heads.iter().all(|head| head.erased.is_none()) {
            return Ok(objects);
        }
        erasable(eraser, objects).await
    }

    pub fn number_of_items(&self) -> u64 {
        self.items.iter().map(|(_, items)| items).sum()
    }

    pub fn bytes(&self) -> u64 {
        self.objects.iter().map(|object| object.bytes).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.number_of_items() == 0 && self.objects.is_empty() && self.heads.iter().all(LogHead::is_erased)
    }

    /// Whether there never was such a project.
    pub fn is_unknown(&self) -> bool {
        self.number_of_items() == 0 && self.objects.is_empty() && self.heads.is_empty()
    }
}

/// Returns the objects without the signed erasures.
pub async fn erasable(eraser: &Eraser<'_>, objects: Vec<ListedObject>) -> Result<Vec<ListedObject>> {
    let keys = PublicKeys::of(eraser.key).await?;
    let mut erasable = Vec::new();
    for object in objects {
        if !eraser.is_erasure(&object.key, &keys).await? {
            erasable.push(object);
        }
    }
    Ok(erasable)
}

async fn count(table: &Table, tenant: &Tenant) -> Result<u64> {
    let (mut count, mut start) = (0, None);
    loop {
        let (items, next) = items(table, tenant, start).await?;
        count += items.iter().filter(|(key, _)| !is_head(tenant, key)).count() as u64;
        match next {
            Some(_) => start = next,
            None => return Ok(count),
        }
    }
}

/// Whether a record is the head of a log of the project.
pub fn is_head(tenant: &Tenant, key: &Key) -> bool {
    logs(tenant).iter().any(|log| log.head_key() == *key)
}

async fn log_contents(logs: &Logs, log: LogId) -> Result<LogContents> {
    let mut files = logs.all_files(&log).await?;
    files.retain(|file| file.replaced_by.is_none());
    Ok(LogContents {
        log,
        files: files.len() as u64,
        records: files.iter().map(|file| file.records).sum(),
    })
}
