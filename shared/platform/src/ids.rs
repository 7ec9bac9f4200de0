//! Ids: UUIDv7 in lower-case text, so that ids sort by the time they were made.

use std::sync::Mutex;

use uuid::timestamp::context::ContextV7;
use uuid::{Timestamp, Uuid};

use crate::clock::UtcTime;

/// Longest id that a path takes, in characters. Ids are opaque to callers.
pub const MAX_ID_LENGTH: usize = 200;

static CONTEXT: Mutex<ContextV7> = Mutex::new(ContextV7::new());

/// A new id for something made at `now`. Ids of one process rise even within a millisecond.
pub fn new_id(now: UtcTime) -> String {
    let millis = now.as_millis().max(0).unsigned_abs();
    let nanos = u32::try_from((millis % 1_000) * 1_000_000).unwrap_or(0);
    let context = CONTEXT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    Uuid::new_v7(Timestamp::from_unix(&*context, millis / 1_000, nanos)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_rise_within_one_millisecond() {
        let now = "2026-01-02T03:04:05.678Z".parse().unwrap();
        let ids: Vec<_> = (0..1_000).map(|_| new_id(now)).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(ids[0].starts_with("019b7c"), "{}", ids[0]);
    }
}
