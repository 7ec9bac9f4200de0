//! Opens or creates a file of records, and refuses any other file before anything is written to it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use platform::config::ConfigError;
use platform::records::schema::TableKind;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::busy::wait_for_others;
use super::layout::{APPLICATION_ID, SCHEMA, Tables, VERSION, kind_name};

/// Capacity of a connection's statement cache; there are fewer statements.
pub(super) const STATEMENTS: usize = 64;
/// Size of a connection's page cache, as SQLite counts it: negative, in KiB.
pub(super) const CACHE_SIZE: i32 = -16_384;
const MAX_WAL_ATTEMPTS: u32 = 100;
const WAL_PAUSE: Duration = Duration::from_millis(50);
/// Of 4, 8 and 16 KiB the size with which commits write the fewest bytes, because each writes whole pages.
const PAGE_BYTES: u32 = 4_096;
/// Size of the WAL, in pages, at which a commit moves it into the file: 32 MiB.
const CHECKPOINT_PAGES: u32 = 8_192;
/// Size to which the WAL is truncated when it restarts, in bytes.
const KEPT_WAL_BYTES: u32 = 64 * 1_024 * 1_024;

/// Kind of a file by its header.
enum Identity {
    Empty,
    /// Records in the current layout.
    Records,
}

/// Returns the writing connection, and the tables of the file.
pub(super) fn open(
    path: &Path,
    tables: &[(&str, TableKind)],
    max_pages: Option<u32>,
) -> Result<(Connection, Tables), ConfigError> {
    refuse_emptied(path)?;
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let failed = |error| unusable(path, &error);
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    wait_for_others(&connection).map_err(failed)?;
    if matches!(identify(&connection, path)?, Identity::Empty) {
        connection
            .pragma_update(None, "page_size", PAGE_BYTES)
            .map_err(failed)?;
    }
    prepare(&connection, max_pages).map_err(failed)?;
    let made = connection.transaction_with_behavior(TransactionBehavior::Immediate);
    let made = made.map_err(failed)?;
    // Checked again, because another process may have created the file meanwhile.
    if matches!(identify(&made, path)?, Identity::Empty) {
        made.execute_batch(SCHEMA).map_err(failed)?;
        made.pragma_update(None, "application_id", APPLICATION_ID)
            .map_err(failed)?;
        made.pragma_update(None, "user_version", VERSION)
            .map_err(failed)?;
    }
    for (name, kind) in tables {
        add_table(&made, name, *kind).map_err(failed)?;
        check_kind(&made, path, name, *kind)?;
    }
    let found = Tables::read(&made).map_err(failed)?;
    made.commit().map_err(failed)?;
    Ok((connection, found))
}

/// SQLite treats an empty file as a new one, and removes the WAL beside it, which may contain records.
fn refuse_emptied(path: &Path) -> Result<(), ConfigError> {
    let bytes = |path: &Path| {
        fs::metadata(path)
            .map(|metadata| metadata.len())
            .unwrap_or_default()
    };
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    let wal = PathBuf::from(wal);
    // The WAL first: a process that is making the file writes its first page before anything into the WAL.
    if bytes(&wal) > 0 && bytes(path) == 0 {
        return Err(ConfigError::new(format!(
            "The file {} is missing or empty, but {} beside it is not. Put both files of a copy, or a backup, in their \
             place; or remove the second one to begin without records.",
            path.display(),
            wal.display()
        )));
    }
    Ok(())
}

fn identify(connection: &Connection, path: &Path) -> Result<Identity, ConfigError> {
    // A single statement sees one state of the file, which another process may be creating.
    let sql = "SELECT application_id, (SELECT user_version FROM pragma_user_version), \
               (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id";
    let read = connection.query_row(sql, [], |row| {
        Ok((
            row.get::<_, i64>(0)?,
            row.get::<_, i64>(1)?,
            row.get::<_, i64>(2)?,
        ))
    });
    let path_shown = path.display();
    match read.map_err(|error| unusable(path, &error))? {
        (0, 0, 0) => Ok(Identity::Empty),
        (application, version, _) if application == i64::from(APPLICATION_ID) => {
            if version == i64::from(VERSION) {
                return Ok(Identity::Records);
            }
            Err(ConfigError::new(format!(
                "The file {path_shown} has records in version {version} of their layout, and this program knows version \
                 {VERSION}. Use the program that wrote the file, or choose another file."
            )))
        }
        _ => Err(ConfigError::new(format!(
            "The file {path_shown} is a database of another program. Choose another file for the records."
        ))),
    }
}

fn prepare(connection: &Connection, max_pages: Option<u32>) -> rusqlite::Result<()> {
    become_wal(connection)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "cache_size", CACHE_SIZE)?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    connection.pragma_update(None, "journal_size_limit", KEPT_WAL_BYTES)?;
    if let Some(max_pages) = max_pages {
        connection.pragma_update(None, "max_page_count", max_pages)?;
    }
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(())
}

/// The change needs exclusive access, and SQLite does not wait for it if another process creates the same
/// file.
fn become_wal(connection: &Connection) -> rusqlite::Result<()> {
    let mut attempt = 1;
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if is_busy(&error) && attempt < MAX_WAL_ATTEMPTS => attempt += 1,
            other => return other,
        }
        std::thread::sleep(WAL_PAUSE);
    }
}

fn add_table(connection: &Connection, name: &str, kind: TableKind) -> rusqlite::Result<()> {
    let sql = "INSERT INTO tables (name, kind) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    connection.execute(sql, (name, kind_name(kind))).map(drop)
}

fn check_kind(connection: &Connection, path: &Path, name: &str, kind: TableKind) -> Result<(), ConfigError> {
    let sql = "SELECT kind FROM tables WHERE name = ?1";
    let found: String = connection
        .query_row(sql, [name], |row| row.get(0))
        .map_err(|error| unusable(path, &error))?;
    if found != kind_name(kind) {
        return Err(ConfigError::new(format!(
            "The table {name} in the file {} is of the kind '{found}', and this program expects '{}'. Use the program \
             that wrote the file, or choose another file.",
            path.display(),
            kind_name(kind)
        )));
    }
    Ok(())
}

fn unusable(path: &Path, error: &rusqlite::Error) -> ConfigError {
    let path = path.display();
    ConfigError::new(match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            format!("The file {path} is no database. Choose another file for the records.")
        }
        Some(ErrorCode::DatabaseCorrupt) => format!(
            "The file {path} is damaged, or a part of it is missing. Put a backup in its place. ({error})"
        ),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => format!(
            "The file {path} cannot be opened or written. Its folder must exist, and this process must be allowed to \
             write the file and to make files beside it. ({error})"
        ),
        Some(ErrorCode::DiskFull) => {
            format!("The disk of the file {path} is full. Make room on it. ({error})")
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            format!("Another process holds the file {path}. Start again when it has ended. ({error})")
        }
        _ => format!("The file {path} of the records cannot be used: {error}."),
    })
}

pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}
