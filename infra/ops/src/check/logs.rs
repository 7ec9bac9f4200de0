//! Checks logs: every file item has its object, every known object has its item, and a head agrees with the
//! files.

use std::collections::{BTreeMap, BTreeSet};

use event_log::logs::{LogFile, Logs};
use platform::objects::{ListedObject, Objects};
use platform::records::logs::{DigestRef, LogHead, LogId, LogKind};
use platform::records::{Key, keys};
use platform::{Result, UtcTime, ids};
use serde_json::Value;

/// Longest time from a digest to the collection that removes the uncommitted objects it found, in
/// milliseconds: the longest pause between two passes, and an hour.
const COLLECTED_AFTER_MS: u64 = 7 * 3_600_000;
/// Largest lag of an archiver's clock, in milliseconds.
const MARGIN_MS: u64 = 60_000;

/// Adds a finding for each log that breaks an invariant, and a notice for each erasure. `records` are the
/// records of both tables.
pub async fn files_agree_with_their_heads(
    records: impl Iterator<Item = &(Key, Value)>,
    logs: &Logs,
    objects: &Objects,
    now: UtcTime,
    findings: &mut Vec<String>,
    notices: &mut Vec<String>,
) -> Result<()> {
    let records: Vec<_> = records.map(|(key, _)| key).collect();
    // List the objects last, because each is written before its item.
    let mut contents = Vec::new();
    for log in records.iter().filter_map(|key| log_of(key)) {
        if let Some(head) = logs.head(&log).await? {
            let files = logs.all_files(&log).await?;
            contents.push((log, head, files));
        }
    }
    let listed = objects.list("log/").await?;
    let listed = listed
        .iter()
        .map(|object| (object.key.as_str(), object))
        .collect();
    for (log, head, files) in &contents {
        let mut check = Check {
            log,
            head,
            files,
            findings,
        };
        check.files_are_there(&listed);
        check.objects_are_known(&listed, now);
        check.head_agrees(&listed);
        if let Some(erasure) = &head.erased {
            check.erasure_is_whole(erasure, &records, &listed);
            notices.push(format!(
                "The log {} of {} was erased at {}, as {} states.",
                log.folder(),
                log.kind.as_str(),
                erasure.created_at,
                erasure.name
            ));
        }
    }
    Ok(())
}

fn log_of(key: &Key) -> Option<LogId> {
    let (account, kind) = key.pk.split_once("#*#")?;
    let kind = match kind {
        "event-logs" => LogKind::Events,
        "audit-logs" => LogKind::Audit,
        _ => return None,
    };
    Some(LogId::new(account, (key.sk != "*").then_some(&key.sk), kind))
}

struct Check<'a> {
    log: &'a LogId,
    head: &'a LogHead,
    files: &'a [LogFile],
    findings: &'a mut Vec<String>,
}

impl Check<'_> {
    fn broken(&mut self, sentence: &str) {
        let (folder, kind) = (self.log.folder(), self.log.kind.as_str());
        self.findings
            .push(format!("The log {folder} of {kind}: {sentence}."));
    }

    fn files_are_there(&mut self, listed: &BTreeMap<&str, &ListedObject>) {
        for file in self.files {
            let key = self.log.file_key(&file.day, &file.id);
            match listed.get(key.as_str()) {
                None => self.broken(&format!("the file {key} is missing")),
                Some(object) if object.bytes != file.bytes => {
                    self.broken(&format!("the file {key} has not the size that its item says"));
                }
                Some(_) => {}
            }
            if file.digest > self.head.next_digest {
                self.broken(&format!("the file {key} waits for a digest after the next one"));
            }
        }
    }

    fn objects_are_known(&mut self, listed: &BTreeMap<&str, &ListedObject>, now: UtcTime) {
        let Some(digest) = &self.head.last_digest else {
            return;
        };
        if digest.created_at.plus_ms(COLLECTED_AFTER_MS) > now {
            return;
        }
        let files = self.files.iter();
        let keys: BTreeSet<_> = files.map(|file| self.log.file_key(&file.day, &file.id)).collect();
        let folder = format!("{}/", self.log.folder());
        let of_kind = format!("/{}/", self.log.kind.as_str());
        for key in listed
            .keys()
            .filter(|key| key.starts_with(&folder) && key.contains(&of_kind))
        {
            let name = key.rsplit('/').next().unwrap_or_default();
            let created_at = name.strip_suffix(".parquet").and_then(ids::time_of);
            let is_old = created_at.is_some_and(|time| time.plus_ms(MARGIN_MS) < digest.created_at);
            if is_old && !keys.contains(*key) {
                self.broken(&format!(
                    "no commit names the object {key}, and no collection removed it"
                ));
            }
        }
    }

    /// Checks that an erasure has its signed statement, and that nothing from before it is left.
    fn erasure_is_whole(
        &mut self,
        erasure: &DigestRef,
        records: &[&Key],
        listed: &BTreeMap<&str, &ListedObject>,
    ) {
        if self.head.unwritten_digest.is_none() && !listed.contains_key(erasure.name.as_str()) {
            self.broken(&format!("the digest {} of its erasure is missing", erasure.name));
        }
        let is_later = |id: &str| {
            let mut files = self.files.iter();
            files.any(|file| file.id == id && file.digest > erasure.sequence)
        };
        let folder = format!("{}/", self.log.folder());
        let of_kind = format!("/{}/", self.log.kind.as_str());
        let keys = listed.keys();
        let ids = keys
            .filter(|key| key.starts_with(&folder) && key.contains(&of_kind))
            .filter_map(|key| key.rsplit('/').next()?.strip_suffix(".parquet"));
        let files = ids
            .filter(|id| ids::time_of(id).is_some_and(|time| time < erasure.created_at) && !is_later(id))
            .count();
        let audit = keys::audit(&self.log.account, self.log.project.as_deref());
        let is_before = |time: &str| {
            let time = time
                .split('#')
                .next()
                .and_then(|time| time.parse::<UtcTime>().ok());
            time.is_some_and(|time| time.plus_ms(MARGIN_MS) < erasure.created_at)
        };
        let of_audit = records
            .iter()
            .filter(|key| self.log.kind == LogKind::Audit && key.pk == audit && is_before(&key.sk))
            .count();
        if files + of_audit > 0 {
            self.broken(&format!(
                "it was erased at {}, and {files} files and {of_audit} audit records from before are left; repeat \
                 `ops tenant erase`",
                erasure.created_at
            ));
        }
    }

    fn head_agrees(&mut self, listed: &BTreeMap<&str, &ListedObject>) {
        let head = self.head;
        let waiting = self
            .files
            .iter()
            .filter(|file| file.digest == head.next_digest)
            .count();
        if waiting as u64 != head.waiting_files {
            self.broken(&format!(
                "{waiting} files wait for a digest, and its head says {}",
                head.waiting_files
            ));
        }
        for unsettled in &head.unsettled {
            if !self.files.iter().any(|file| file.id == unsettled.id) {
                self.broken(&format!(
                    "its head names the file {}, which has no item",
                    unsettled.id
                ));
            }
        }
        let next = head.last_digest.as_ref().map_or(0, |digest| digest.sequence + 1);
        if next != head.next_digest {
            self.broken("its next digest does not follow its last one");
        }
        if let Some(digest) = &head.last_digest
            && head.unwritten_digest.is_none()
            && !listed.contains_key(digest.name.as_str())
        {
            self.broken(&format!("the digest {} is missing", digest.name));
        }
    }
}
