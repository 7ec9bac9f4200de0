//! Waits for another process that writes.

use std::time::Duration;

use rusqlite::Connection;

/// The first waits are short, because a commit of the other process takes about a millisecond. SQLite's own
/// handler soon sleeps 100 ms at a time, during which the other process commits again and again.
const SHORT: Duration = Duration::from_micros(250);
const SHORT_WAITS: i32 = 400;
const LONG: Duration = Duration::from_millis(5);
/// Together with the short waits: 5 seconds.
const LONG_WAITS: i32 = 980;

/// Makes each statement wait for other processes, for slightly over 5 seconds.
pub(super) fn wait_for_others(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_handler(Some(wait))
}

fn wait(waits_before: i32) -> bool {
    if waits_before >= SHORT_WAITS + LONG_WAITS {
        return false;
    }
    std::thread::sleep(if waits_before < SHORT_WAITS { SHORT } else { LONG });
    true
}
