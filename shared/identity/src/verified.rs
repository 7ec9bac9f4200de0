//! Caches what tokens say whose signature was checked recently.
//!
//! A client sends the same token with every call, and the signature check is the most expensive part of a
//! small call. The cache maps the token's SHA-256 to its subject. Expiry is checked on every use, and an
//! entry is valid only as long as the keys that it was checked with.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use crate::subject::Subject;

/// Maximum number of cached tokens; a function instance sees few callers. When it is full, all entries are
/// dropped, which costs one check each.
const MAX_TOKENS: usize = 1_024;

#[derive(Clone)]
pub struct Checked {
    pub subject: Arc<Subject>,
    /// Generation of its provider's keys that it was checked with.
    pub generation: u64,
}

/// Checked tokens by their digest.
#[derive(Default)]
pub struct Verified(Mutex<HashMap<[u8; 32], Checked>>);

impl Verified {
    pub fn find(&self, token: &str) -> Option<Checked> {
        self.0.lock().get(&digest(token)).cloned()
    }

    pub fn keep(&self, token: &str, checked: Checked) {
        let mut tokens = self.0.lock();
        if tokens.len() >= MAX_TOKENS {
            tokens.clear();
        }
        tokens.insert(digest(token), checked);
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}
