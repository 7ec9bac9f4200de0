//! Makes functions in Rust known to a connection.

use duckdb::Connection;
use duckdb::vscalar::VArrowScalar;
use platform::{Error, Result};

use crate::statement::messages;
use crate::tables::sql;

/// Makes a function known, unless it is.
pub(crate) fn register<F: VArrowScalar>(connection: &Connection, name: &str) -> Result<()> {
    let count = format!(
        "SELECT count(*) FROM duckdb_functions() WHERE function_name = {}",
        sql::literal(name)
    );
    let count = connection.query_row(&count, [], |row| row.get::<_, i64>(0));
    match count.map_err(|error| messages::own_error(&error))? {
        0 => connection
            .register_scalar_function::<F>(name)
            .map_err(Error::internal),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::wide_decimals::{self, DecimalText};

    #[test]
    fn function_is_registered_once() {
        let connection = Connection::open_in_memory().unwrap();
        for _ in 0..2 {
            register::<DecimalText>(&connection, wide_decimals::NAME).unwrap();
        }
        let query = format!(
            "SELECT {} FROM (VALUES ('\\xF8\\x31'::BLOB), (NULL)) t(v)",
            wide_decimals::text("v", 2)
        );
        let mut statement = connection.prepare(&query).unwrap();
        let rows = statement
            .query_map([], |row| row.get::<_, Option<String>>(0))
            .unwrap();
        let rows: Vec<_> = rows.map(Result::unwrap).collect();
        assert_eq!(rows, [Some("-19.99".to_owned()), None]);
    }
}
