//! Names DuckDB's types.

use duckdb::core::{LogicalTypeHandle, LogicalTypeId};

use crate::tables::sql;

/// Returns the name that column definitions use, or DuckDB's own if they have none.
pub(crate) fn type_name(handle: &LogicalTypeHandle) -> String {
    if let Some(alias) = handle.get_alias() {
        return alias.to_uppercase();
    }
    let child = |index: usize| type_name(&handle.child(index));
    match handle.try_id() {
        Ok(LogicalTypeId::Varchar) => "STRING".to_owned(),
        Ok(LogicalTypeId::Decimal) => {
            format!("DECIMAL({},{})", handle.decimal_width(), handle.decimal_scale())
        }
        Ok(LogicalTypeId::List) => format!("{}[]", child(0)),
        Ok(LogicalTypeId::Map) => format!("MAP({}, {})", child(0), child(1)),
        Ok(kind @ (LogicalTypeId::Struct | LogicalTypeId::Union)) => {
            let members: Vec<_> = (0..handle.num_children())
                .map(|index| format!("{} {}", sql::identifier(&handle.child_name(index)), child(index)))
                .collect();
            format!("{}({})", format!("{kind:?}").to_uppercase(), members.join(", "))
        }
        Ok(
            LogicalTypeId::TimestampS
            | LogicalTypeId::TimestampMs
            | LogicalTypeId::TimestampNs
            | LogicalTypeId::TimestampTZ,
        ) => "TIMESTAMP".to_owned(),
        Ok(LogicalTypeId::SqlNull) => "NULL".to_owned(),
        Ok(other) => format!("{other:?}").to_uppercase(),
        Err(_) => "UNKNOWN".to_owned(),
    }
}
