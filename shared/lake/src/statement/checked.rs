//! Statements that passed the check: a dashboard asks the same again and again, and to check a statement of many joins takes as
//! long as some queries.

use std::collections::HashMap;

use crate::statement::check::Needs;

/// Most statements that are kept.
const MAX_STATEMENTS: usize = 128;
/// Longest statement that is kept, in bytes.
const MAX_BYTES: usize = 32 * 1_024;

/// What the statements need that passed the check over the tables of one version.
#[derive(Default)]
pub(crate) struct Checked {
    needs: HashMap<String, Needs>,
}

impl Checked {
    /// What a statement needs, if it passed.
    pub(crate) fn find(&self, sql: &str) -> Option<Needs> {
        self.needs.get(sql).cloned()
    }

    /// Keeps what a statement needs that passed. Where there are too many, all are forgotten: those that matter come again.
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
