//! Creates ids: UUIDv7 in lower-case text, so that ids sort by their creation time.

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use uuid::timestamp::context::ContextV7;
use uuid::{Builder, Timestamp, Uuid};

use crate::clock::UtcTime;

/// Maximum length of an id, in characters. Ids are opaque to callers.
pub const MAX_ID_LENGTH: usize = 200;

/// Whether a text can be an id. A `#` could address the keys of another record.
pub fn is_id(text: &str) -> bool {
    let is_odd = |character: char| character.is_control() || character == '#';
    (1..=MAX_ID_LENGTH).contains(&text.chars().count()) && !text.chars().any(is_odd)
}

/// Whether a text can be a workflow id: an id without `/`, because callers choose it.
pub fn is_workflow_id(text: &str) -> bool {
    is_id(text) && !text.contains('/')
}

static CONTEXT: Mutex<ContextV7> = Mutex::new(ContextV7::new());

/// Creates an id with the time `now`. Ids of one process increase even within a millisecond.
pub fn new_id(now: UtcTime) -> String {
    let millis = now.as_millis().max(0).unsigned_abs();
    let nanos = u32::try_from((millis % 1_000) * 1_000_000).unwrap_or(0);
    let context = CONTEXT.lock();
    Uuid::new_v7(Timestamp::from_unix(&*context, millis / 1_000, nanos)).to_string()
}

/// Derives an id from the time `now` and `seed`; equal inputs give equal ids. For objects that replayed code
/// creates again.
pub fn derived_id(now: UtcTime, seed: &str) -> String {
    let millis = now.as_millis().max(0).unsigned_abs();
    let digest = Sha256::digest(seed.as_bytes());
    let mut random = [0; 10];
    for (byte, digest) in random.iter_mut().zip(digest) {
        *byte = digest;
    }
    Builder::from_unix_timestamp_millis(millis, &random)
        .into_uuid()
        .to_string()
}

/// Parses a hyphenated UUID in upper or lower case; None for any other text.
pub fn read(text: &str) -> Option<String> {
    let uuid = Uuid::try_parse(text).ok()?.to_string();
    uuid.eq_ignore_ascii_case(text).then_some(uuid)
}

/// Returns the creation time of an id; None if it is not a UUIDv7.
pub fn time_of(id: &str) -> Option<UtcTime> {
    let timestamp = Uuid::try_parse(id).ok()?.get_timestamp()?;
    if read(id).as_deref() != Some(id) || !id.get(14..).is_some_and(|rest| rest.starts_with('7')) {
        return None;
    }
    let (seconds, nanos) = timestamp.to_unix();
    let millis = seconds
        .checked_mul(1_000)?
        .checked_add(u64::from(nanos) / 1_000_000)?;
    UtcTime::from_millis(millis.try_into().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_tells_when_it_was_made() {
        let now = "2026-01-02T03:04:05.678Z".parse().unwrap();
        assert_eq!(time_of(&new_id(now)), Some(now));
        assert_eq!(time_of("019b7ca9-8f2e-4fd3-9744-3296a7d16563"), None);
        assert_eq!(time_of("019B7CA9-8F2E-7FD3-9744-3296A7D16563"), None);
        assert_eq!(time_of("x"), None);
    }

    #[test]
    fn an_id_is_a_uuid_with_its_hyphens() {
        let id = "019b7ca9-8f2e-7fd3-9744-3296a7d16563";
        assert_eq!(read(id).as_deref(), Some(id));
        assert_eq!(read(&id.to_uppercase()).as_deref(), Some(id));
        for other in [
            "invoice-2026-07-for-the-account-acme",
            "019b7ca98f2e7fd397443296a7d16563",
            "{019b7ca9-8f2e-7fd3-9744-3296a7d16563}",
            "",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn text_with_part_of_a_key_is_no_id() {
        let longest = "é".repeat(MAX_ID_LENGTH);
        for (text, id, workflow_id) in [
            ("order 7", true, true),
            (longest.as_str(), true, true),
            ("a/b", true, false),
            ("a#b", false, false),
            ("a\nb", false, false),
            ("", false, false),
            (&format!("{longest}e"), false, false),
        ] {
            assert_eq!((is_id(text), is_workflow_id(text)), (id, workflow_id), "{text}");
        }
    }

    #[test]
    fn an_id_is_derived_again() {
        let now = "2026-01-02T03:04:05.678Z".parse().unwrap();
        insta::assert_snapshot!(derived_id(now, "a#1"), @"019b7ca9-8f2e-7fd3-9744-3296a7d16563");
        assert_ne!(derived_id(now, "a#1"), derived_id(now, "a#2"));
        assert_eq!(derived_id(now, "a#1")[..13], new_id(now)[..13]);
    }

    #[test]
    fn ids_rise_within_one_millisecond() {
        let now = "2026-01-02T03:04:05.678Z".parse().unwrap();
        let ids: Vec<_> = (0..1_000).map(|_| new_id(now)).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(ids[0].starts_with("019b7c"), "{}", ids[0]);
    }
}
