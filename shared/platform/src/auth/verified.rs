//! Tokens whose signature was checked a moment ago.
//!
//! A client sends the same token with every call, and checking its signature is the dearest part of a small one. What is kept
//! is the claims under the token's SHA-256; expiry is checked against them each time, and they count only as long as the keys
//! that they were checked with.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use crate::auth::token::Claims;

/// Most tokens kept; a function instance sees few callers. Past that all are forgotten, which costs one check each.
const MAX_TOKENS: usize = 1_024;

/// Checked claims, by token, of one generation of keys.
#[derive(Default)]
pub(super) struct Verified(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    generation: u64,
    claims: HashMap<[u8; 32], Arc<Claims>>,
}

impl Verified {
    /// The claims of a token that was checked with the keys of this generation.
    pub(super) fn find(&self, token: &str, generation: u64) -> Option<Arc<Claims>> {
        let kept = self.0.lock();
        if kept.generation != generation {
            return None;
        }
        kept.claims.get(&digest(token)).cloned()
    }

    /// Keeps the claims of a token that was checked.
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
