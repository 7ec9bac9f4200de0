//! Caches the claims of tokens whose signature was checked recently.
//!
//! A client sends the same token with every call, and the signature check is the most expensive part of a
//! small call. The cache maps the token's SHA-256 to its claims. Expiry is checked on every use, and an entry
//! is valid only as long as the keys that it was checked with.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use crate::auth::claims::Claims;

/// Maximum number of cached tokens; a function instance sees few callers. When it is full, all entries are
/// dropped, which costs one check each.
const MAX_TOKENS: usize = 1_024;

/// Checked claims by token, for one generation of keys.
#[derive(Default)]
pub(super) struct Verified(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    generation: u64,
    claims: HashMap<[u8; 32], Arc<Claims>>,
}

impl Verified {
    /// Returns the claims of a token that was checked with this generation of keys.
    pub(super) fn find(&self, token: &str, generation: u64) -> Option<Arc<Claims>> {
        let kept = self.0.lock();
        if kept.generation != generation {
            return None;
        }
        kept.claims.get(&digest(token)).cloned()
    }

    pub(super) fn keep(&self, token: &str, generation: u64, claims: Arc<Claims>) {
        let mut kept = self.0.lock();
        if kept.generation != generation || kept.claims.len() >= MAX_TOKENS {
            kept.claims.clear();
            kept.generation = generation;
        }
        kept.claims.insert(digest(token), claims);
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}
