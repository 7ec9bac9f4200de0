//! Signs that a project was erased, as the next digest of each of its logs.
//!
//! The chain continues over the erasure: its digest names the last one before, and the first one after names
//! it. So the head of the log stays, and a later project of the same name has the same chain.

use platform::objects::Objects;
use platform::records::logs::{DigestRef, LogHead, LogId};
use platform::signing::SigningKey;
use platform::{Clock, Result};

use crate::digest::{ERASURE_VERSION, Erasure, LogDigest, PreviousDigest, PublicKeys, digest_hour, sign};
use crate::logs::Logs;

/// What an erasure of logs needs.
#[derive(Clone, Copy)]
pub struct Eraser<'a> {
    pub logs: &'a Logs,
    pub objects: &'a Objects,
    pub key: &'a dyn SigningKey,
    pub clock: &'a Clock,
}

impl Eraser<'_> {
    /// Signs the erasure of a log's files. Does nothing for a log without a head. If it is interrupted, the
    /// archiver or the next erasure writes the digest's object.
    pub async fn sign(&self, log: &LogId, erasure: &Erasure) -> Result<()> {
        while let Some(head) = self.logs.head(log).await? {
            if !self.write_signed(log, &head).await? {
                continue;
            }
            let (next, text) = self.next(log, &head, erasure).await?;
            // Refused where an archiver changed the log meanwhile.
            if self.logs.save_head(log, &head, next.clone()).await? {
                let signed = LogHead {
                    revision: head.revision + 1,
                    unwritten_digest: Some(text),
                    ..next
                };
                self.write_signed(log, &signed).await?;
                return Ok(());
            }
        }
        Ok(())
    }

    async fn next(&self, log: &LogId, head: &LogHead, erasure: &Erasure) -> Result<(LogHead, String)> {
        let now = self.clock.now();
        let digest = LogDigest {
            schema_version: ERASURE_VERSION,
            account_id: log.account.clone(),
            project_id: log.project.clone(),
            kind: log.kind,
            sequence: head.next_digest,
            hour: digest_hour(now),
            created_at: now,
            previous: head.last_digest.as_ref().map(|last| PreviousDigest {
                name: last.name.clone(),
                sha256: last.sha256.clone(),
            }),
            files: Vec::new(),
            erasure: Some(erasure.clone()),
        };
        let signed = sign(self.key, &digest).await?;
        let reference = DigestRef {
            name: signed.name,
            sha256: signed.sha256,
            sequence: digest.sequence,
            hour: digest.hour,
            created_at: now,
            key: Some(signed.key),
        };
        let next = LogHead {
            next_digest: digest.sequence + 1,
            waiting_files: 0,
            waiting_since: None,
            unsettled: Vec::new(),
            last_digest: Some(reference.clone()),
            erased: Some(reference),
            unwritten_digest: Some(signed.text.clone()),
            ..head.clone()
        };
        Ok((next, signed.text))
    }

    /// Writes the object of a digest whose text is still in the head. False where it did, or another program
    /// changed the head: it has to be read again.
    async fn write_signed(&self, log: &LogId, head: &LogHead) -> Result<bool> {
        let (Some(text), Some(digest)) = (&head.unwritten_digest, &head.last_digest) else {
            return Ok(true);
        };
        self.objects.put(&digest.name, text.clone().into_bytes()).await?;
        let next = LogHead {
            unwritten_digest: None,
            ..head.clone()
        };
        self.logs.save_head(log, head, next).await?;
        Ok(false)
    }

    /// Returns whether an object of the project's logs stays: a signed erasure.
    pub async fn is_erasure(&self, name: &str, keys: &PublicKeys) -> Result<bool> {
        if !name.ends_with(".jws") {
            return Ok(false);
        }
        let bytes = self.objects.find(name).await?.unwrap_or_default();
        let signed = keys.open(&bytes).ok();
        Ok(signed.is_some_and(|signed| signed.digest.erasure.is_some() && signed.digest.name() == name))
    }
}
