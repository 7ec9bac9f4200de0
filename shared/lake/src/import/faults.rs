//! Describes the faults in the rows of an import, one fault per row, and builds the error that reports them.

use platform::error::RowError;
use platform::{Error, ErrorKind};
use serde::{Deserialize, Serialize};

/// Most rows that the field `errors` of an error lists.
pub(crate) const MAX_ROW_ERRORS: usize = 100;
/// Most rows that the field `details` of an error mentions.
pub(crate) const MAX_SENTENCES: usize = 10;
/// Longest value in a sentence, in characters.
const MAX_SHOWN: usize = 60;
/// Longest value in the list of faults, in characters.
pub(crate) const MAX_VALUE: usize = 100;

/// Kind of a fault; it decides the status of the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// A value that does not fit its column.
    Value,
    /// Text that is no row, or a row with columns that the table lacks.
    Row,
    /// A required column without a value.
    Missing,
    /// A key that another row also has.
    Key,
}

/// A wrong row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    pub(crate) kind: Kind,
    /// Table, row, and description of the fault.
    pub error: RowError,
}

impl Fault {
    /// Makes a fault of the whole row.
    pub(crate) fn of_row(table: &str, row: u64, reason: impl Into<String>) -> Self {
        Self {
            kind: Kind::Row,
            error: RowError {
                table: table.to_owned(),
                row,
                column: None,
                value: None,
                reason: reason.into(),
            },
        }
    }

    fn sentence(&self) -> String {
        let RowError {
            row, column, reason, ..
        } = &self.error;
        match column {
            Some(column) if self.kind == Kind::Value => format!("row {row}: column '{column}': {reason}"),
            _ => format!("row {row}: {reason}"),
        }
    }
}

/// Merges two lists of faults of one table, each in row order; keeps the first fault of each row, with those
/// of `faults` before `others`.
pub(crate) fn merge(mut faults: Vec<Fault>, others: Vec<Fault>) -> Vec<Fault> {
    faults.extend(others);
    faults.sort_by_key(|fault| fault.error.row);
    faults.dedup_by_key(|fault| fault.error.row);
    faults
}

/// Returns the error: 422, or 409 if the rows only break rules of the tables. `tables` has the faults of each
/// table in row order; a table with more than [`MAX_ROW_ERRORS`] has only its first ones.
pub(crate) fn refusal(tables: &[Vec<Fault>]) -> Error {
    let all: Vec<_> = tables.iter().flatten().collect();
    let is_cut = tables.iter().any(|faults| faults.len() > MAX_ROW_ERRORS);
    let breaks_a_rule = |fault: &&Fault| matches!(fault.kind, Kind::Missing | Kind::Key);
    let kind = match all.iter().all(breaks_a_rule) {
        true => ErrorKind::Conflict,
        false => ErrorKind::Unprocessable,
    };
    let Some(first) = all.first() else {
        return Error::internal("an import failed without a fault");
    };
    let more = match (all.len() - 1, is_cut) {
        (0, _) => String::new(),
        (1, _) => " One more row is at fault.".to_owned(),
        (more, false) if more < MAX_ROW_ERRORS => format!(" {more} more rows are at fault."),
        (more, false) => format!(" {more} more rows are at fault; the first {MAX_ROW_ERRORS} are listed."),
        (_, true) => format!(" More than {MAX_ROW_ERRORS} rows are at fault; the first are listed."),
    };
    let message = format!(
        "Table '{}', {}.{more} Row 1 is the first row of data.",
        first.error.table,
        first.sentence()
    );
    let errors = all.iter().take(MAX_ROW_ERRORS).map(|fault| fault.error.clone());
    let error = Error::new(kind, message)
        .with_row_errors(errors.collect())
        .quoting_data();
    if all.len() == 1 {
        return error;
    }
    let is_one_table = all.iter().all(|fault| fault.error.table == first.error.table);
    let sentences = all.iter().take(MAX_SENTENCES).map(|fault| match is_one_table {
        true => fault.sentence(),
        false => format!("table '{}', {}", fault.error.table, fault.sentence()),
    });
    error.with_details(format!("{}.", sentences.collect::<Vec<_>>().join("; ")))
}

/// Formats a value for a sentence.
pub(crate) fn shown(value: &str) -> String {
    let mut shown: String = value
        .chars()
        .take(MAX_SHOWN)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if value.chars().count() > MAX_SHOWN {
        shown.push('…');
    }
    format!("'{shown}'")
}

/// Cuts a value for the list of faults.
pub(crate) fn cut(value: &str) -> String {
    value.chars().take(MAX_VALUE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(kind: Kind, table: &str, row: u64) -> Fault {
        let fault = Fault::of_row(table, row, "it is wrong");
        Fault { kind, ..fault }
    }

    #[test]
    fn values_decide_the_status() {
        let status = |kinds: &[Kind]| {
            let faults = kinds.iter().zip(1..).map(|(kind, row)| fault(*kind, "t", row));
            refusal(&[faults.collect()]).status()
        };
        assert_eq!(status(&[Kind::Key, Kind::Missing]), 409);
        assert_eq!(status(&[Kind::Key, Kind::Value]), 422);
        assert_eq!(status(&[Kind::Row]), 422);
    }

    #[test]
    fn a_row_has_one_fault() {
        let values = vec![fault(Kind::Value, "t", 2), fault(Kind::Value, "t", 5)];
        let keys = vec![fault(Kind::Key, "t", 1), fault(Kind::Key, "t", 5)];
        let merged: Vec<_> = merge(values, keys)
            .iter()
            .map(|fault| (fault.error.row, fault.kind))
            .collect();
        assert_eq!(merged, [(1, Kind::Key), (2, Kind::Value), (5, Kind::Value)]);
    }

    #[test]
    fn the_sentence_counts_the_others() {
        let rows = |rows: u64| (1..=rows).map(|row| fault(Kind::Row, "t", row)).collect();
        let message = |tables: &[Vec<Fault>]| refusal(tables).message().to_owned();
        let begin = "Table 't', row 1: it is wrong.";
        let end = " Row 1 is the first row of data.";
        for (count, more) in [
            (1, ""),
            (2, " One more row is at fault."),
            (100, " 99 more rows are at fault."),
            (101, " More than 100 rows are at fault; the first are listed."),
        ] {
            assert_eq!(message(&[rows(count)]), format!("{begin}{more}{end}"));
        }
        // Each table's list is complete, and both together are longer than the list of the error.
        let of_both = message(&[rows(60), vec![fault(Kind::Row, "u", 1); 60]]);
        assert!(of_both.contains(" 119 more rows are at fault; the first 100 are listed."));
        let error = refusal(&[rows(101), vec![fault(Kind::Key, "u", 3)]]);
        assert_eq!(error.row_errors().len(), MAX_ROW_ERRORS);
        let error = refusal(&[rows(1), vec![fault(Kind::Key, "u", 3)]]);
        assert_eq!(
            error.details(),
            Some("table 't', row 1: it is wrong; table 'u', row 3: it is wrong.")
        );
    }
}
