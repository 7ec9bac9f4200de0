//! Converts errors of SQLite for callers.

use platform::Error;
use rusqlite::ErrorCode;

/// Unavailable if a retry may succeed, otherwise internal.
pub(super) fn failure(error: &rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Error::unavailable(format!(
            "the disk is full; make room where the file of records is ({error})"
        )),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::unavailable(format!(
            "another process holds the file of records; wait until it has ended ({error})"
        )),
        Some(
            ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::ReadOnly
            | ErrorCode::PermissionDenied
            | ErrorCode::OutOfMemory
            | ErrorCode::FileLockingProtocolFailed,
        ) => Error::unavailable(format!("the file of records cannot be read or written: {error}")),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Error::internal(format!(
            "the file of records is damaged; put a backup in its place ({error})"
        )),
        _ => Error::internal(error.to_string()),
    }
}

pub(super) fn failed(error: rusqlite::Error) -> Error {
    failure(&error)
}
