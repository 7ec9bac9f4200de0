//! Signs the digest of an hour, and one after a change of the key.
//!
//! The head holds the text of a digest until its object is written. So the chain cannot fork: the head has
//! one successor, and every archiver that finds the text writes the same bytes.

use platform::Result;
use platform::records::logs::{DigestRef, LogHead};
use platform::signing::fingerprint;

use super::schedule::is_hour_over;
use super::{Pass, Signing, Step};
use crate::digest::{DigestFile, LogDigest, PreviousDigest, PublicKeys, SCHEMA_VERSION, digest_hour, sign};
use crate::logs::LogFile;

/// Number of waiting files at which a digest is signed before the hour is over: its text must fit into an
/// item of 400 KB.
const MAX_WAITING: u64 = 300;

impl Pass<'_> {
    pub(super) fn is_digest_due(&self) -> bool {
        let is_over = |since| self.signing == Signing::Now || is_hour_over(since, self.now());
        self.head.waiting_files >= MAX_WAITING || self.head.waiting_since.is_some_and(is_over)
    }

    /// Returns whether the last digest is of an earlier key. A digest of the current key then proves it, also
    /// where no file waits.
    pub(super) async fn is_key_replaced(&self) -> Result<bool> {
        let Some(last) = &self.head.last_digest else {
            return Ok(false);
        };
        let current = self.archiver.key.public_key().await?;
        if let Some(key) = &last.key {
            return Ok(*key != fingerprint(&current));
        }
        let keys = PublicKeys::new(&[current])?;
        let object = self.archiver.objects.find(&last.name).await?;
        Ok(object.is_none_or(|bytes| keys.open(&bytes).is_err()))
    }

    /// Signs a digest over the waiting files.
    pub(super) async fn sign_digest(&mut self) -> Result<bool> {
        let sequence = self.head.next_digest;
        let mut files = self.archiver.logs.all_files(self.log).await?;
        files.retain(|file| file.digest == sequence);
        files.sort_by(|one, other| (&one.day, &one.id).cmp(&(&other.day, &other.id)));
        let now = self.now();
        let digest = LogDigest {
            schema_version: SCHEMA_VERSION,
            account_id: self.log.account.clone(),
            project_id: self.log.project.clone(),
            kind: self.log.kind,
            sequence,
            hour: digest_hour(self.head.waiting_since.unwrap_or(now)),
            created_at: now,
            previous: self.head.last_digest.as_ref().map(|last| PreviousDigest {
                name: last.name.clone(),
                sha256: last.sha256.clone(),
            }),
            files: files.iter().map(|file| self.listed(file)).collect(),
            erasure: None,
        };
        let signed = sign(self.archiver.key.as_ref(), &digest).await?;
        let next = LogHead {
            next_digest: sequence + 1,
            waiting_files: 0,
            waiting_since: None,
            last_digest: Some(DigestRef {
                name: signed.name,
                sha256: signed.sha256,
                sequence,
                hour: digest.hour,
                created_at: now,
                key: Some(signed.key),
            }),
            unwritten_digest: Some(signed.text),
            ..self.head.clone()
        };
        if !self.commit(&[], &[], next).await? {
            return Ok(false);
        }
        self.passed.digests += 1;
        self.reached(Step::DigestSigned)?;
        self.write_signed_digest().await
    }

    /// Writes the object of a digest whose text is still in the head.
    pub(super) async fn write_signed_digest(&mut self) -> Result<bool> {
        let (Some(text), Some(digest)) = (&self.head.unwritten_digest, &self.head.last_digest) else {
            return Ok(true);
        };
        let bytes = text.clone().into_bytes();
        self.archiver.objects.put(&digest.name, bytes).await?;
        self.reached(Step::DigestWritten)?;
        let next = LogHead {
            unwritten_digest: None,
            ..self.head.clone()
        };
        self.commit(&[], &[], next).await
    }

    fn listed(&self, file: &LogFile) -> DigestFile {
        let name = |id: &String| self.log.file_key(&file.day, id);
        DigestFile {
            name: name(&file.id),
            sha256: file.sha256.clone(),
            bytes: file.bytes,
            records: file.records,
            replaces: file.replaces.iter().map(name).collect(),
        }
    }
}
