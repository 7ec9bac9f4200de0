//! Keeps statements that passed the check.
//!
//! A dashboard repeats its statements, and the check of a statement with many joins takes as long as some
//! queries.

use std::num::NonZeroUsize;

use lru::LruCache;

use crate::statement::check::Needs;

const MAX_STATEMENTS: Option<NonZeroUsize> = NonZeroUsize::new(128);
/// Longest statement kept, in bytes.
const MAX_BYTES: usize = 32 * 1_024;

/// Needs of the statements that passed the check over the tables of one version.
pub(crate) struct Checked {
    needs: LruCache<String, Needs>,
}

impl Default for Checked {
    fn default() -> Self {
        let most = MAX_STATEMENTS.unwrap_or(NonZeroUsize::MIN);
        Self {
            needs: LruCache::new(most),
        }
    }
}

impl Checked {
    /// Returns the needs of a statement that passed the check.
    pub(crate) fn find(&mut self, sql: &str) -> Option<Needs> {
        self.needs.get(sql).cloned()
    }

    /// Keeps the needs of a statement that passed the check.
    pub(crate) fn keep(&mut self, sql: &str, needs: &Needs) {
        if sql.len() <= MAX_BYTES {
            self.needs.put(sql.to_owned(), needs.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_bounded() {
        let mut checked = Checked::default();
        for number in 0..1_000 {
            let sql = format!("SELECT {number}");
            checked.keep(&sql, &Needs::default());
            assert_eq!(checked.find(&sql), Some(Needs::default()));
        }
        assert_eq!(checked.needs.len(), 128);
        let long = "x".repeat(MAX_BYTES + 1);
        checked.keep(&long, &Needs::default());
        assert_eq!(checked.find(&long), None);
    }
}
