//! Defines the columns of the log: the only place with their names and types.
//!
//! A file and the rows of unarchived records have the same columns in the same order, so that a query is
//! independent of where a record is.

use std::fmt::Write as _;
use std::path::Path;

use lake::{sql_paths, sql_text};
use platform::Result;
use platform::records::logs::LogKind;

/// A column of the log. Its name and type never change; a file from before the column lacks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Must be quoted in SQL.
    pub name: &'static str,
    /// Type name for DuckDB's CAST.
    pub sql_type: &'static str,
}

/// Column for the sum of one meter pair of the contract, which is read much faster than the list of meters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlatMeter {
    /// `<category>_<type>`.
    pub column: &'static str,
    /// Category in the meters of events.
    pub category: &'static str,
    /// Type in the meters of events.
    pub kind: &'static str,
}

const fn column(name: &'static str, sql_type: &'static str) -> Column {
    Column { name, sql_type }
}

const fn flat(column: &'static str, category: &'static str, kind: &'static str) -> FlatMeter {
    FlatMeter {
        column,
        category,
        kind,
    }
}

/// Owner of the private run that a record is about; NULL for records of the project, and in older files.
pub const PRIVATE_TO: &str = "private_to";

/// Columns of an event's row: all columns except [`FLAT_METERS`], which follow at the end.
pub const EVENTS: [Column; 15] = [
    column("event_id", "VARCHAR"),
    column("timestamp", "TIMESTAMPTZ"),
    column("received_at", "TIMESTAMPTZ"),
    column("account_id", "VARCHAR"),
    column("project_id", "VARCHAR"),
    column("tenant_id", "VARCHAR"),
    column("event_category", "VARCHAR"),
    column("action", "VARCHAR"),
    column("resource_type", "VARCHAR"),
    column("resource_id", "VARCHAR"),
    column("source", "VARCHAR"),
    column("resource_data", "VARCHAR"),
    column("details", "VARCHAR"),
    column(
        "meters",
        "STRUCT(category VARCHAR, \"type\" VARCHAR, quantity DOUBLE)[]",
    ),
    column(PRIVATE_TO, "VARCHAR"),
];

/// Meter pairs of the contract that have a column: DOUBLE, the sum of the pair's quantities in the event,
/// NULL where it has none.
pub const FLAT_METERS: [FlatMeter; 10] = [
    flat("processing_documents", "processing", "documents"),
    flat("processing_pages", "processing", "pages"),
    flat("processing_ocr_pages", "processing", "ocr_pages"),
    flat("processing_vision_pages", "processing", "vision_pages"),
    flat("extraction_properties", "extraction", "properties"),
    flat("extraction_citations", "extraction", "citations"),
    flat(
        "verification_digitally_verified",
        "verification",
        "digitally_verified",
    ),
    flat("verification_ai_verified", "verification", "ai_verified"),
    flat("verification_unverified", "verification", "unverified"),
    flat("review_issues", "review", "issues"),
];

pub const AUDIT: [Column; 19] = [
    column("id", "VARCHAR"),
    column("event_type", "VARCHAR"),
    column("action", "VARCHAR"),
    column("resource_type", "VARCHAR"),
    column("resource_id", "VARCHAR"),
    column("timestamp", "TIMESTAMPTZ"),
    column("request_id", "VARCHAR"),
    column("status", "SMALLINT"),
    column("success", "BOOLEAN"),
    column("principal_id", "VARCHAR"),
    column("principal_type", "VARCHAR"),
    column("principal_user_id", "VARCHAR"),
    column("roles", "VARCHAR[]"),
    column("account_id", "VARCHAR"),
    column("project_id", "VARCHAR"),
    column("tenant_id", "VARCHAR"),
    column("account_name", "VARCHAR"),
    column("project_name", "VARCHAR"),
    column(PRIVATE_TO, "VARCHAR"),
];

/// Returns the column of a meter pair of the contract; None for any other pair.
pub fn flat_meter(category: &str, kind: &str) -> Option<&'static str> {
    let mut meters = FLAT_METERS.iter();
    let found = meters.find(|meter| meter.category == category && meter.kind == kind);
    found.map(|meter| meter.column)
}

/// Returns the id column, which is unique within a log.
pub const fn id(kind: LogKind) -> &'static str {
    match kind {
        LogKind::Events => "event_id",
        LogKind::Audit => "id",
    }
}

/// Returns all columns of a kind, in order.
pub fn all(kind: LogKind) -> Vec<Column> {
    let flat = FLAT_METERS.iter().map(|meter| column(meter.column, "DOUBLE"));
    match kind {
        LogKind::Events => EVENTS.into_iter().chain(flat).collect(),
        LogKind::Audit => AUDIT.to_vec(),
    }
}

/// The time of a record as TIMESTAMP in UTC. DuckDB truncates these to days by arithmetic; for TIMESTAMPTZ it
/// uses a calendar, row by row, which takes six times as long as the rest of a sum by day.
pub const UTC_TIME: &str = "make_timestamp(epoch_us(\"timestamp\"))";

/// Returns the names of all columns, quoted, as a select list.
pub fn list(kind: LogKind) -> String {
    let names = all(kind).into_iter().map(|column| quoted(column.name));
    names.collect::<Vec<_>>().join(", ")
}

/// Returns the SQL of a relation over files of a log; its records are in no particular order.
pub fn from_parquet<'a>(kind: LogKind, files: impl IntoIterator<Item = &'a Path>) -> Result<String> {
    // Files from before a column lack it: the empty relation has them all.
    Ok(format!(
        "(SELECT {} FROM (SELECT * FROM read_parquet({}, union_by_name = true) UNION ALL BY NAME SELECT * FROM {}))",
        list(kind),
        sql_paths(files)?,
        nothing(kind)
    ))
}

/// Returns the SQL of a relation over files of rows, see [`crate::row`].
pub fn from_rows<'a>(kind: LogKind, files: impl IntoIterator<Item = &'a Path>) -> Result<String> {
    let written: &[Column] = match kind {
        LogKind::Events => &EVENTS,
        LogKind::Audit => &AUDIT,
    };
    let types: Vec<_> = written
        .iter()
        .map(|column| format!("{}: {}", quoted(column.name), sql_text(column.sql_type)))
        .collect();
    let mut list = written
        .iter()
        .map(|column| quoted(column.name))
        .collect::<Vec<_>>()
        .join(", ");
    if kind == LogKind::Events {
        for meter in FLAT_METERS {
            let _ = write!(list, ", {} AS {}", sum_of(meter), quoted(meter.column));
        }
    }
    Ok(format!(
        "(SELECT {list} FROM read_json({}, format = 'newline_delimited', columns = {{{}}}))",
        sql_paths(files)?,
        types.join(", ")
    ))
}

/// Returns the SQL of an empty relation.
pub fn nothing(kind: LogKind) -> String {
    let nulls = all(kind).into_iter();
    let nulls = nulls.map(|column| format!("NULL::{} AS {}", column.sql_type, quoted(column.name)));
    format!("(SELECT {} WHERE false)", nulls.collect::<Vec<_>>().join(", "))
}

/// Returns the SQL for the sum of a pair's quantities; NULL where there are none.
fn sum_of(meter: FlatMeter) -> String {
    format!(
        "list_sum([m.quantity FOR m IN meters IF m.category = {} AND m.\"type\" = {}])",
        sql_text(meter.category),
        sql_text(meter.kind)
    )
}

fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use events::document_processed::{DocumentProcessed, Verification};

    use super::*;

    #[test]
    fn each_pair_of_a_processed_document_has_its_column() {
        let details = DocumentProcessed {
            page_count: Some(1),
            ocr_page_count: Some(1),
            vision_page_count: Some(1),
            property_count: Some(1),
            citation_count: Some(1),
            review_issue_count: Some(1),
            verification: Some(Verification::default()),
            ..DocumentProcessed::default()
        };
        let meters = details.meters();
        let columns: HashSet<_> = meters
            .iter()
            .map(|meter| flat_meter(&meter.category, &meter.kind).unwrap())
            .collect();
        assert_eq!((meters.len(), columns.len()), (10, FLAT_METERS.len()));
        assert_eq!(flat_meter("processing", "issues"), None);
    }

    #[test]
    fn no_kind_has_a_column_twice() {
        for kind in LogKind::ALL {
            let columns = all(kind);
            let names: HashSet<_> = columns.iter().map(|column| column.name).collect();
            assert_eq!(names.len(), columns.len());
            assert!(names.contains(id(kind)));
        }
    }
}
