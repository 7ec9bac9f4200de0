//! Provides a key and logs for tests: digests over files with arbitrary content.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use async_trait::async_trait;
use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256};
use platform::records::logs::{LogId, LogKind};
use platform::signing::SigningKey;
use platform::{Result, UtcTime, ids};

use crate::digest::{
    DigestFile, ERASURE_VERSION, Erasure, FIRST_SEQUENCE, LogDigest, PreviousDigest, PublicKeys,
    SCHEMA_VERSION, SignedDigest, digest_hour, sha256_hex, sign,
};

pub(crate) struct Key(KeyPair);

impl Key {
    pub(crate) fn new() -> Self {
        Self(KeyPair::generate(KeySize::Rsa2048).unwrap())
    }

    /// Returns one key for all tests of a process: generating one takes a second.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: LazyLock<Key> = LazyLock::new(Key::new);
        &SHARED
    }

    pub(crate) fn der(&self) -> Vec<u8> {
        let der: PublicKeyX509Der<'_> = self.0.public_key().as_der().unwrap();
        der.as_ref().to_vec()
    }

    pub(crate) fn public(&self) -> PublicKeys {
        PublicKeys::new(&[self.der()]).unwrap()
    }
}

#[async_trait]
impl SigningKey for Key {
    async fn sign(&self, message: &[u8]) -> Result<Vec<u8>> {
        let mut signature = vec![0; self.0.public_modulus_len()];
        let random = SystemRandom::new();
        self.0
            .sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)
            .unwrap();
        Ok(signature)
    }

    async fn public_key(&self) -> Result<Vec<u8>> {
        Ok(self.der())
    }
}

pub(crate) fn events_of(account: &str, project: &str) -> LogId {
    LogId::new(account, Some(project), LogKind::Events)
}

/// A log in a folder.
pub(crate) struct TestLog<'a> {
    pub(crate) root: &'a Path,
    pub(crate) key: &'a Key,
    pub(crate) log: LogId,
    pub(crate) now: UtcTime,
    pub(crate) waiting: Vec<DigestFile>,
    pub(crate) digests: Vec<SignedDigest>,
    /// Erasure that the next digest states.
    pub(crate) erasure: Option<Erasure>,
}

impl<'a> TestLog<'a> {
    pub(crate) fn new(root: &'a Path, key: &'a Key, log: LogId) -> Self {
        Self {
            root,
            key,
            log,
            now: "2026-11-24T10:10:00Z".parse().unwrap(),
            waiting: Vec::new(),
            digests: Vec::new(),
            erasure: None,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Writes a file and returns its key.
    pub(crate) fn file(&mut self, day: &str, records: u64, replaces: &[String]) -> String {
        self.now = self.now.plus_ms(1_000);
        let name = self.log.file_key(day, &ids::new_id(self.now));
        let bytes = format!("{records} records of {day} in {name}");
        write(&self.path(&name), bytes.as_bytes());
        self.waiting.push(DigestFile {
            sha256: sha256_hex(bytes.as_bytes()),
            bytes: bytes.len() as u64,
            records,
            replaces: replaces.to_vec(),
            name: name.clone(),
        });
        name
    }

    /// Signs the waiting files as at the end of an hour; returns the digest's key.
    pub(crate) async fn digest(&mut self) -> String {
        self.now = self.now.plus_ms(3_600_000);
        let digest = LogDigest {
            schema_version: match self.erasure {
                Some(_) => ERASURE_VERSION,
                None => SCHEMA_VERSION,
            },
            account_id: self.log.account.clone(),
            project_id: self.log.project.clone(),
            kind: self.log.kind,
            sequence: FIRST_SEQUENCE + self.digests.len() as u64,
            hour: digest_hour(self.now),
            created_at: self.now,
            previous: self.digests.last().map(|last| PreviousDigest {
                name: last.name.clone(),
                sha256: last.sha256.clone(),
            }),
            files: std::mem::take(&mut self.waiting),
            erasure: self.erasure.take(),
        };
        let signed = sign(self.key, &digest).await.unwrap();
        write(&self.path(&signed.name), signed.text.as_bytes());
        self.digests.push(signed.clone());
        signed.name
    }
}

pub(crate) fn write(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}
