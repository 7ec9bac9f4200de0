//! Closes the fence: a DuckDB connection then reaches only the allowed files, and no statement can change
//! that.
//!
//! The order matters. The limits are set after the database is open, because DuckDB does not enforce the size
//! of a temporary directory that was given at open. Next come the allowed files, then external access is
//! turned off, and last the settings are locked. Everything later, such as the caller's statement, runs
//! inside.

use std::path::Path;

use duckdb::{Config, Connection};
use platform::{Error, Result};

use crate::child::limits::EngineLimits;
use crate::tables::sql;

/// Bytes that a result may run ahead of its reader. With less, DuckDB's threads wait for one another, at
/// times for 20 ms; with much more, the reader starts only after the whole result is there.
const STREAM_BYTES: u64 = 2 * 1_024 * 1_024;

/// Steps of DuckDB's optimizer that are left out, because they answer wrong rows in DuckDB 1.5.5. One computes
/// a part of a plan once for both arms of a UNION ALL, and mixes up their columns (issues 24624 and 25819);
/// TPC-H takes 1 % longer without it. The other replaces a window by a second computation of its rows, which
/// differ where they are random (issue 24302); TPC-H has no windows.
const DISABLED_OPTIMIZERS: &str = "common_subplan,window_self_join";

/// Opens an in-memory database with its limits set and its temporary files in `temp`, still without a fence
/// and without threads of its own: see [`start_threads`].
pub(crate) fn open(limits: &EngineLimits, temp: &Path) -> Result<Connection> {
    let config = Config::default().threads(1).map_err(Error::internal)?;
    let connection = Connection::open_in_memory_with_flags(config).map_err(Error::internal)?;
    let settings = format!(
        "SET temp_directory = {temp};
         SET max_temp_directory_size = '{temp_bytes}B';
         SET memory_limit = '{memory}B';
         SET autoinstall_known_extensions = false;
         SET autoload_known_extensions = false;
         SET allow_community_extensions = false;
         SET parquet_metadata_cache = true;
         SET streaming_buffer_size = '{STREAM_BYTES}B';
         SET disabled_optimizers = '{DISABLED_OPTIMIZERS}';
         SET errors_as_json = true;
         SET TimeZone = 'UTC';",
        temp = sql::path(temp)?,
        temp_bytes = limits.temp_bytes,
        memory = limits.memory_limit_bytes,
    );
    connection.execute_batch(&settings).map_err(Error::internal)?;
    Ok(connection)
}

/// Starts DuckDB's threads. A fence of the operating system holds only for threads that start after it.
pub(crate) fn start_threads(connection: &Connection, limits: &EngineLimits) -> Result<()> {
    let threads = format!("SET threads = {}", limits.threads.max(1));
    connection.execute_batch(&threads).map_err(Error::internal)
}

/// Closes the fence: from now on only `files` can be read, and only files below `directories`, at any depth,
/// can be read and written. Then `definitions` run, and the settings are locked.
pub(crate) fn close<'a>(
    connection: &Connection,
    files: impl IntoIterator<Item = &'a Path>,
    directories: impl IntoIterator<Item = &'a Path>,
    definitions: &str,
) -> Result<()> {
    let fence = format!(
        "SET allowed_paths = {};
         SET allowed_directories = {};
         SET enable_external_access = false;
         {definitions}
         SET lock_configuration = true;",
        sql::paths(files)?,
        sql::paths(directories)?,
    );
    connection.execute_batch(&fence).map_err(Error::internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_of_a_union_keep_their_own_rows() {
        let temp = tempfile::tempdir().unwrap();
        let connection = open(&EngineLimits::default(), temp.path()).unwrap();
        let tables = "CREATE TABLE a AS SELECT false AS is_new; CREATE TABLE b AS SELECT 'x' AS name WHERE random() < 2";
        connection.execute_batch(tables).unwrap();
        let joined = "SELECT * FROM a LEFT JOIN b ON true WHERE";
        let is_long = "(NOT is_new AND substring(name FROM -4294967296) <> name)";
        let count = |rows: &str| {
            let sql = format!("SELECT count(*) FROM ({rows})");
            connection
                .query_row(&sql, [], |row| row.get::<_, i64>(0))
                .unwrap()
        };
        let (is_not, is_unknown) = (
            format!("{joined} NOT {is_long}"),
            format!("{joined} {is_long} IS NULL"),
        );
        let both = count(&format!("{is_not} UNION ALL {is_unknown}"));
        assert_eq!(both, count(&is_not) + count(&is_unknown));
    }

    #[test]
    fn windows_over_random_rows_see_the_same_rows() {
        let temp = tempfile::tempdir().unwrap();
        let connection = open(&EngineLimits::default(), temp.path()).unwrap();
        let rows = "SELECT i, sum(i) OVER (PARTITION BY g) s FROM (SELECT 1 g, i FROM range(1000) t(i) WHERE random() < 0.5)";
        let sql = format!("SELECT bool_and(s = a) FROM (SELECT s, sum(i) OVER () a FROM ({rows}))");
        for _ in 0..5 {
            assert!(
                connection
                    .query_row(&sql, [], |row| row.get::<_, bool>(0))
                    .unwrap()
            );
        }
    }

    #[test]
    fn nothing_outside_is_reached_and_nothing_can_be_set() {
        // DuckDB may use its temporary directory, so the outside file must be elsewhere.
        let (temp, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let secret = outside.path().join("secret.csv");
        std::fs::write(&secret, "a\n1\n").unwrap();
        let connection = open(&EngineLimits::default(), temp.path()).unwrap();
        close(&connection, [], [], "").unwrap();
        for statement in [
            format!("SELECT * FROM read_csv('{}')", secret.display()),
            format!("SELECT * FROM read_text('{}')", secret.display()),
            format!("ATTACH '{}/x.db'", outside.path().display()),
            format!("COPY (SELECT 1) TO '{}/x.csv'", outside.path().display()),
            "SET enable_external_access = true".into(),
            "SET memory_limit = '9GB'".into(),
            "SET lock_configuration = false".into(),
            "INSTALL httpfs".into(),
            "LOAD httpfs".into(),
        ] {
            assert!(connection.execute_batch(&statement).is_err(), "{statement}");
        }
    }
}
