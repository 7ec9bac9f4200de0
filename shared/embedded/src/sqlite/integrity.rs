//! Reads a whole file and checks its structure.

use platform::Result;
use platform::config::ConfigError;

use super::SqliteRecords;
use super::readers::connect;

impl SqliteRecords {
    /// Refuses a file with a damaged page, or with an index of SQLite that differs from its table. Reads the
    /// whole file.
    pub fn check_integrity(&self) -> Result<(), ConfigError> {
        let damaged = |fault: &dyn std::fmt::Display| {
            ConfigError::new(format!(
                "The file {} is damaged: {fault}. Put a backup in its place.",
                self.path.display()
            ))
        };
        let found = connect(&self.path).and_then(|connection| {
            connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get::<_, String>(0))
        });
        match found.map_err(|error| damaged(&error))?.as_str() {
            "ok" => Ok(()),
            fault => Err(damaged(&fault)),
        }
    }
}
