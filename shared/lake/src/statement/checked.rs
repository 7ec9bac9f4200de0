//! Keeps statements that passed the check.
//!
//! A dashboard repeats its statements, and the check of a statement with many joins takes as long as some
//! queries.

use std::collections::HashMap;

use crate::statement::check::Needs;

/// Most statements kept.
const MAX_STATEMENTS: usize = 128;
/// Longest statement kept, in bytes.
const MAX_BYTES: usize = 32 * 1_024;

/// Needs of the statements that passed the check over the tables of one version.
#[derive(Default)]
pub(crate) struct Checked {
    needs: HashMap<String, Needs>,
}

impl Checked {
    /// Returns the needs of a statement that passed the check.
    pub(crate) fn find(&self, sql: &str) -> Option<Needs> {
        self.needs.get(sql).cloned()
    }

    /// Keeps the needs of a statement that passed the check. If there are too many statements, all are
    /// removed; frequent ones are soon added again.
    pub(crate) fn keep(&mut self, sql: &str, needs: &Needs) {
        if sql.len() > MAX_BYTES {
            return;
        }
        if self.needs.len() >= MAX_STATEMENTS {
            self.needs.clear();
        }
        self.needs.insert(sql.to_owned(), needs.clone());
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
        assert!(checked.needs.len() <= MAX_STATEMENTS);
        let long = "x".repeat(MAX_BYTES + 1);
        checked.keep(&long, &Needs::default());
        assert_eq!(checked.find(&long), None);
    }
}
